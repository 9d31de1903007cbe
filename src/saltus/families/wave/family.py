"""Waves on given data. A user chooses them as ridges with the profile "wave"."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from saltus._typing import Floats
from saltus.families.choosing import FittedChoosing
from saltus.families.inputs import FamilyRows, InputData
from saltus.families.line_profiles import TWO_PI
from saltus.families.registry import WAVE
from saltus.families.ridge.family import Ridge
from saltus.families.terms import TermSet, are_distinct
from saltus.families.wave.frequencies import fastest_cycles
from saltus.families.wave.inspection import WaveInspection
from saltus.families.wave.kernels import (
    AT_INPUTS,
    AT_PHASE,
    FIRST,
    N_COLUMNS,
    QUARTER,
    SIZE,
    WaveData,
    slowest_cycles,
)
from saltus.families.wave.periodogram import uninformed
from saltus.families.wave.search import WaveSearch


@dataclass(frozen=True)
class FittedWave(FittedChoosing):
    """Waves, with all methods that the mixture asks."""

    options: Ridge
    cycles: Annotated[Floats, "ig"]  # the most over the range of each input, for waves in 1, 2 ... inputs

    geometry = WAVE
    n_columns = N_COLUMNS
    smallest_complement = 0.0

    @classmethod
    def of(cls, options: Ridge, rows: FamilyRows) -> "FittedWave":
        """Fit to rows."""
        n_numbers = rows.numbers.shape[1]
        return cls(options, rows.scale, fastest_cycles(rows.numbers, min(int(options.max_inputs), n_numbers)))

    def smallest_squared_norm(self, *, ridge: bool) -> float:
        """Let any column in: all rows see a wave, whatever its phase."""
        return 0.0

    @property
    def n_choices(self) -> int:
        """The number of discrete choices of a term."""
        return FIRST + self.most_inputs

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term."""
        return self.most_inputs

    @property
    def n_decoded(self) -> int:
        """The numbers of a decoded column."""
        return AT_INPUTS + 2 * self.most_inputs

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for: at least, and at most."""
        return 1, self.most_inputs

    @property
    def search(self) -> WaveSearch:
        """What descents ask."""
        return WaveSearch(self)

    @property
    def inspection(self) -> WaveInspection:
        """What summaries, reports and pictures ask."""
        return WaveInspection(self)

    @property
    def span(self) -> Floats:
        """The ranges of the inputs that are numbers, in standard deviations."""
        return (self.scale.high - self.scale.low)[: self.n_choosable]

    def data(self, inputs: InputData) -> WaveData:
        """Prepare for kernels, given the rows and the laws of all families."""
        return WaveData(inputs, self.span, self.cycles, uninformed())

    def accepts(self, terms: TermSet) -> bool:
        """Say whether terms could be its own."""
        size, inputs = terms.choices[:, SIZE], terms.choices[:, FIRST:]
        return bool(
            self.cycles.shape == (self.n_choosable, self.most_inputs)
            and ((size >= 1) & (size <= self.most_inputs)).all()
            and ((inputs >= 0) & (inputs < self.n_choosable)).all()
            and are_distinct(inputs, size)
        )

    def draw(self, rng: np.random.Generator, n: int) -> TermSet:
        """Draw n terms from nu."""
        choices = np.zeros((n, self.n_choices), dtype=np.int64)
        parameters = np.zeros((n, self.n_parameters))
        for row, own in zip(choices, parameters, strict=True):
            g = int(rng.integers(1, self.most_inputs, endpoint=True))
            row[SIZE] = g
            row[FIRST : FIRST + g] = rng.choice(self.n_choosable, g, replace=False)
            own[:g] = rng.random(g)
        return TermSet(np.zeros(n, dtype=np.int64), choices, parameters, np.zeros(0))

    def bounds(self, terms: TermSet) -> tuple[Floats, Floats]:
        """Find the fewest and the most cycles (k, G) along the inputs of terms; 0 and 1 where there is no input."""
        slowest, fastest = np.zeros((2, len(terms), self.most_inputs))
        fastest += 1.0
        for j, choices in enumerate(terms.choices):
            g = int(choices[SIZE])
            fastest[j, :g] = self.cycles[choices[FIRST : FIRST + g], g - 1]
            slowest[j, :g] = [slowest_cycles(slot, g, high) for slot, high in enumerate(fastest[j, :g])]
        return slowest, fastest

    def frequencies(self, terms: TermSet) -> Floats:
        """Find w (v, k) of z = w'x, in cycles for a standard deviation of each input."""
        slowest, fastest = self.bounds(terms)
        cycles = slowest + terms.parameters * (fastest - slowest)
        w = np.zeros((self.scale.n_inputs, len(terms)))
        for j, choices in enumerate(terms.choices):
            g = int(choices[SIZE])
            inputs = choices[FIRST : FIRST + g]
            w[inputs, j] = cycles[j, :g] / self.span[inputs]
        return w

    def decode(self, terms: TermSet) -> Floats:
        """Make the columns (2 k, n) of terms as kernels evaluate them: the cosine and the sine of each."""
        w = self.frequencies(terms)
        decoded = np.zeros((len(terms), N_COLUMNS, self.n_decoded))
        for columns, choices, of_term in zip(decoded, terms.choices, w.T, strict=True):
            g = int(choices[SIZE])
            inputs = choices[FIRST : FIRST + g]
            columns[:, 0] = g
            columns[:, AT_PHASE] = -QUARTER * np.arange(N_COLUMNS)
            columns[:, AT_INPUTS : AT_INPUTS + 2 * g : 2] = inputs
            columns[:, AT_INPUTS + 1 : AT_INPUTS + 2 * g : 2] = of_term[inputs]
        return decoded.reshape(-1, self.n_decoded)

    def columns_at(self, X: Floats, terms: TermSet) -> Floats:
        """Evaluate at rows that are standardised already: the cosine of each term, then its sine."""
        angle = TWO_PI * (self.scale.without_gaps(X) @ self.frequencies(terms))
        columns = np.empty((len(X), N_COLUMNS * len(terms)))
        columns[:, 0::2], columns[:, 1::2] = np.cos(angle), np.sin(angle)
        return columns
