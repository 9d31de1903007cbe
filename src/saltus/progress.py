"""A single calm line that says how a fit is going."""

import sys
from threading import Lock
from time import monotonic
from typing import Any

SECONDS_BETWEEN_LINES = 0.1


class ProgressLine:
    """Draws over itself on standard error, at most ten times a second. Silent in another process."""

    def __init__(self, n_chains: int, n_iter: int | None) -> None:
        self._total = None if n_iter is None else n_chains * n_iter
        self._done = [0] * n_chains
        self._best = -float("inf")
        self._best_n_bases = 0
        self._last = 0.0
        self._lock: Lock | None = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None}

    def __call__(self, chain: int, done: int, n_bases: int, best: float) -> None:
        """Take note of a chain; draw the line if it is time."""
        if self._lock is None:
            return
        with self._lock:
            self._done[chain] = done
            if best > self._best:
                self._best, self._best_n_bases = best, n_bases
            now = monotonic()
            if now - self._last >= SECONDS_BETWEEN_LINES:
                self._last = now
                self._draw()

    def close(self) -> None:
        """Draw the line a last time and end it. Chains in other processes are not heard of, and draw none."""
        if self._lock is not None and any(self._done):
            with self._lock:
                self._draw()
                print(file=sys.stderr, flush=True)
                self._last = float("inf")

    def _draw(self) -> None:
        n_done = sum(self._done)
        share = f"{n_done:,d} iterations" if self._total is None else f"{n_done / max(self._total, 1):4.0%}"
        line = f"saltus {share}  best log posterior {self._best:.4f} with k = {self._best_n_bases}"
        print(f"\r{line:<78}", end="", file=sys.stderr, flush=True)
