"""Chains at work, and how they are sent home."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Any

from saltus.engine.blas import single_threaded_blas


class Crew:
    """Knows the chains at work on the threads of this process. In another process, it only minds BLAS."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._dismissed = False
        self._n_working = 0
        self._changed = Condition()

    def __getstate__(self) -> dict[str, Any]:
        return {"_process": self._process}

    @property
    def is_here(self) -> bool:
        """Whether this is the process that the fit was called in."""
        return self._process == os.getpid()

    @property
    def is_dismissed(self) -> bool:
        """Whether chains should stop at the end of their block."""
        return self.is_here and self._dismissed

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the caller in while it works."""
        if not self.is_here:
            with single_threaded_blas():
                yield
            return
        with self._changed:
            if self._dismissed:
                raise RuntimeError("The fit was stopped before this chain began.")
            self._n_working += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_working -= 1
                self._changed.notify_all()

    def dismiss(self) -> None:
        """Ask every chain to stop, and wait until they have: after Ctrl-C other threads are still at work."""
        with self._changed:
            self._dismissed = True
            self._changed.wait_for(lambda: self._n_working == 0)
