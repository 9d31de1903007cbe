"""Rows in memory."""

from joblib import Parallel, delayed

from saltus._typing import Ints
from saltus.engine.rows.rows import Answer, Block, GoOn, Question, StoppedError

# Rows that are asked between two questions whether to go on: some tens of milliseconds.
ROWS_A_BLOCK = 2**16


class MemoryRows:
    """Rows in memory. Mutable: it counts how often all of them were asked."""

    def __init__(self, rows: Block, n_jobs: int | None = None) -> None:
        self.rows, self.n_jobs = rows, n_jobs
        self.n_rows, self.n_passes = len(rows.X), 0

    def ask(self, question: Question[Answer], go_on: GoOn = lambda: True) -> Answer:
        """Ask all blocks, several at once on threads where there are several jobs."""
        self.n_passes += 1
        firsts = range(0, self.n_rows, ROWS_A_BLOCK)

        def ask_one(first: int) -> Answer:
            if not go_on():
                raise StoppedError
            return question.ask(Block(*(array[first : first + ROWS_A_BLOCK] for array in self.rows)))

        jobs = (delayed(ask_one)(first) for first in firsts)
        # A generator, so that only a few answers exist at a time; in order, so that the result does not depend on jobs.
        answers = Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")(jobs)
        merged = next(answers)
        for answer in answers:
            merged = question.merge(merged, answer)
        found: Answer = merged
        return found

    def thinned(self, n_most: int) -> "MemoryRows":
        """Take every other row, or every third and so on, so that there are about so many, and no fewer."""
        step = max(self.n_rows // max(n_most, 1), 1)
        return self if step == 1 else MemoryRows(Block(*(array[::step] for array in self.rows)), self.n_jobs)

    def take(self, numbers: Ints) -> Block:
        """Take some rows."""
        return Block(*(array[numbers] for array in self.rows))
