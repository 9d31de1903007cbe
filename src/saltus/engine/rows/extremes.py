"""The rows at the ends of inputs: with these, a part of the rows has the range of all."""

from typing import NamedTuple

import numpy as np

from saltus._typing import Floats
from saltus.engine.rows.rows import Block


class Ends(NamedTuple):
    """Of each of d inputs, a row with its lowest value, one with its highest, and one where it is missing."""

    values: Floats  # (3 d,), the lowest, the highest with the other sign, and 0; infinite where there is no such row
    tables: Floats  # (3 d, d + c + 1), inputs, outputs and weight

    def rows(self, like: Block) -> Block:
        """Give the rows, each once, in the shape of others."""
        d = like.X.shape[1]
        table = np.unique(self.tables[np.isfinite(self.values)], axis=0)
        return Block(table[:, :d], table[:, d:-1], table[:, -1])


class Extremes:
    """Which rows have the lowest value of each input, the highest, or none? Of several, the first."""

    def ask(self, block: Block) -> Ends:
        """Answer for one block. O(n d)."""
        is_gap = np.isnan(block.X)
        found = []
        for ahead in (block.X, -block.X, np.where(is_gap, 0.0, np.inf)):
            known = np.where(np.isnan(ahead), np.inf, ahead)
            at = known.argmin(axis=0)
            table = np.hstack([block.X[at], block.Y[at], block.weight[at, None]])
            found.append(Ends(known[at, np.arange(at.size)], table))
        return Ends(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def merge(self, first: Ends, second: Ends) -> Ends:
        """Keep what is farther."""
        farther = second.values < first.values
        return Ends(
            np.where(farther, second.values, first.values), np.where(farther[:, None], second.tables, first.tables)
        )
