"""Rows to fit and rows to test."""

from dataclasses import dataclass

import numpy as np

from saltus._typing import Floats
from saltus.cli.columns import Data
from saltus.cli.tables import TableError
from saltus.reading import ColumnTable

# Where rows are fewer than this, none are held out.
FEWEST_TO_SPLIT = 5


@dataclass(frozen=True)
class Rows:
    """Inputs as they come, N rows, and outputs, (N,) or (N, c)."""

    X: ColumnTable
    y: Floats

    def __len__(self) -> int:
        return len(self.y)


def split_rows(data: Data, test_share: float, seed: int) -> tuple[Rows, Rows]:
    """Draw the rows that are held out; return the others and them, each in their order."""
    n_rows = len(data.Y)
    n_test = max(round(test_share * n_rows), 1) if test_share > 0 and n_rows >= FEWEST_TO_SPLIT else 0
    if n_rows - n_test < 2:
        raise TableError(
            f"A fit needs at least 2 rows; there are {n_rows - n_test}, and {n_test} held out. Lower --test-size."
        )
    y = data.Y[:, 0] if len(data.targets) == 1 else data.Y
    shuffled = np.random.default_rng(seed).permutation(n_rows)
    test, train = np.sort(shuffled[:n_test]), np.sort(shuffled[n_test:])
    return Rows(data.X.take(train), y[train]), Rows(data.X.take(test), y[test])


def describe_split(train: Rows, test: Rows, seed: int) -> str:
    """Say how many rows are for what."""
    if not len(test):
        return f"The model is fitted to all {len(train)} rows; none are held out to test it."
    return f"The model is fitted to {len(train)} rows; {len(test)}, drawn by seed {seed}, are held out to test it."
