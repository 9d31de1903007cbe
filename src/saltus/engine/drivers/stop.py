"""The signal to stop, by Ctrl-C, a callback or the clock, and how it is given to chains at work."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any, ClassVar, Self

from saltus._blas import single_threaded_blas
from saltus._compile import NO_MODEL, heeding_stops, main_thread_waits

INTERRUPTED = "Interrupted"
STOPPED_BY_CALLBACK = "Stopped by the callback"

# A second Ctrl-C within so many seconds of another is not for the fit alone.
SECONDS_BETWEEN_INTERRUPTS = 2.0


@dataclass(frozen=True)
class Deadline:
    """The end of the time that a fit was given, on a clock that all processes of the machine share."""

    seconds: float | None = None  # how long the time is; None: there is no end
    end: float = float("inf")

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """Start the clock."""
        return cls() if seconds is None else cls(seconds, monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.seconds is not None and monotonic() >= self.end

    @property
    def share_of_time(self) -> float:
        """How much of the time is over, between 0 and 1; 0 where there is no end."""
        if self.seconds is None:
            return 0.0
        return min(max(1.0 - (self.end - monotonic()) / self.seconds, 0.0), 1.0)


class StopSignal:
    """Tells the chains of a fit, on the threads of this process, when to stop, and waits until they have.

    A copy in another process knows the deadline, and nothing else.
    """

    _last_interrupt: ClassVar[float] = -float("inf")  # when Ctrl-C was pressed last, in any fit

    def __init__(self, max_seconds: float | None = None, *, has_result: bool = False) -> None:
        self._process = os.getpid()
        self.deadline = Deadline.after(max_seconds)
        self.stopped_by = ""  # why chains were asked to stop before their time, in words
        self._is_closed = False  # whether no chain may begin any more
        self._n_working = 0
        self._n_done = int(has_result)  # chains with a result
        self._obliged: int | None = None  # the chain that must return a result, where no other has
        self._changed = Condition()

    def __getstate__(self) -> dict[str, Any]:
        return {"_process": self._process, "deadline": self.deadline}

    @property
    def is_here(self) -> bool:
        """Whether this is the process that the fit was called in."""
        return self._process == os.getpid()

    @property
    def should_stop(self) -> bool:
        """Whether a chain should stop where it is, at the end of its block."""
        return self.deadline.is_over or (self.is_here and (self._is_closed or self.stopped_by != ""))

    def go_on(self) -> bool:
        """Say the opposite, anew each time it is asked."""
        return not self.should_stop

    @property
    def need_not_begin(self) -> bool:
        """Whether a chain that has not begun can be left out: it is time to stop, and another has or makes a result."""
        return self.is_here and self.should_stop and (self._n_done > 0 or self._obliged is not None)

    def may_leave(self, number: int) -> bool:
        """Say whether a chain without a result may end without one: it is time to stop, and another will have one.

        Where no other will, the chain that asks is obliged to return a result.
        """
        if not self.is_here or not self.should_stop:
            return False
        with self._changed:
            if self._n_done == 0 and self._obliged is None:
                self._obliged = number
            return self._obliged != number

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
            if self._is_closed:
                raise RuntimeError("The fit was stopped before this chain began.")
            self._n_working += 1
        try:
            yield
            self._n_done += 1
        finally:
            with self._changed:
                self._n_working -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Stop every chain, and wait until they have: after an exception other threads are still at work."""
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: self._n_working == 0)

    @contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C stop the chains instead of raising KeyboardInterrupt, which it does if it comes twice.

        Only where Python would raise it: on the main thread, and if nobody else handles the signal. While the main
        thread waits for a compilation and no chain has a result, it raises at once.
        """
        alone = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if not alone:
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            now = monotonic()
            again = now - StopSignal._last_interrupt < SECONDS_BETWEEN_INTERRUPTS
            StopSignal._last_interrupt = now
            if again:
                signal.default_int_handler(number, frame)
            if self._n_done == 0 and main_thread_waits():
                raise KeyboardInterrupt(NO_MODEL)
            self.stop(INTERRUPTED)

        signal.signal(signal.SIGINT, handle)
        try:
            with heeding_stops(lambda: self._n_done == 0 and self.stopped_by == INTERRUPTED):
                yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
