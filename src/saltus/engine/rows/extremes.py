"""The rows at the ends of inputs: with these, a part of the rows has the range of all."""

from typing import NamedTuple

import numpy as np

from saltus._typing import Floats
from saltus.engine.rows.rows import Block


class Ends(NamedTuple):
    """Of each of d inputs, its lowest value and its highest, and a row with each of these."""

    values: Floats  # (2 d,), the lowest, and the highest with the other sign; infinite where there are none
    tables: Floats  # (2 d, d + c + 1), inputs, outputs and weight

    def rows(self, like: Block) -> Block:
        """Give the rows, each once, in the shape of others."""
        d = like.X.shape[1]
        table = np.unique(self.tables[np.isfinite(self.values)], axis=0)
        return Block(table[:, :d], table[:, d:-1], table[:, -1])


class Extremes:
    """Which rows have the lowest and the highest value of each input? Of several, the first."""

    def ask(self, block: Block) -> Ends:
        """Answer for one block. O(n d)."""
        both = []
        for sign in (1.0, -1.0):
            ahead = sign * block.X
            ahead = np.where(np.isnan(ahead), np.inf, ahead)
            at = ahead.argmin(axis=0)
            table = np.hstack([block.X[at], block.Y[at], block.weight[at, None]])
            both.append(Ends(ahead[at, np.arange(at.size)], table))
        return Ends(*(np.concatenate(parts) for parts in zip(*both, strict=True)))

    def merge(self, first: Ends, second: Ends) -> Ends:
        """Keep what is farther."""
        farther = second.values < first.values
        return Ends(
            np.where(farther, second.values, first.values), np.where(farther[:, None], second.tables, first.tables)
        )
