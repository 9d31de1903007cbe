"""One round of one chain: annealed in blocks from where it stands, then descents and hops from where that ends."""

from dataclasses import dataclass

from saltus.engine.drivers.annealing import Annealing, prepare_block
from saltus.engine.drivers.chain import Chain, RoundTask, Settings
from saltus.engine.drivers.checkpoints import Checkpointer
from saltus.engine.drivers.descents import find_start, polish
from saltus.engine.drivers.events import Listener, Progress
from saltus.engine.drivers.hopping import Hops, heats, start_of_hops
from saltus.engine.drivers.monitor import Monitor
from saltus.engine.drivers.saving import RoundSaver
from saltus.engine.drivers.stop import StopSignal
from saltus.engine.drivers.summaries import chain_after
from saltus.engine.kernels.state import start_state
from saltus.engine.problem.design import Design
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.starts import set_independent_terms, set_terms


@dataclass(frozen=True)
class Begun:
    """A round that has begun."""

    annealing: Annealing
    landscape: Landscape | None  # None: without descents


def run_round(
    chain: Chain,
    design: Design,
    settings: Settings,
    n_iter: int,
    stop_signal: StopSignal,
    number: int = 0,
    listener: Listener | None = None,
    checkpointer: Checkpointer | None = None,
) -> Chain:
    """Anneal for n_iter iterations from the best state of the chain, or its start; descend from where that ends.

    The chain comes back as it was if it is time to stop before the first iteration, and the fit has a result without
    this round.
    """
    if chain.is_done or stop_signal.need_not_begin or (stop_signal.should_stop and chain.result is not None):
        return chain
    with stop_signal.working():
        saver = RoundSaver(checkpointer, number, chain.saved())
        monitor = Monitor(stop_signal, listener)
        task = RoundTask(chain, design, settings, n_iter, number)
        begun = begin_round(task, monitor)
        if begun is None:
            return chain
        annealing, landscape = begun.annealing, begun.landscape
        for _ in annealing.run():
            monitor.tell(annealing.progress)
            saver.save_halfway(annealing)
            if stop_signal.should_stop:
                break
        optima, standing = [], chain.standing
        if landscape is not None:
            if settings.polish and not task.is_hops_alone:
                optima = polish(annealing, landscape, monitor)
            start = start_of_hops(annealing, landscape, optima) if stop_signal.go_on() else None
            if start is not None:
                hops = Hops(annealing, landscape, start)
                optima += hops.run(heats(task, stop_signal.deadline), monitor)
                standing = hops.at
        after = chain_after(annealing, optima, standing, is_stopped=stop_signal.should_stop)
        if stop_signal.go_on():
            saver.save_end(after, only_if_due=task.is_hops_alone)
        return after


def begin_round(task: RoundTask, monitor: Monitor) -> Begun | None:
    """Put a chain where its round starts, or goes on; nothing where it turns out on the way that it need not begin.

    Making the landscape and the state, descending and factoring may each take long: hence it is asked after each.
    """
    chain, design, settings = task.chain, task.design, task.settings
    has_descents = settings.descend or settings.polish
    landscape = Landscape.of(design, chain.rng, policy=settings.policy) if has_descents else None
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    if need_not_begin(task, monitor.stop_signal):
        return None
    if landscape is not None:
        prepare_block(task, state)
    if chain.halfway is not None:
        annealing = Annealing.resumed(task, state, chain.halfway)
    else:
        if chain.terms is not None:
            set_terms(design, state, chain.terms)
        else:
            # A descent is cold, and until it ends there is nothing but the linear term.
            best = float(state.log_posterior[0]) + design.log_posterior_shift
            cold = Progress(task.number, task.n_before, int(state.terms.k[0]), best, temperature=0.0, acceptance=0.0)
            terms = find_start(task, state, landscape, monitor.telling(lambda: cold))
            if need_not_begin(task, monitor.stop_signal):
                return None
            set_independent_terms(design, state, terms)
        annealing = Annealing.begun(task, state)
    return None if need_not_begin(task, monitor.stop_signal) else Begun(annealing, landscape)


def need_not_begin(task: RoundTask, stop_signal: StopSignal) -> bool:
    """Say whether it is time to stop, and the fit has a result without this round."""
    return stop_signal.should_stop and (task.chain.result is not None or stop_signal.may_leave(task.number))
