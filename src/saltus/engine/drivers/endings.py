"""Why a search stops after a round, in words."""

from collections.abc import Sequence

from saltus._typing import Floats
from saltus.engine.drivers.chain import Settings
from saltus.engine.drivers.stop import INTERRUPTED, STOPPED_BY_CALLBACK, StopSignal
from saltus.engine.problem.criteria import count_near
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import spaced

# What is said of a search that was ended before its time.
EARLY_ENDS = {
    INTERRUPTED: "The search stopped: Ctrl-C interrupted it.",
    STOPPED_BY_CALLBACK: "The search stopped: a callback asked it to.",
}


def why_stop(
    values: Floats, history: Sequence[float], settings: Settings, stop_signal: StopSignal, design: Design
) -> str:
    """Say why to stop after a round, or nothing.

    Parameters
    ----------
    values : (n_chains,)
        The best log pi of each chain.
    history : sequence of float
        The best log pi of all chains after each round.
    """
    if stop_signal.stopped_by:
        return EARLY_ENDS.get(stop_signal.stopped_by, f"The search stopped: {stop_signal.stopped_by}.")
    if stop_signal.deadline.is_over:
        return f"The search stopped: its time limit (max_time) of {settings.max_seconds:g} s was over."
    if settings.n_iter is not None:
        who = f"each of its {len(values)} chains" if len(values) > 1 else "its only chain"
        return f"The search finished: {who} ran {spaced(settings.n_iter)} iterations."
    patience = settings.patience
    if settings.grows and patience is not None:
        n_iter = sum(settings.iterations_of_round(history[:n_rounds], design) for n_rounds in range(len(history)))
        said = f"The search finished: each of its {len(values)} chains grew a network"
        return f"{said}, and annealed it for {spaced(n_iter)} iterations." if len(history) >= patience else ""
    if patience is None or len(history) <= patience:
        return ""
    near = settings.resolution(design)
    n_near = count_near(values, near)
    if n_near > len(values) / 2 and len(values) > 1:
        return (
            f"The search stopped: {n_near} of {len(values)} chains ended within {near:.3g} of the best log posterior."
        )
    if history[-1] < history[-1 - patience] + near:
        n_iter = sum(
            settings.iterations_of_round(history[:n_rounds], design)
            for n_rounds in range(len(history) - patience, len(history))
        )
        return (
            f"The search stopped: the last {spaced(n_iter)} iterations of each chain found no better model (none that "
            f"gains {near:.3g} in log posterior)."
        )
    return ""


def remedy(settings: Settings, stop_signal: StopSignal) -> str:
    """Say what would let the search go on for longer."""
    if stop_signal.stopped_by:
        return "a fit that is left to end by itself"
    if stop_signal.deadline.is_over:
        return "a larger max_time"
    return "a larger n_iter" if settings.n_iter is not None else "a larger patience or n_chains"
