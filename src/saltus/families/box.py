"""What families need to know of the box that inputs are scaled to."""

from typing import Protocol

from saltus._typing import Bools, Floats


class UnitBox(Protocol):
    """The box whose inside is the unit cube. Constant inputs have no place in it."""

    @property
    def width(self) -> Floats:
        """Its sides (d,), in the user's units; 1 for a constant input."""

    @property
    def varies(self) -> Bools:
        """Which inputs (d,) vary."""

    def of_first(self, n: int) -> "UnitBox":
        """Take the box of the first n of the inputs that vary, as if no others did."""

    def from_unit(self, U: Floats) -> Floats:
        """Take points of the unit cube (n, v) to the user's units, (n, d)."""
