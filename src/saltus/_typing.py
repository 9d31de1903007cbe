"""Names for arrays, and a question about numbers."""

from numbers import Real

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]


def is_number(value: object) -> bool:
    """Say whether a value that should be a number is one, whatever its annotation promises."""
    return isinstance(value, Real)
