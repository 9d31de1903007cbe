"""Inputs as terms of a user's family see them: in the user's units, within the range of the rows or beyond."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from saltus._tiles import rounded
from saltus._typing import Floats
from saltus.families.inputs import FamilyRows


@dataclass(frozen=True)
class InputRanges:
    """The ranges and means of those inputs that vary and are numbers, in the unit cube and in the user's units."""

    unit_low: Annotated[Floats, "i"]
    unit_high: Annotated[Floats, "i"]
    low: Annotated[Floats, "i"]
    high: Annotated[Floats, "i"]
    unit_mean: Annotated[Floats, "i"]  # what a missing value counts as

    @classmethod
    def of(cls, rows: FamilyRows) -> "InputRanges":
        """Look at rows."""
        U = rows.numbers
        low, high = rows.ranges[:, : U.shape[1]]
        means = rows.scale.means[: U.shape[1]]
        return cls(U.min(axis=0, initial=np.inf), U.max(axis=0, initial=-np.inf), low, high, means)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that vary and are numbers."""
        return len(self.low)

    @property
    def is_sound(self) -> bool:
        """Whether every input varies: that of a file may not."""
        return bool((self.unit_high > self.unit_low).all() and (self.high > self.low).all())

    @property
    def both(self) -> Floats:
        """The lowest and the highest values, (2, i), in the user's units."""
        return np.stack([self.low, self.high])

    def to_user(self, U: Floats, *, hold: bool = False) -> Floats:
        """Take rows U (N, v) of the unit cube to the user's units, (N, i); with `hold`, to the edge of the range.

        The lowest row is taken to the lowest value to the last bit: a concentration of 0 is not to be negative.
        """
        U = U[:, : self.n_inputs]
        is_gap = np.isnan(U)
        U = np.where(is_gap, self.unit_mean, U) if is_gap.any() else U
        X = self._from_share((U - self.unit_low) / (self.unit_high - self.unit_low))
        return np.clip(X, self.low, self.high) if hold else X

    @property
    def mean(self) -> Floats:
        """What a missing value counts as, (i,), in the user's units."""
        return self.to_user(self.unit_mean[None])[0]

    def rounded(self, X: Floats) -> Floats:
        """Leave out the last digits of X (N, i), whatever its units: those of its place in the range."""
        return self._from_share(rounded((X - self.low) / (self.high - self.low)))

    def _from_share(self, share: Floats) -> Floats:
        return self.low + (self.high - self.low) * share
