"""What descents do beside missing values, whose coordinates distances leave out."""

from saltus._jit import kernel
from saltus._typing import Bytes, Floats


@kernel
def total_of_gaps(values: Floats, is_gap: Bytes) -> float:
    """Sum values over the rows that lack a coordinate. O(L)."""
    found = 0.0
    for n in range(values.size):
        if is_gap[n]:
            found += values[n]
    return found


@kernel
def add_shift_beside_gaps(
    multiple: float, slope: Floats, x: Floats, center: float, is_gap: Bytes, power: int, column: Floats
) -> None:
    """Add a multiple of slope (x - center)^power, power 1 or 2, at rows that have the coordinate. O(L)."""
    for n in range(column.size):
        if not is_gap[n]:
            away = x[n] - center
            column[n] += multiple * slope[n] * (away if power == 1 else away * away)
