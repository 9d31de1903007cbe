"""What is left of a round when it is over: its report, and the chain as it goes on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from saltus.engine.drivers.annealing import Annealing
from saltus.engine.drivers.chain import Chain
from saltus.engine.drivers.schedules import temperatures
from saltus.engine.results.chains import BestState, ChainResult, Trace, count_moves, join_rounds
from saltus.engine.search.landscape import Candidate
from saltus.engine.search.starts import present_state, set_terms
from saltus.families.terms import terms_as_value


def summarize_round(annealing: Annealing, best: BestState, optima: Sequence[BestState]) -> ChainResult:
    """Report on a round, given its best state and its local optima."""
    record, stride = annealing.record, annealing.task.stride
    shift = annealing.task.design.log_posterior_shift
    index = np.arange(0, annealing.done, stride)
    return ChainResult(
        trace=Trace(
            iteration=index + 1,
            n_terms=record.trace_k[: index.size],
            log_posterior=record.trace_log_posterior[: index.size] + shift,
            temperature=temperatures(annealing.schedule, index, annealing.task.n_iter),
        ),
        moves=count_moves(record.counts),
        best=best,
        best_by_n_terms={k: float(value) + shift for k, value in enumerate(record.best_by_k) if np.isfinite(value)},
        local_optima=tuple(optima) or (best,),
        snapshots=tuple(annealing.snapshots),
        n_iter=annealing.done,
    )


def chain_after(
    annealing: Annealing, optima: Sequence[BestState], standing: Candidate | None, *, is_stopped: bool
) -> Chain:
    """Return the chain as it stands after a round, at its best state; hops go on from `standing`."""
    chain = _chain_at_best(annealing, optima, is_stopped=is_stopped)
    return replace(chain, standing=standing if chain.variant == annealing.task.chain.variant else None)


def _chain_at_best(annealing: Annealing, optima: Sequence[BestState], *, is_stopped: bool) -> Chain:
    chain, design = annealing.task.chain, annealing.task.design
    state, record, before = annealing.state, annealing.record, chain.result
    if is_stopped and before is not None and annealing.best <= before.best.log_posterior:
        return replace(chain, result=join_rounds(before, summarize_round(annealing, before.best, optima)))
    terms = terms_as_value(record.best)
    # Where it is time to stop, the factor is not built anew if the state is the best one already.
    if not (is_stopped and state.log_posterior[0] == record.best_log_posterior[0]):
        set_terms(design, state, terms)
    result = summarize_round(annealing, present_state(design, state, int(record.best_iteration[0])), optima)
    if before is not None:
        result = join_rounds(before, result)
        if before.best.log_posterior == result.best.log_posterior:
            # Another start was no better.
            best = result.best
            return Chain(chain.rng, best.network.terms, result, best.variant)
    return Chain(chain.rng, terms, result, chain.variant)
