"""The annealing driver: chains in parallel, round after round."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from saltus._typing import Floats
from saltus.engine.drivers.checkpoints import Checkpoint, Logbook, SavedChain
from saltus.engine.drivers.events import Listener
from saltus.engine.drivers.rounds import Chain, Settings, run_round
from saltus.engine.drivers.stop import Crew
from saltus.engine.problem.criteria import count_near
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import AnnealResult, BestState
from saltus.engine.search.starts import cost_of_a_basis

# A chain this many times the cost of a basis function behind the best starts again, or, with many rows, this many times
# what is as good as the same.
BEHIND = 3.0


def anneal(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
    logbook: Logbook | None = None,
    resumed: Checkpoint | None = None,
) -> AnnealResult:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise.

    Where the design is of several kinds, so are chains. With `resumed`, chains go on from there instead. Ctrl-C ends
    the fit with what chains have, if they are on threads.
    """
    crew = Crew(settings.max_seconds)
    n_kinds = len(design.kinds)
    chains = [Chain(np.random.default_rng(seed), kind=(number + 1) % n_kinds) for number, seed in enumerate(seeds)]
    history: list[float] = []
    if resumed is not None:
        chains = [Chain.restored(saved) for saved in resumed.chains if isinstance(saved, SavedChain)]
        history = list(resumed.history)
    ending = ""
    with crew.heeding_interrupts() if shares_memory() else nullcontext():
        try:
            while not ending:
                if logbook is not None:
                    logbook.begin([chain.saved(is_done=chain.is_done) for chain in chains], history)
                n_iter = settings.iterations_of_round(history, design)
                jobs = (
                    delayed(run_round)(chain, design, settings, n_iter, crew, number, listener, logbook)
                    for number, chain in enumerate(chains)
                )
                chains = [
                    replace(chain, is_done=False, halfway=None)
                    for chain in Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
                ]
                values = np.array([chain.result.best.log_posterior for chain in chains if chain.result is not None])
                history.append(float(values.max()))
                ending = _why_stop(values, history, design.resolution, settings, crew)
                best = max((chain.result.best for chain in chains if chain.result), key=lambda b: b.log_posterior)
                chains = [_restart_if_behind(chain, best, design) for chain in chains]
        finally:
            crew.dismiss()
            if logbook is not None:
                logbook.close()
    results = tuple(chain.result for chain in chains if chain.result is not None)
    return AnnealResult.from_chains(results, ending, crew.stopped_by, _remedy(settings, crew), design.resolution)


def shares_memory() -> bool:
    """Say whether chains run in this process."""
    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "supports_sharedmem", False))


def _restart_if_behind(chain: Chain, best: BestState, design: Design) -> Chain:
    """Let a chain that is hopelessly behind start again elsewhere, as one of the best's kind.

    What it found stays in its result.
    """
    if chain.result is None:
        return chain
    state = chain.result.best
    kind = design.kinds[chain.kind]
    unit = max(cost_of_a_basis(kind, state.n_bases, state.relevance), design.resolution)
    if state.log_posterior > best.log_posterior - BEHIND * unit:
        return chain
    return replace(chain, centers=None, relevance=None, standing=None, kind=design.kind_of(best.places))


def _remedy(settings: Settings, crew: Crew) -> str:
    """Say what would let the search go on for longer."""
    if crew.stopped_by:
        return "a fit that is left to end by itself"
    if crew.is_late:
        return "a larger max_time"
    return "a larger n_iter" if settings.n_iter is not None else "a larger patience or n_chains"


def _why_stop(values: Floats, history: list[float], near: float, settings: Settings, crew: Crew) -> str:
    """Say why to stop after a round, or nothing; `near` as values are that are as good as the same."""
    if crew.stopped_by:
        return crew.stopped_by
    if crew.is_late:
        return f"Stopped by max_time after {settings.max_seconds:g} s"
    if settings.n_iter is not None:
        return "Finished"
    if settings.patience is None:
        return ""
    n_agree = count_near(values, near)
    if len(history) > settings.patience and n_agree > len(values) / 2 and len(values) > 1:
        return f"Stopped when {n_agree} chains agreed"
    if len(history) > settings.patience and history[-1] < history[-1 - settings.patience] + near:
        return f"Stopped when {settings.patience} round{'s' * (settings.patience > 1)} brought no improvement"
    return ""
