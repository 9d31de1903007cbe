"""Between a chain at work and those who listen to it, or want it to stop."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from saltus.engine.drivers.events import Listener, Progress
from saltus.engine.drivers.stop import STOPPED_BY_CALLBACK, StopSignal
from saltus.engine.search.pruning import GoOn


@dataclass(frozen=True)
class Monitor:
    """Tells the listener how a chain is going, and the chain whether to stop."""

    stop_signal: StopSignal
    listener: Listener | None = None

    def tell(self, progress: Callable[[], Progress]) -> None:
        """Tell the listener, who may ask to stop."""
        if self.listener is not None and self.listener(progress()):
            self.stop_signal.stop(STOPPED_BY_CALLBACK)

    def go_on(self, progress: Callable[[], Progress]) -> bool:
        """Tell the listener, and say whether to go on."""
        self.tell(progress)
        return self.stop_signal.go_on()

    def telling(self, progress: Callable[[], Progress]) -> GoOn:
        """Give what descents ask again and again: it tells the listener, and says whether to go on."""
        return partial(self.go_on, progress)
