"""Ridges: what a user chooses, and what becomes of it on given data."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from saltus._typing import Floats
from saltus.families.choosing import Choosing, FittedChoosing
from saltus.families.inputs import FamilyRows
from saltus.families.line_profiles import N_PARAMETERS, replace_by_profiles
from saltus.families.options import RIDGE_PROFILES
from saltus.families.registry import RIDGE
from saltus.families.ridge.inspection import RidgeInspection
from saltus.families.ridge.kernels import (
    AT_INPUTS,
    AT_LENGTH,
    AT_OFFSET,
    AT_REACH,
    AT_SLOPE,
    DIRECTION,
    FIRST,
    LOG_GENTLEST,
    LOG_STEEPEST,
    OFFSET,
    PROFILE,
    SIZE,
    SLOPE,
    direction_at,
)
from saltus.families.ridge.search import RidgeSearch
from saltus.families.terms import TermSet, are_distinct

# What a frequency is worth under BIC: N rows tell N/2 frequencies apart, and know one to the N^(-1/2)-th part of their
# distance, so that ln N^(3/2) is three times what an amplitude costs (Djuric 1996; Stoica & Selen 2004).
FREQUENCY_COST = 3

if TYPE_CHECKING:
    from saltus.families.wave.family import FittedWave

# A sigmoid whose rise is beyond the rows is a constant, plus next to nothing with a coefficient as large as it likes.
# It is refused where 1 less its size has a smaller sum of squares over the rows than this: a row in the middle of the
# rise counts for 1, one beyond it for 4. Of 1, 4 and 12, the first was best on airfoil and the last on autompg.
NEAREST_TO_A_CONSTANT = 1.0


@dataclass(frozen=True)
class Ridge(Choosing):
    """Functions of a projection a'x - t on up to `max_inputs` inputs: projection pursuit, or one hidden layer.

    Parameters
    ----------
    profiles : str or tuple of str
        The function of the projection: "hinge" (max(z, 0)), "sigmoid" (tanh z) or "bump" (exp(-z^2/2)); or "wave",
        A cos(2 pi f a'x) + B sin(2 pi f a'x), which cannot be mixed with other profiles.
    max_inputs : int, default=4
        The largest number of inputs of a projection.
    extrapolate : {"hold", "free"} or None, default=None
        Beyond the range of the training rows, a term keeps its value at the edge ("hold") or continues ("free"). None:
        "free" for waves, which a forecast needs, and "hold" for other profiles.

    Examples
    --------
    >>> from saltus import Ridge
    >>> Ridge("sigmoid")
    Ridge(profiles=('sigmoid',), max_inputs=4, extrapolate='hold')
    """

    profiles: str | tuple[str, ...]
    max_inputs: int = 4
    extrapolate: str | None = None

    noun: ClassVar[str] = "ridge"
    known_profiles: ClassVar[tuple[str, ...]] = RIDGE_PROFILES

    def __post_init__(self) -> None:
        if self.extrapolate is None:
            object.__setattr__(self, "extrapolate", "free" if self.is_wave else "hold")
        super().__post_init__()
        if not self.is_wave and "wave" in self.profiles:
            raise ValueError(
                f"Waves have two columns, and are a family of their own. Got the profiles {self.profiles!r}. Give a "
                f"list of families: one with the profile 'wave', and one with the others."
            )

    @property
    def is_wave(self) -> bool:
        """Whether terms are waves, of a frequency in place of an offset and a slope."""
        return self.profiles in ("wave", ("wave",), ["wave"])

    @property
    def n_columns(self) -> int:
        """How many columns a term has: a wave has a cosine and a sine."""
        return 2 if self.is_wave else 1

    @property
    def known_cost(self) -> int | None:
        """How many parameters a term should count for: see FREQUENCY_COST."""
        return FREQUENCY_COST if self.is_wave else None

    def fit(self, rows: FamilyRows) -> "FittedRidge | FittedWave":
        """Fit to rows."""
        if not self.is_wave:
            return FittedRidge(self, rows.scale)
        from saltus.families.wave.family import FittedWave  # which knows these options

        return FittedWave.of(self, rows)


@dataclass(frozen=True)
class FittedRidge(FittedChoosing):
    """Ridges on given data, with all methods that the mixture asks."""

    options: Ridge

    geometry = RIDGE
    smallest_complement = NEAREST_TO_A_CONSTANT

    @property
    def n_choices(self) -> int:
        """The number of discrete choices of a term."""
        return FIRST + self.most_inputs

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term."""
        return DIRECTION + self.most_inputs

    @property
    def n_decoded(self) -> int:
        """The numbers of a decoded term."""
        return AT_INPUTS + 2 * self.most_inputs

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for: at least, and at most."""
        each = self.counts_of_profiles
        return min(each), max(each) + self.most_inputs - 1

    @property
    def search(self) -> RidgeSearch:
        """What descents ask."""
        return RidgeSearch(self)

    @property
    def inspection(self) -> RidgeInspection:
        """What summaries, reports and pictures ask."""
        return RidgeInspection(self)

    def accepts(self, terms: TermSet) -> bool:
        """Say whether terms could be its own."""
        size = terms.choices[:, SIZE]
        inputs = terms.choices[:, FIRST:]
        return bool(
            ((size >= 1) & (size <= self.most_inputs)).all()
            and np.isin(terms.choices[:, PROFILE], self.law.profiles).all()
            and ((inputs >= 0) & (inputs < self.n_choosable)).all()
            and are_distinct(inputs, size)
        )

    def draw(self, rng: np.random.Generator, n: int) -> TermSet:
        """Draw n terms from nu."""
        choices = np.zeros((n, self.n_choices), dtype=np.int64)
        parameters = np.zeros((n, self.n_parameters))
        codes = np.array(self.law.profiles)
        for row, own in zip(choices, parameters, strict=True):
            g = int(rng.integers(1, self.most_inputs, endpoint=True))
            row[SIZE], row[PROFILE] = g, rng.choice(codes)
            row[FIRST : FIRST + g] = rng.choice(self.n_choosable, g, replace=False)
            own[: DIRECTION + g] = rng.random(DIRECTION + g)
        return TermSet(np.zeros(n, dtype=np.int64), choices, parameters, np.zeros(0))

    def decode(self, terms: TermSet) -> Floats:
        """Make terms (k, n) as kernels evaluate them."""
        size, profile = terms.choices[:, SIZE], terms.choices[:, PROFILE]
        slot = np.arange(self.most_inputs)
        in_use = slot < size[:, None]
        inputs = np.where(in_use, terms.choices[:, FIRST : FIRST + self.most_inputs], 0)
        v = np.where(in_use, direction_at(terms.parameters[:, DIRECTION : DIRECTION + self.most_inputs]), 0.0)
        length = np.sqrt(np.maximum((v**2).sum(axis=1), 1e-300))
        a = v / length[:, None]
        decoded = np.zeros((len(terms), self.n_decoded))
        decoded[:, 0], decoded[:, 1] = size, profile
        steep = np.exp(LOG_GENTLEST + terms.parameters[:, SLOPE] * (LOG_STEEPEST - LOG_GENTLEST))
        decoded[:, AT_SLOPE] = np.where(N_PARAMETERS[profile] == 2, steep, 1.0)
        decoded[:, AT_OFFSET] = 2.0 * terms.parameters[:, OFFSET] - 1.0
        decoded[:, AT_REACH] = np.sqrt(((a * self.scale.reach[inputs]) ** 2).sum(axis=1))
        decoded[:, AT_LENGTH] = length
        decoded[:, AT_INPUTS + 2 * slot] = inputs
        decoded[:, AT_INPUTS + 2 * slot + 1] = a
        return decoded

    def projections(self, terms: TermSet) -> tuple[Floats, Floats]:
        """Find w (v, k) and c (k,) of z = w'x + c, x in standard deviations."""
        decoded = self.decode(terms)
        slope = decoded[:, AT_SLOPE]
        w = np.zeros((self.scale.n_inputs, len(terms)))
        for slot in range(self.most_inputs):
            inputs = decoded[:, AT_INPUTS + 2 * slot].astype(np.int64)
            np.add.at(w, (inputs, np.arange(len(terms))), slope * decoded[:, AT_INPUTS + 2 * slot + 1])
        return w, -slope * decoded[:, AT_OFFSET] * decoded[:, AT_REACH]

    def columns_at(self, X: Floats, terms: TermSet) -> Floats:
        """Do the same for rows that are standardised already."""
        w, c = self.projections(terms)
        Z = self.scale.without_gaps(X) @ w + c
        replace_by_profiles(Z, terms.choices[:, PROFILE])
        return Z
