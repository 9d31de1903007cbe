"""What methods are given beside data, checked: counts, shares, arrays of options."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# No chain lives to see more iterations. Indices and products of these are whole numbers of 64 bits.
MOST_ITERATIONS = 10**15
# More chains would fill the memory before the first begins.
MOST_CHAINS = 10**5
# A term that counts for more parameters is never taken.
MOST_TERM_COST = 10**4
# Shapes and scales of priors beyond these, or their inverses, overflow.
MOST_SHAPE, MOST_SCALE = 1e9, 1e100


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Take a whole number that is not too small, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more. Got {value!r}.")
    return int(value)


def check_index(name: str, value: Any, n: int) -> int:
    """Take a whole number from 0 to n - 1, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < n:
        raise ValueError(f"{name} must be between 0 and {n - 1}. Got {value!r}.")
    return int(value)


def check_coverage(value: Any) -> float:
    """Take one probability between 0 and 1, or raise."""
    if not isinstance(value, float | np.floating) or not 0 < value < 1:
        raise ValueError(f"coverage must be between 0 and 1. Got {value!r}.")
    return float(value)


def check_callback(callback: Any) -> None:
    """Raise if a callback cannot be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of one argument, the progress of the fit. Got {callback!r}.")


def array_of(name: str, what: str, values: Any, dtype: Any = None) -> NDArray[Any]:
    """Make an array of what an option holds, or raise."""
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be {what}. Got {values!r}.") from error
