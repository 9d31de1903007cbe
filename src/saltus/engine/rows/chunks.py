"""Rows in chunks that dask holds, on disk or on the machines of a cluster: asked where they are, by its scheduler.

Imported where rows are of that sort alone.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import dask
import numpy as np

from saltus._blas import single_threaded_blas
from saltus._typing import Ints
from saltus.engine.rows.rows import Answer, Block, GoOn, Question, StoppedError

# So many answers are merged by one task.
ANSWERS_A_MERGE = 8


class ChunkedRows:
    """Rows in chunks. Mutable: it counts how often all of them were asked.

    The order in which answers are merged depends on the chunks alone, and not on where or when these are asked.
    """

    def __init__(self, chunks: Sequence[Any], lengths: Sequence[int]) -> None:
        self.chunks, self.ends = list(chunks), np.concatenate([[0], np.cumsum(lengths)])
        self.n_rows, self.n_passes = int(self.ends[-1]), 0

    def ask(self, question: Question[Answer], go_on: GoOn = lambda: True) -> Answer:
        """Ask all chunks, on dask's scheduler."""
        if not go_on():
            raise StoppedError
        self.n_passes += 1
        asked = dask.delayed(question, pure=False)
        answers = [dask.delayed(_ask)(asked, chunk) for chunk in self.chunks]
        while len(answers) > 1:
            groups = [answers[i : i + ANSWERS_A_MERGE] for i in range(0, len(answers), ANSWERS_A_MERGE)]
            answers = [dask.delayed(_merge)(asked, group) for group in groups]
        (found,) = dask.compute(*answers)
        merged: Answer = found
        return merged

    def take(self, numbers: Ints) -> Block:
        """Take some rows, in one pass over the chunks that have any."""
        self.n_passes += 1
        parts = []
        for chunk, (first, end) in zip(self.chunks, pairwise(self.ends.tolist()), strict=True):
            own = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, end)] - first
            if own.size:
                parts.append(dask.delayed(_take)(chunk, own))
        blocks = dask.compute(*parts)
        return Block(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))


def _ask(question: Question[Answer], block: Block) -> Answer | None:
    """Answer for one chunk; nothing, where it has no rows."""
    with single_threaded_blas():
        return question.ask(block) if len(block.X) else None


def _merge(question: Question[Answer], answers: Sequence[Answer | None]) -> Answer | None:
    merged: Answer | None = None
    with single_threaded_blas():
        for answer in answers:
            if answer is not None:
                merged = answer if merged is None else question.merge(merged, answer)
    return merged


def _take(block: Block, numbers: Ints) -> Block:
    return Block(*(array[numbers] for array in block))
