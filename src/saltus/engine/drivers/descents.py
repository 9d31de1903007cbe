"""Descents of a round: from random starts to where a chain begins, and from where the annealed part of it ends."""

from saltus._typing import Floats
from saltus.engine.drivers.annealing import Annealing
from saltus.engine.drivers.chain import RoundTask
from saltus.engine.drivers.monitor import Monitor
from saltus.engine.results.chains import BestState
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.pruning import GoOn, prune
from saltus.engine.search.starts import (
    best_terms,
    count_starts,
    descend_from_starts,
    present_parameters,
    starting_parameters,
)

# Values of log pi nearer than this are the same.
ROUNDING_ERROR = 1e-6


def find_start(task: RoundTask, landscape: Landscape | None, go_on: GoOn) -> tuple[Floats, Floats]:
    """Find the parameters (k, p) of the terms that a chain starts with, and shared ones (s,). Mutates its generator."""
    design, settings, rng = task.design, task.settings, task.chain.rng
    if settings.start is not None:
        return design.family.encode(settings.start), design.family.starting_shared
    if not settings.descend or landscape is None:
        return starting_parameters(rng, design, many=False), design.family.starting_shared

    def descend(landscape: Landscape, parameters: Floats, shared: Floats) -> Candidate:
        return prune(landscape, landscape.candidate(parameters, shared), go_on)

    starts = [starting_parameters(rng, design, many=True) for _ in range(count_starts(design))]
    found = descend_from_starts(rng, design, landscape, starts, descend, go_on)
    return found.parameters, found.shared


def polish(annealing: Annealing, landscape: Landscape, monitor: Monitor) -> list[BestState]:
    """Descend from the best state and from the last, or one of them; enter what is found into the record."""
    state, record, settings = annealing.state, annealing.record, annealing.task.settings
    starts = []
    if record.best_log_posterior[0] > annealing.started_at + ROUNDING_ERROR or not settings.descend:
        starts.append(best_terms(record))
    if settings.n_iter is None and not (starts and landscape.has_many_rows):
        starts.append((present_parameters(state), state.terms.shared.copy()))
    go_on = monitor.telling(annealing.progress)
    optima = []
    for parameters, shared in starts:
        if not monitor.stop_signal.go_on():
            break
        start = landscape.candidate(parameters, shared)
        found = prune(landscape, start, go_on)
        if not monitor.stop_signal.go_on() and found.log_posterior <= start.log_posterior:
            break  # not worth a factor
        optima.append(annealing.enter(found))
    return optima
