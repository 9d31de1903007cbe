"""The hops of a round: from one local optimum to the next, colder and colder."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from saltus.engine.drivers.annealing import Annealing
from saltus.engine.drivers.chain import RoundTask
from saltus.engine.drivers.descents import ROUNDING_ERROR
from saltus.engine.drivers.events import Progress
from saltus.engine.drivers.monitor import Monitor
from saltus.engine.drivers.stop import Deadline
from saltus.engine.results.chains import BestState
from saltus.engine.search.hops import HEAT, hop, is_taken
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.families.terms import terms_as_value

# Rounds that are longer than the first go on with hops, one for so many iterations more.
ITERATIONS_A_HOP = 1000
# Where time alone ends a fit, a chain hops for this share of it before it is another's turn.
SHARE_A_TURN = 1 / 64


class Hops:
    """The hops of a round, under way. Mutable: `run` carries them on."""

    def __init__(self, annealing: Annealing, landscape: Landscape, start: Candidate) -> None:
        self.annealing, self.landscape = annealing, landscape
        self.at = start
        self.heat = 0.0  # of the last hop, in units of log pi
        self.n_hops = self.n_taken = 0

    def run(self, shares_of_cost: Iterable[float], monitor: Monitor) -> list[BestState]:
        """Hop once for each heat, in units of what a term costs; return the best that was found, if new."""
        record, rng = self.annealing.record, self.annealing.task.chain.rng
        best = self.landscape.value(terms_as_value(record.best))
        cost = self.annealing.task.design.cost_of_a_term(self.at.terms)
        go_on = monitor.telling(self.progress)
        entered: list[BestState] = []
        for share_of_cost in shares_of_cost:
            self.heat = share_of_cost * cost
            found = hop(rng, self.landscape, self.at, cost, go_on)
            self.n_hops += 1
            if is_taken(rng, self.at, found, self.heat):
                self.at = found
                self.n_taken += 1
            if self.at.log_posterior > best + ROUNDING_ERROR:
                best = self.at.log_posterior
                entered.append(self.annealing.enter(self.at))
            if not go_on():
                break
        return entered[-1:]

    def progress(self) -> Progress:
        """Say how it is going."""
        return self.annealing.progress_at(self.heat, self.n_taken / max(self.n_hops, 1))


def start_of_hops(annealing: Annealing, landscape: Landscape, optima: Sequence[BestState]) -> Candidate | None:
    """Choose what hops start from: the best optimum of the round, or where they ended in the last turn of the chain."""
    task, state = annealing.task, annealing.state
    if not task.is_hops_alone:
        if not optima:
            return None
        network = max(optima, key=lambda optimum: optimum.log_posterior).network
        return landscape.candidate(network.terms)
    standing = task.chain.standing
    if standing is not None:
        return landscape.candidate(standing.terms)
    return landscape.candidate(terms_as_value(state.terms))


def heats(task: RoundTask, deadline: Deadline) -> Iterator[float]:
    """Say how hot each hop is, in units of what a term costs.

    Less and less in the course of the round, or of the time that was given. Networks that were grown do not hop.
    """
    hottest, coldest = HEAT
    if task.is_hops_alone:
        until = deadline.share_of_time + SHARE_A_TURN
        while (share := deadline.share_of_time) < until:
            yield hottest * (coldest / hottest) ** share
    elif task.settings.n_iter is None and not task.settings.grows:
        n_more = task.n_iter - task.settings.iterations_of_first_round(task.design)
        yield from np.geomspace(hottest, coldest, max(n_more // ITERATIONS_A_HOP, 0))
