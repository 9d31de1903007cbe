"""The one place where kernels reach the families of basis functions.

A family is a frozen dataclass with a `code`, by which the compiled chain knows it. To add one: write its file, give it
codes of its own, and add a line to each function here.
"""

from saltus._jit import kernel
from saltus._typing import Floats
from saltus.families.radial import radial_column, radial_column_and_slope


@kernel
def evaluate_column(
    code: int, X_metric: Floats, center: Floats, relevance: Floats, root_weight: Floats, column: Floats
) -> None:
    """Set column[n] = sqrt(weight_n) phi(x_n; center) for the rows of a tile. O(L q).

    X_metric is (q, L), `relevance` (q,), `center` (q + 1,), its last entry the sharpness:
    r^2 = sharpness^2 sum_i (relevance_i (x_i - center_i))^2.
    """
    radial_column(code, X_metric, center, relevance, column)
    for n in range(column.size):
        column[n] *= root_weight[n]


@kernel
def evaluate_column_and_slope(
    code: int,
    X_metric: Floats,
    center: Floats,
    relevance: Floats,
    root_weight: Floats,
    squared: Floats,
    column: Floats,
    slope: Floats,
) -> None:
    """Do the same, and set squared[n] = r^2 and slope[n] = sqrt(weight_n) d phi / d r^2. O(L q)."""
    radial_column_and_slope(code, X_metric, center, relevance, squared, column, slope)
    for n in range(column.size):
        column[n] *= root_weight[n]
        slope[n] *= root_weight[n]
