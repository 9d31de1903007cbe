"""What families have in common whose terms choose some of the inputs: products and ridges."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from saltus._typing import Floats
from saltus.families.inputs import InputScale, Law
from saltus.families.line_profiles import LINE_PROFILES, NAMES
from saltus.families.options import EXTRAPOLATE
from saltus.families.terms import TermSet

# A term is refused where the sum of its squares over the rows is below this: a box with fewer rows than so many, or
# a hinge so near the edge that it hardly rises, has so many places to be that it finds noise to explain. So is the rest
# of such a box, which is 1 but at so few rows; a little less, so that rounding does not decide about three rows.
FEWEST_ROWS = 3.0 * (1.0 - 1e-9)

# Coefficients of terms that go on beyond the data have no wider prior than this, in standard deviations of the output.
# On data of Doppler a slope of 40 000, which bumps and sigmoids cancelled within the data and not beyond them, was off
# by 100 at a 400th part of their range.
WIDEST_BEYOND = 10.0
# Nor have those of hinges than this: two that all but coincide make a step where there are no rows, and far too high a
# one. On data of Bumps it was 3 000 high in a gap of a 200th part of the range.
WIDEST_OF_HINGES = 100.0


@dataclass(frozen=True)
class Choosing:
    """The options of such a family."""

    profiles: str | tuple[str, ...]
    max_inputs: int
    extrapolate: str | None

    noun: ClassVar[str]
    known_profiles: ClassVar[tuple[str, ...]]
    is_radial: ClassVar[bool] = False
    needs_numbers: ClassVar[bool] = True

    @property
    def n_columns(self) -> int:
        """How many columns a term has."""
        return 1

    def __post_init__(self) -> None:
        given = (self.profiles,) if isinstance(self.profiles, str) else tuple(self.profiles)
        unknown = [name for name in given if name not in self.known_profiles]
        if unknown or not given or len(set(given)) < len(given):
            raise ValueError(
                f"The profiles of a {self.noun} are some of {', '.join(self.known_profiles)}, each once. "
                f"Got {self.profiles!r}."
            )
        object.__setattr__(self, "profiles", given)
        n_most = self.max_inputs
        if isinstance(n_most, bool) or not isinstance(n_most, int | np.integer) or n_most < 1:
            raise ValueError(f"max_inputs must be a whole number of inputs, 1 or more. Got {n_most!r}.")
        if self.extrapolate not in EXTRAPOLATE:
            raise ValueError(f"extrapolate must be one of {', '.join(EXTRAPOLATE)}. Got {self.extrapolate!r}.")

    @property
    def known_cost(self) -> int | None:
        """Leave it to the data what a term counts for."""
        return None

    def variants(self, *, several: bool) -> tuple[Self, ...]:
        """List what chains may be made of: nothing is left open."""
        return (self,)


@dataclass(frozen=True)
class FittedChoosing(ABC):
    """Such a family on given data."""

    options: Choosing
    scale: InputScale

    n_columns = 1
    starting_shared = np.zeros(0)
    n_switches = 0
    coefficient_scale = 1.0
    coefficient_spread = 1.0  # terms have a height of 1

    @property
    def most_inputs(self) -> int:
        """The largest number of inputs of a term: no more than there are."""
        return min(int(self.options.max_inputs), self.n_choosable)

    @property
    def n_choosable(self) -> int:
        """The number of inputs that a term chooses among: the first ones, which are numbers."""
        return self.scale.n_numbers

    @property
    def law(self) -> Law:
        """How terms are drawn."""
        return Law(self.most_inputs, tuple(NAMES.index(name) for name in self.options.profiles))

    @property
    def counts_of_profiles(self) -> list[int]:
        """How many parameters each of the profiles has."""
        return [LINE_PROFILES[name].n_parameters for name in self.options.profiles]

    @property
    def holds(self) -> bool:
        """Whether terms stay as they are at the edge of the rows."""
        return self.options.extrapolate == "hold"

    @property
    def widest_spread(self) -> float:
        """The largest standard deviation of coefficients."""
        if not self.holds:
            return WIDEST_BEYOND
        return WIDEST_OF_HINGES if "hinge" in self.options.profiles else np.inf

    def smallest_squared_norm(self, *, ridge: bool) -> float:
        """Choose the smallest squared norm of a column that is let in."""
        return FEWEST_ROWS

    def columns(self, U: Floats, terms: TermSet) -> Floats:
        """Evaluate the q columns of the terms at rows U (N, v) of the unit cube: (N, q). O(N q v)."""
        return self.columns_at(self.scale.standardize(U, hold=self.holds), terms)

    @abstractmethod
    def columns_at(self, X: Floats, terms: TermSet) -> Floats:
        """Do the same for rows that are standardised already."""
