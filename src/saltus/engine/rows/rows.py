"""Rows that are asked as a whole, block by block: the one thing that a search with many rows knows of them.

A question is put to each block; the answers, which are small, are merged in the order of the blocks. Who holds the
rows decides where that happens. Answers to the same question over other blocks differ by rounding alone.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from saltus._typing import Floats, Ints

Answer = TypeVar("Answer")
T = TypeVar("T")

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


# What asks one question after the other: it yields each, is sent the answer, and returns what it was after.
Inquiry = Generator[Question[Any], Any, T]


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


@dataclass(frozen=True)
class Together:
    """Several questions, asked in one pass."""

    questions: tuple[Question[Any], ...]

    def ask(self, block: Block) -> tuple[Any, ...]:
        """Answer all for one block."""
        return tuple(question.ask(block) for question in self.questions)

    def merge(self, first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
        """Merge the answers to each."""
        each = zip(self.questions, first, second, strict=True)
        return tuple(question.merge(one, other) for question, one, other in each)


def inquire(rows: Rows, inquiries: Mapping[int, Inquiry[T]], go_on: GoOn = lambda: True) -> Iterator[tuple[int, T]]:
    """Run several inquiries side by side, a pass for what all of them ask next; yield the result of each at its end."""
    pending: dict[int, Question[Any]] = {}
    answers: dict[int, Any] = dict.fromkeys(inquiries)
    while answers:
        pending = {}
        for number, answer in answers.items():
            try:
                pending[number] = inquiries[number].send(answer)
            except StopIteration as end:
                yield number, end.value
        if not pending:
            return
        together = rows.ask(Together(tuple(pending.values())), go_on)
        answers = dict(zip(pending, together, strict=True))
