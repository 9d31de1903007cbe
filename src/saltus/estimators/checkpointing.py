"""The files that a fit keeps its state in, and goes on from."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import saltus
from saltus._paths import check_path
from saltus._typing import is_number
from saltus.engine.drivers.anneal import shares_memory
from saltus.engine.drivers.checkpoints import Checkpoint, Checkpointer, fingerprint
from saltus.engine.problem.design import Design
from saltus.estimators.checks import TrainingData


@dataclass(frozen=True)
class CheckpointFiles:
    """What `fit` was asked to write and to go on from, checked before it begins."""

    checkpoint: str | None
    seconds: float
    resume: str | None

    @classmethod
    def of(
        cls,
        checkpoint: str | os.PathLike[str] | None,
        checkpoint_every: float,
        resume: str | os.PathLike[str] | None,
    ) -> "CheckpointFiles":
        """Check the arguments of `fit`."""
        if not is_number(checkpoint_every) or isinstance(checkpoint_every, bool) or not checkpoint_every >= 0:
            raise ValueError(f"checkpoint_every is a number of seconds, 0 or more. Got {checkpoint_every!r}.")
        paths = (
            None if path is None else check_path(path, name)
            for name, path in (("checkpoint", checkpoint), ("resume", resume))
        )
        return cls(next(paths), float(checkpoint_every), next(paths))

    def open(
        self,
        data: TrainingData,
        design: Design,
        options: str,
        n_chains: int,
        check: Callable[[Checkpoint, Design], None],
    ) -> tuple[Checkpointer | None, Checkpoint | None]:
        """Make what writes checkpoints, and read the one to go on from; None where neither was asked for."""
        if self.checkpoint is None and self.resume is None:
            return None, None
        if not shares_memory():
            raise ValueError("Checkpoints need chains on threads. Leave out the joblib backend that uses processes.")
        from saltus.storage.checkpoints import read_checkpoint, write_checkpoint

        mark = fingerprint((data.X, data.Y, data.weight), design, f"{saltus.__version__} {options}")
        resumed = None
        if self.resume is not None:
            resumed = read_checkpoint(self.resume, design, mark, n_chains, lambda found: check(found, design))
        if self.checkpoint is None:
            return None, resumed
        path = self.checkpoint
        return Checkpointer(lambda state: write_checkpoint(path, state), mark, self.seconds), resumed
