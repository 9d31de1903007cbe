"""Rows that are asked as a whole, block by block: the one thing that a search with many rows knows of them.

A question is put to each block; the answers, which are small, are merged in the order of the blocks. Who holds the
rows decides where that happens. Answers to the same question over other blocks differ by rounding alone.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from saltus._typing import Floats, Ints

Answer = TypeVar("Answer")

# Asked before each block: whether to go on.
GoOn = Callable[[], bool]


class Block(NamedTuple):
    """Some rows, as they are read: numbers and codes of levels, NaN where a value is missing."""

    X: Floats  # (n, d)
    Y: Floats  # (n, c), in the user's units
    weight: Floats  # (n,), positive


class Question(Protocol[Answer]):
    """What can be asked of rows. It is a value, which travels to where the rows are."""

    def ask(self, block: Block) -> Answer:
        """Answer for one block."""

    def merge(self, first: Answer, second: Answer) -> Answer:
        """Make one answer of those for two blocks, the first before the second."""


class StoppedError(Exception):
    """There was no time to ask all blocks."""


class Rows(Protocol):
    """The rows of a fit. Mutable: it counts how often all of them were asked."""

    n_rows: int
    n_passes: int

    def ask(self, question: Question[Answer], go_on: GoOn = lambda: True) -> Answer:
        """Ask all blocks; raise `StoppedError` where there is no time for all."""

    def take(self, numbers: Ints) -> Block:
        """Take the rows with these numbers, which rise."""
