"""Whether Ctrl-C was pressed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticed_interrupt() -> Iterator[threading.Event]:
    """Notice Ctrl-C, and hand it on: a fit may end well then, with the best model so far."""
    noticed = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    # Signals come to the main thread, and some programs are told to ignore them.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield noticed
        return

    def notice(number: int, frame: FrameType | None) -> None:
        noticed.set()
        before(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield noticed
    finally:
        signal.signal(signal.SIGINT, before)
