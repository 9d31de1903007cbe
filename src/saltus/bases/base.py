"""What a family of basis functions supplies, and the one place where kernels reach them.

A family is a frozen dataclass with a `code`, by which the compiled chain knows it. To add one: write its file,
give it a code of its own, and add a line to `evaluate_column`.
"""

from typing import Protocol

from saltus._jit import kernel
from saltus._typing import Floats
from saltus.bases.radial import radial_column


class Basis(Protocol):
    """A family of functions phi(x; mu), one for each centre mu."""

    @property
    def code(self) -> int:
        """Number by which `evaluate_column` knows the family."""

    @property
    def degree(self) -> float | None:
        """The p of phi(s r) = s^p phi(r), or None where there is none: units then matter."""

    @property
    def width(self) -> float:
        """Distances are divided by this first."""

    def profile(self, r_squared: Floats) -> Floats:
        """Evaluate the function of the squared distance, in NumPy, for prediction."""


@kernel
def evaluate_column(code: int, X_metric: Floats, center: Floats, root_weight: Floats, column: Floats) -> None:
    """Set column[n] = sqrt(weight_n) phi(x_n; center) for the rows of a tile. O(L d).

    X_metric is (d, L), coordinates in which the metric is Euclidean; so is `center`, (d,).
    """
    radial_column(code, X_metric, center, column)
    for n in range(column.size):
        column[n] *= root_weight[n]
