"""Descents of a round: from random starts to where a chain begins, and from where the annealed part of it ends."""

from saltus.engine.drivers.annealing import Annealing
from saltus.engine.drivers.chain import RoundTask
from saltus.engine.drivers.monitor import Monitor
from saltus.engine.kernels.state import State
from saltus.engine.results.chains import BestState
from saltus.engine.search.growth import grow_and_descend, grow_best, refine
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.pruning import GoOn, prune
from saltus.engine.search.starts import (
    count_starts,
    descend_from_starts,
    starting_terms,
)
from saltus.families.terms import TermSet, terms_as_value

# Values of log pi nearer than this are the same.
ROUNDING_ERROR = 1e-6


def find_start(task: RoundTask, state: State, landscape: Landscape | None, go_on: GoOn) -> TermSet:
    """Find the terms that a chain starts with. Mutates its generator and its state."""
    design, settings, rng = task.design, task.settings, task.chain.rng
    if settings.start is not None:
        return design.mixture.encode(settings.start)
    if not settings.descend or landscape is None:
        return starting_terms(rng, design, many=False)

    def descend(landscape: Landscape, terms: TermSet) -> Candidate:
        return prune(landscape, landscape.candidate(terms), go_on)

    descends = task.designs.descends
    if descends[task.number % len(descends)]:
        n_terms = landscape.policy.terms_of_long_descent(design.problem.n_total)
        return grow_and_descend(rng, design, landscape, state, go_on, n_terms).terms
    if design.mixture.chooses_inputs:
        grown = grow_best(rng, design, state, landscape.policy, go_on)
        return grown if task.samples else refine(landscape, grown, go_on).terms
    starts = [starting_terms(rng, design, many=True) for _ in range(count_starts(design))]
    return descend_from_starts(rng, design, landscape, starts, descend, go_on).terms


def polish(annealing: Annealing, landscape: Landscape, monitor: Monitor) -> list[BestState]:
    """Descend from the best state and from the last, or one of them; enter what is found into the record."""
    state, record, settings = annealing.state, annealing.record, annealing.task.settings
    starts = []
    if record.best_log_posterior[0] > annealing.started_at + ROUNDING_ERROR or not settings.descend:
        starts.append(terms_as_value(record.best))
    is_near_best = landscape.has_many_rows or annealing.task.samples
    if settings.n_iter is None and not (starts and is_near_best):
        starts.append(terms_as_value(state.terms))
    go_on = monitor.telling(annealing.progress)
    optima = []
    for terms in starts:
        if not monitor.stop_signal.go_on():
            break
        start = landscape.candidate(terms)
        is_large = annealing.task.design.mixture.chooses_inputs
        found = refine(landscape, terms, go_on) if is_large else prune(landscape, start, go_on)
        if not monitor.stop_signal.go_on() and found.log_posterior <= start.log_posterior:
            break  # not worth a factor
        optima.append(annealing.enter(found))
    return optima
