"""The annealing driver: chains in parallel, round after round."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from saltus.engine.drivers.chain import Chain, Settings
from saltus.engine.drivers.checkpoints import Checkpoint, Checkpointer, SavedChain
from saltus.engine.drivers.endings import remedy, why_stop
from saltus.engine.drivers.events import Listener
from saltus.engine.drivers.rounds import run_round
from saltus.engine.drivers.stop import StopSignal
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import AnnealResult, BestState


def anneal(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
    checkpointer: Checkpointer | None = None,
    resumed: Checkpoint | None = None,
) -> AnnealResult:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise.

    Where the design has several variants, so have chains. With `resumed`, chains go on from there instead. Ctrl-C ends
    the fit with what chains have, if they are on threads.
    """
    stop_signal = StopSignal(settings.seconds_left)
    n_variants = len(design.variants)
    chains = [
        Chain(np.random.default_rng(seed), variant=(number + 1) % n_variants) for number, seed in enumerate(seeds)
    ]
    history: list[float] = []
    if resumed is not None:
        chains = [Chain.restored(saved) for saved in resumed.chains if isinstance(saved, SavedChain)]
        history = list(resumed.history)
    ending = ""
    with stop_signal.heeding_interrupts() if shares_memory() else nullcontext():
        try:
            while not ending:
                if checkpointer is not None:
                    checkpointer.begin([chain.saved(is_done=chain.is_done) for chain in chains], history)
                n_iter = settings.iterations_of_round(history, design)
                jobs = (
                    delayed(run_round)(chain, design, settings, n_iter, stop_signal, number, listener, checkpointer)
                    for number, chain in enumerate(chains)
                )
                chains = [
                    replace(chain, is_done=False, halfway=None)
                    for chain in Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
                ]
                values = np.array([chain.result.best.log_posterior for chain in chains if chain.result is not None])
                history.append(float(values.max()))
                ending = why_stop(values, history, settings, stop_signal, design)
                best = max((chain.result.best for chain in chains if chain.result), key=lambda b: b.log_posterior)
                chains = [restart_if_behind(chain, best, design, settings) for chain in chains]
        finally:
            stop_signal.close()
            if checkpointer is not None:
                checkpointer.close()
    results = tuple(chain.result for chain in chains if chain.result is not None)
    return AnnealResult.from_chains(
        results,
        ending=ending,
        ended_early=stop_signal.stopped_by,
        remedy=remedy(settings, stop_signal),
        near=settings.resolution(design),
    )


def shares_memory() -> bool:
    """Say whether chains run in this process."""
    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "supports_sharedmem", False))


def restart_if_behind(chain: Chain, best: BestState, design: Design, settings: Settings) -> Chain:
    """Let a chain that is hopelessly behind start again elsewhere, as one of the best's variant.

    What it found stays in its result.
    """
    if chain.result is None:
        return chain
    state = chain.result.best
    cost = design.variants[chain.variant].cost_of_a_term(state.network.terms)
    unit = max(cost, settings.resolution(design))
    if state.log_posterior > best.log_posterior - settings.policy.behind * unit:
        return chain
    return replace(chain, terms=None, standing=None, variant=best.variant)
