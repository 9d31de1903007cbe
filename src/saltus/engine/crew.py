"""Chains at work, and how they are sent home."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from time import monotonic
from typing import Any

from saltus.engine.blas import single_threaded_blas


class Crew:
    """Knows the chains at work on the threads of this process. In another process, it only minds BLAS."""

    def __init__(self, max_seconds: float | None = None) -> None:
        self._process = os.getpid()
        self._deadline = None if max_seconds is None else monotonic() + max_seconds
        self._dismissed = False
        self._n_working = 0
        self._changed = Condition()

    def __getstate__(self) -> dict[str, Any]:
        return {"_process": self._process, "_deadline": self._deadline}

    @property
    def is_here(self) -> bool:
        """Whether this is the process that the fit was called in."""
        return self._process == os.getpid()

    @property
    def is_dismissed(self) -> bool:
        """Whether chains should stop at the end of their block."""
        return self.is_here and self._dismissed

    @property
    def is_late(self) -> bool:
        """Whether the time that was given is over."""
        return self._deadline is not None and monotonic() >= self._deadline

    @property
    def should_stop(self) -> bool:
        """Whether a chain should stop where it is."""
        return self.is_dismissed or self.is_late

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
