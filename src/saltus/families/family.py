"""What a family of basis functions supplies."""

from typing import Protocol

from saltus._typing import Floats


class Basis(Protocol):
    """A family of functions phi(x; mu), one for each centre mu."""

    @property
    def code(self) -> int:
        """Number by which `evaluate_column` knows the family."""

    @property
    def degree(self) -> float | None:
        """The p of phi(s r) = s^p phi(r), or None where there is none: units then matter."""

    @property
    def has_width(self) -> bool:
        """Whether phi(s r) for another s is a basis function of another width."""

    @property
    def fades(self) -> bool:
        """Whether phi falls to nothing, from 1 at its centre: a column far from every row is nearly 0."""

    @property
    def width(self) -> float:
        """Distances are divided by this first."""

    def profile(self, r_squared: Floats) -> Floats:
        """Evaluate the function of the squared distance, in NumPy, for prediction."""
