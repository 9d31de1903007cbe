"""Rows to fit and rows to test."""

from dataclasses import dataclass

import numpy as np

from saltus._typing import Floats
from saltus.cli.columns import Data
from saltus.cli.tables import TableError
from saltus.inspection.document import count

# Beside the coefficients of the linear term, so many rows are the least that criteria are defined for.
SPARE_ROWS = 3


@dataclass(frozen=True)
class Rows:
    """Inputs (N, d) and outputs, (N,) or (N, c)."""

    X: Floats
    y: Floats

    def __len__(self) -> int:
        return len(self.X)


def split_rows(data: Data, test_share: float, seed: int) -> tuple[Rows, Rows]:
    """Draw the rows that are held out; return the others and them, each in their order."""
    n_rows = len(data.X)
    n_test = max(round(test_share * n_rows), 1) if test_share > 0 else 0
    needed = len(data.inputs) + 1 + SPARE_ROWS
    if n_rows - n_test < needed:
        held_out = f", and {n_test} held out" if n_test else ""
        remedies = ["Lower --test-size."] * (n_rows >= needed) + ["Choose fewer with --input."] * (len(data.inputs) > 1)
        raise TableError(
            f"A fit to {count(len(data.inputs), 'input')} needs at least {needed} complete rows; there are "
            f"{n_rows - n_test}{held_out}. {' '.join(remedies) or 'Get more rows.'}"
        )
    y = data.Y[:, 0] if len(data.targets) == 1 else data.Y
    shuffled = np.random.default_rng(seed).permutation(n_rows)
    test, train = np.sort(shuffled[:n_test]), np.sort(shuffled[n_test:])
    return Rows(data.X[train], y[train]), Rows(data.X[test], y[test])


def describe_split(train: Rows, test: Rows, seed: int) -> str:
    """Say how many rows are for what."""
    if not len(test):
        return f"The model is fitted to all {len(train)} complete rows; none are held out to test it."
    return f"The model is fitted to {len(train)} rows; {len(test)}, drawn by seed {seed}, are held out to test it."
