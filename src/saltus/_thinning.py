"""Some of many, where all would take too long to look at."""

import numpy as np

from saltus._typing import Ints


def spread_out(n: int, most: int) -> Ints:
    """Choose no more than `most` of n numbers, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.int64)
