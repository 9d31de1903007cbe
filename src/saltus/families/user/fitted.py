"""A user's family on given data."""

from dataclasses import dataclass

import numpy as np

from saltus._typing import Floats
from saltus.families.choosing import FEWEST_ROWS, WIDEST_BEYOND
from saltus.families.registry import USER
from saltus.families.terms import TermSet, are_distinct
from saltus.families.user.calls import FIRST_INPUT, most_inputs
from saltus.families.user.evaluation import evaluate_column
from saltus.families.user.family import UserFamily
from saltus.families.user.inspection import UserInspection
from saltus.families.user.kernels import FIRST, SIZE
from saltus.families.user.layout import Layout
from saltus.families.user.ranges import InputRanges
from saltus.families.user.search import UserSearch

# A term is refused where 1 less its size has a smaller sum of squares over the rows than this, as a sigmoid is: beside
# the constant it is next to nothing, with a coefficient as large as it likes.
NEAREST_TO_A_CONSTANT = 1.0


@dataclass(frozen=True)
class FittedUser:
    """A user's family on given data, with all methods that the mixture asks."""

    options: UserFamily
    ranges: InputRanges

    geometry = USER
    starting_shared = np.zeros(0)
    n_switches = 0
    n_columns = 1
    coefficient_scale = 1.0
    coefficient_spread = 1.0  # terms have a height of about 1
    smallest_complement = NEAREST_TO_A_CONSTANT

    @property
    def layout(self) -> Layout:
        """The parameters of a term."""
        return Layout.of(self.options)

    @property
    def most_inputs(self) -> int:
        """The largest number of inputs of a term: no more than there are."""
        return most_inputs(self.options, self.ranges.n_inputs)

    @property
    def n_choices(self) -> int:
        """The number of discrete choices of a term."""
        return FIRST + self.most_inputs

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term."""
        return self.layout.n_parameters(self.most_inputs)

    @property
    def n_decoded(self) -> int:
        """The numbers of a decoded term."""
        return FIRST_INPUT + self.most_inputs + self.n_parameters

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for: at least, and at most."""
        counts = [self.options.count_parameters(g) for g in range(1, max(self.most_inputs, 1) + 1)]
        return min(counts), max(counts)

    @property
    def search(self) -> UserSearch:
        """What descents ask."""
        return UserSearch(self)

    @property
    def inspection(self) -> UserInspection:
        """What summaries, reports and pictures ask."""
        return UserInspection(self)

    @property
    def holds(self) -> bool:
        """Whether terms stay as they are at the edge of the rows."""
        return self.options.extrapolate == "hold"

    @property
    def widest_spread(self) -> float:
        """The largest standard deviation of coefficients."""
        return np.inf if self.holds else WIDEST_BEYOND

    def smallest_squared_norm(self, *, ridge: bool) -> float:
        """Choose the smallest squared norm of a column that is let in."""
        return FEWEST_ROWS

    def accepts(self, terms: TermSet) -> bool:
        """Say whether terms could be its own."""
        size, inputs = terms.choices[:, SIZE], terms.choices[:, FIRST:]
        return bool(
            ((size >= 1) & (size <= self.most_inputs)).all()
            and ((inputs >= 0) & (inputs < self.ranges.n_inputs)).all()
            and are_distinct(inputs, size)
        )

    def draw(self, rng: np.random.Generator, n: int) -> TermSet:
        """Draw n terms from nu."""
        choices = np.zeros((n, self.n_choices), dtype=np.int64)
        parameters = np.zeros((n, self.n_parameters))
        layout = self.layout
        for row, own in zip(choices, parameters, strict=True):
            g = int(rng.integers(1, self.most_inputs, endpoint=True))
            row[SIZE] = g
            row[FIRST : FIRST + g] = rng.choice(self.ranges.n_inputs, g, replace=False)
            own[: layout.n_parameters(g)] = rng.random(layout.n_parameters(g))
        return TermSet(np.zeros(n, dtype=np.int64), choices, parameters, np.zeros(0))

    def decode(self, terms: TermSet) -> Floats:
        """Make terms (k, n) as kernels evaluate them, with the numbers that families have in the mixture."""
        decoded = np.zeros((len(terms), self.n_decoded))
        decoded[:, 0], decoded[:, 1] = terms.family, terms.choices[:, SIZE]
        decoded[:, FIRST_INPUT : FIRST_INPUT + self.most_inputs] = terms.choices[:, FIRST:]
        decoded[:, FIRST_INPUT + self.most_inputs :] = terms.parameters
        return decoded

    def columns(self, U: Floats, terms: TermSet) -> Floats:
        """Evaluate the terms at rows U (N, v) of the unit cube: (N, k)."""
        return self.columns_at(self.ranges.to_user(U, hold=self.holds), terms)

    def columns_at(self, X: Floats, terms: TermSet) -> Floats:
        """Do the same for rows (N, i) that are in the user's units already."""
        columns = np.zeros((len(X), len(terms)), order="F")
        if len(X) == 0:
            return columns
        for j, (choices, parameters) in enumerate(zip(terms.choices, terms.parameters, strict=True)):
            g = int(choices[SIZE])
            inputs = choices[FIRST : FIRST + g]
            own = parameters[: self.layout.n_parameters(g)].copy()
            columns[:, j] = evaluate_column(self.options, X[:, inputs], own, self.ranges.both[:, inputs])
        return columns
