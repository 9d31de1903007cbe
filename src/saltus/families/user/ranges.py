"""Inputs as terms of a user's family see them: in the user's units, within the range of the rows or beyond."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from saltus._tiles import rounded
from saltus._typing import Floats
from saltus.families.inputs import FamilyRows


@dataclass(frozen=True)
class InputRanges:
    """The range of each of v inputs that vary, in the unit cube and in the user's units."""

    unit_low: Annotated[Floats, "v"]
    unit_high: Annotated[Floats, "v"]
    low: Annotated[Floats, "v"]
    high: Annotated[Floats, "v"]

    @classmethod
    def of(cls, rows: FamilyRows) -> "InputRanges":
        """Look at rows."""
        low, high = rows.ranges
        return cls(rows.U.min(axis=0, initial=np.inf), rows.U.max(axis=0, initial=-np.inf), low, high)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that vary."""
        return len(self.low)

    @property
    def is_sound(self) -> bool:
        """Whether every input varies: that of a file may not."""
        return bool((self.unit_high > self.unit_low).all() and (self.high > self.low).all())

    @property
    def both(self) -> Floats:
        """The lowest and the highest values, (2, v), in the user's units."""
        return np.stack([self.low, self.high])

    def to_user(self, U: Floats, *, hold: bool = False) -> Floats:
        """Take rows U (N, v) of the unit cube to the user's units; with `hold`, those beyond the range to its edge.

        The lowest row is taken to the lowest value to the last bit: a concentration of 0 is not to be negative.
        """
        X = self._from_share((U - self.unit_low) / (self.unit_high - self.unit_low))
        return np.clip(X, self.low, self.high) if hold else X

    def rounded(self, X: Floats) -> Floats:
        """Leave out the last digits of X (N, v), whatever its units: those of its place in the range."""
        return self._from_share(rounded((X - self.low) / (self.high - self.low)))

    def _from_share(self, share: Floats) -> Floats:
        return self.low + (self.high - self.low) * share
