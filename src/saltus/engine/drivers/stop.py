"""Chains at work, and how they are sent home."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any, ClassVar

from saltus.engine.drivers.blas import single_threaded_blas

INTERRUPTED = "Interrupted"

# A second Ctrl-C within so many seconds of another is not for the fit alone.
SECONDS_BETWEEN_INTERRUPTS = 2.0


class Crew:
    """Knows the chains at work on the threads of this process. In another process, it only minds BLAS and the clock."""

    _last_interrupt: ClassVar[float] = -float("inf")

    def __init__(self, max_seconds: float | None = None) -> None:
        self._process = os.getpid()
        self._max_seconds = max_seconds
        self._deadline = None if max_seconds is None else monotonic() + max_seconds
        self.stopped_by = ""  # why chains were asked to stop before their time, in words
        self._dismissed = False
        self._n_working = 0
        self._n_done = 0
        self._keeper: object = None  # the one who hands something over, where nobody has yet
        self._changed = Condition()

    def __getstate__(self) -> dict[str, Any]:
        return {"_process": self._process, "_deadline": self._deadline, "_max_seconds": self._max_seconds}

    @property
    def is_here(self) -> bool:
        """Whether this is the process that the fit was called in."""
        return self._process == os.getpid()

    @property
    def is_late(self) -> bool:
        """Whether the time that was given is over."""
        return self._deadline is not None and monotonic() >= self._deadline

    @property
    def share_of_time(self) -> float:
        """How much of the time that was given is over, between 0 and 1; 0 where none was given."""
        if self._deadline is None or self._max_seconds is None:
            return 0.0
        return min(max(1.0 - (self._deadline - monotonic()) / self._max_seconds, 0.0), 1.0)

    @property
    def should_stop(self) -> bool:
        """Whether a chain should stop where it is, at the end of its block."""
        return self.is_late or (self.is_here and (self._dismissed or self.stopped_by != ""))

    def go_on(self) -> bool:
        """Say the opposite, anew each time it is asked."""
        return not self.should_stop

    @property
    def need_not_begin(self) -> bool:
        """Whether a chain that has not begun can be left out: it is time to stop, and others have something to show."""
        return self.is_here and self.should_stop and (self._n_done > 0 or self._keeper is not None)

    def can_spare(self, who: object) -> bool:
        """Say whether a chain with nothing to show can leave at once: it is time to stop, and others will show some."""
        if not self.is_here or not self.should_stop:
            return False
        with self._changed:
            if self._n_done == 0 and self._keeper is None:
                self._keeper = who
            return self._keeper is not who

    def stop(self, why: str) -> None:
        """Ask every chain to stop and return what it has."""
        self.stopped_by = self.stopped_by or why

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
            self._n_done += 1
        finally:
            with self._changed:
                self._n_working -= 1
                self._changed.notify_all()

    def dismiss(self) -> None:
        """Ask every chain to stop, and wait until they have: after an exception other threads are still at work."""
        with self._changed:
            self._dismissed = True
            self._changed.wait_for(lambda: self._n_working == 0)

    @contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C stop the chains instead of raising KeyboardInterrupt, which it does if it comes twice.

        Only where Python would raise it: on the main thread, and if nobody else handles the signal.
        """
        alone = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if not alone:
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            now = monotonic()
            again = now - Crew._last_interrupt < SECONDS_BETWEEN_INTERRUPTS
            Crew._last_interrupt = now
            if again:
                signal.default_int_handler(number, frame)
            self.stop(INTERRUPTED)

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
