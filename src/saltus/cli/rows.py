"""Rows to fit and rows to test."""

import numpy as np

from saltus._typing import Ints


def split_rows(n_rows: int, test_share: float, seed: int) -> tuple[Ints, Ints]:
    """Draw the rows that are held out; the numbers of the others and theirs, each in order."""
    n_test = round(test_share * n_rows)
    if test_share > 0:
        n_test = max(n_test, 1)
    shuffled = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(shuffled[n_test:]), np.sort(shuffled[:n_test])
