"""A single calm line that says how a fit is going, and callbacks that are told."""

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from saltus._compile import COMPILING, when_compiling
from saltus.engine.drivers.events import Progress

SECONDS_BETWEEN_REPORTS = 0.1
LINE_LENGTH = 78

SECONDS_BETWEEN_TICKS = 1.0

# How long a fit will take is said after it has been watched for so many seconds.
SECONDS_TO_JUDGE_BY = 1.0

Callback = Callable[[Progress], object]
ToCriterion = Callable[[float], float]  # of the log posterior

# One line at a time: fits on other threads stay silent.
_line_is_taken = Lock()


class Ticker:
    """Says how long a fit has been looking for a first network, until chains begin: on terminals, once a second."""

    def __init__(self, *, draws: bool) -> None:
        self._draws = draws and sys.stderr.isatty() and multiprocessing.current_process().name == "MainProcess"
        self._over = Event()
        self._thread = Thread(target=self._tick, daemon=True)

    def __enter__(self) -> "Ticker":
        if self._draws:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Fall silent, and leave the line to others."""
        if self._draws and not self._over.is_set():
            self._over.set()
            self._thread.join()

    def _tick(self) -> None:
        began = monotonic()
        while not self._over.wait(SECONDS_BETWEEN_TICKS):
            text = f"saltus looks for a first network: {monotonic() - began:.0f} s"
            print(f"\r{text:<{LINE_LENGTH}}", end="", file=sys.stderr, flush=True)


class Reporter:
    """Tells callbacks and draws a line, at most ten times a second each. Silent in another process.

    Used as a context manager, and called by chains. What a callback returns, if it is true, stops the fit. A search
    gives `to_criterion`, and the line shows the best value; a sampler does not, and it shows the present state.
    """

    def __init__(
        self,
        n_chains: int,
        n_iter: int | None,
        *,
        max_seconds: float | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
        to_criterion: ToCriterion | None = None,
        ticker: Ticker | None = None,
    ) -> None:
        self._ticker = ticker
        self._line = Line(n_chains, n_iter, max_seconds, to_criterion) if verbose else None
        self._callbacks = callbacks
        self._last = -float("inf")
        self._lock: Lock | None = Lock()
        self._open = ExitStack()

    def __getstate__(self) -> dict[str, Any]:
        return {"_line": None, "_ticker": None, "_callbacks": (), "_last": 0.0, "_lock": None}

    def __enter__(self) -> "Reporter":
        if self._line is not None and self._line.draws:
            self._open.enter_context(when_compiling(lambda: print(COMPILING, file=sys.stderr, flush=True)))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        if self._line is not None:
            self._line.close()

    def __call__(self, progress: Progress) -> bool:
        """Take note of a chain; report if it is time. Returns whether to stop."""
        if self._lock is None:
            return False
        with self._lock:
            is_time = monotonic() - self._last >= SECONDS_BETWEEN_REPORTS
            has_begun = progress.iteration > 0
            if self._ticker is not None and has_begun:
                self._ticker.stop()
            if self._line is not None:
                self._line.update(progress, draw=is_time and has_begun)
            if not is_time:
                return False
            self._last = monotonic()
            said = [callback(progress) for callback in self._callbacks]
            return any(map(bool, said))


class NotebookLine:
    """A line of a notebook that is replaced: one that is executed to a page keeps the last."""

    def __init__(self) -> None:
        self._handle: Any = None

    def write(self, text: str) -> None:
        """Replace the line."""
        from IPython.display import display

        shown = {"text/plain": text}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


class Line:
    """Draws over itself on a terminal or in a notebook; elsewhere it is drawn once, at the end."""

    def __init__(
        self,
        n_chains: int,
        n_iter: int | None,
        max_seconds: float | None,
        to_criterion: ToCriterion | None,
    ) -> None:
        in_worker = multiprocessing.current_process().name != "MainProcess"
        self.draws = not in_worker and _line_is_taken.acquire(blocking=False)
        self._is_live = sys.stderr.isatty()
        self._cell = NotebookLine() if "ipykernel" in sys.modules else None
        self._began = monotonic()
        self._total = None if n_iter is None else n_chains * n_iter
        self._max_seconds = max_seconds
        self._to_criterion = to_criterion
        self._done = [0] * n_chains
        self._done_at_first: dict[int, int] = {}  # by chains that were heard of after their first block
        self._watched_since = 0.0
        self._best: Progress | None = None  # or the latest, when sampling
        self._acceptance = 0.0

    def update(self, progress: Progress, *, draw: bool) -> None:
        """Take note of a chain, and draw the line if asked."""
        self._done[progress.chain] = progress.iteration
        self._acceptance = progress.acceptance
        if progress.iteration > 0 and progress.chain not in self._done_at_first:
            # The first block of the first chain may have been compiled.
            self._watched_since = self._watched_since or monotonic()
            self._done_at_first[progress.chain] = progress.iteration
        is_newer = self._to_criterion is None or progress.n_passes > 0
        if is_newer or self._best is None or progress.best >= self._best.best:
            self._best = progress
        if draw and self.draws and self._cell is not None:
            self._cell.write(self._text() + self._time_left())
        elif draw and self.draws and self._is_live:
            print(f"\r{self._text() + self._time_left():<{LINE_LENGTH}}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Draw the line a last time and end it. Chains in other processes are not heard of, and draw none."""
        if not self.draws:
            return
        if self._best is not None and self._cell is not None:
            self._cell.write(self._text())
        elif self._best is not None:
            print(f"{chr(13) * self._is_live}{self._text():<{LINE_LENGTH}}", file=sys.stderr, flush=True)
        self.draws = False
        _line_is_taken.release()

    def _text(self) -> str:
        assert self._best is not None
        if self._best.n_passes > 0:
            return f"saltus asks all rows: {self._best.n_passes} passes  k = {self._best.n_terms}"
        n_done = sum(self._done)
        share = f"{n_done:,d} iterations" if self._total is None else f"{n_done / max(self._total, 1):4.0%}"
        value = f"log posterior {self._best.best:.2f}"
        if self._to_criterion is not None:
            value = f"best criterion {self._to_criterion(self._best.best):.2f}"
        return f"saltus {share}  k = {self._best.n_terms}  {value}  accepted {self._acceptance:.0%}"

    def _time_left(self) -> str:
        """Say how long it will take, where that can be known."""
        if self._best is not None and self._best.n_passes > 0 and self._max_seconds is None:
            return ""
        now = monotonic()
        left = []
        n_done, watched = sum(self._done), now - self._watched_since
        n_watched = sum(self._done[chain] - first for chain, first in self._done_at_first.items())
        if self._total is not None and n_watched > 0 and watched >= SECONDS_TO_JUDGE_BY:
            left.append(watched * (self._total - n_done) / n_watched)
        if self._max_seconds is not None:
            left.append(max(self._max_seconds - (now - self._began), 0.0))
        return f"  {min(left):.0f} s left" if left else ""
