"""The annealing driver: chains in blocks, in parallel, with the best state kept."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed

from saltus._typing import Floats, Ints
from saltus.engine.chain import (
    Record,
    State,
    Tuning,
    log_density,
    run_block,
    start_record,
    start_state,
)
from saltus.engine.crew import Crew
from saltus.engine.design import Design
from saltus.engine.factor import independent_columns, refactor
from saltus.engine.network import Network, network_from_factor
from saltus.engine.result import AnnealResult, BestState, ChainResult, Snapshot, Trace, count_moves
from saltus.schedules import Schedule

# A block of steps runs without looking up for about this many seconds.
BLOCK_SECONDS = 0.03

# The factor is built anew from its columns at multiples of this many iterations, so that rounding cannot
# build up. A multiple of the iteration, not of the block: a chain is the same however its blocks fall.
ITERATIONS_BETWEEN_REBUILDS = 10_000

# Traces longer than this are thinned.
LONGEST_TRACE = 100_000

# Networks kept along the way, at iterations that grow geometrically.
N_SNAPSHOTS = 100

# A random start has at most this many centres.
MOST_STARTING_CENTERS = 20

# (chain, iterations done, number of bases, best log posterior so far)
Listener = Callable[[int, int, int, float], None]


@dataclass(frozen=True)
class Settings:
    """How chains run."""

    n_iter: int
    schedule: Schedule
    tuning: Tuning
    start: Floats | None  # (k, d) in the unit cube, or None for a random start


def anneal(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
) -> AnnealResult:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise."""
    crew = Crew()
    jobs = (
        delayed(run_chain)(seed, design, settings, crew=crew, number=number, listener=listener)
        for number, seed in enumerate(seeds)
    )
    try:
        chains = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
    finally:
        crew.dismiss()
    return AnnealResult.from_chains(tuple(chains))


def run_chain(
    seed: np.random.SeedSequence,
    design: Design,
    settings: Settings,
    *,
    crew: Crew,
    number: int = 0,
    listener: Listener | None = None,
) -> ChainResult:
    """Run one annealed chain from start to end."""
    with crew.working():
        rng = np.random.default_rng(seed)
        state = start_state(design.target, design.fixed.Q, design.Y)
        place_independent_centers(design, state, starting_centers(rng, design, settings.start))
        stride = -(-settings.n_iter // LONGEST_TRACE)
        record = start_record(state, -(-settings.n_iter // stride))
        snapshots = []
        done = 0
        for done in _run_blocks(rng, design, settings, state, record, stride):
            if done in _snapshot_iterations(settings.n_iter):
                snapshots.append(Snapshot(done, present_network(design, state)))
            if listener is not None:
                best_so_far = float(record.best_log_posterior[0]) + design.log_posterior_shift
                listener(number, done, int(record.best_k[0]), best_so_far)
            if crew.is_dismissed:
                break
        return _chain_result(design, settings, state, record, tuple(snapshots), done)


def _run_blocks(
    rng: np.random.Generator, design: Design, settings: Settings, state: State, record: Record, stride: int
) -> Iterator[int]:
    """Run the chain; yield the number of iterations done, at the start and after every block."""
    halts = sorted({*_snapshot_iterations(settings.n_iter), settings.n_iter})
    n_wanted = 1
    done = 0
    yield done
    while done < settings.n_iter:
        until_rebuild = ITERATIONS_BETWEEN_REBUILDS - done % ITERATIONS_BETWEEN_REBUILDS
        until_halt = halts[bisect_right(halts, done)] - done
        n_most = min(until_rebuild, until_halt)
        temperature = _temperatures(settings, np.arange(done, done + n_most))
        began = perf_counter()
        n_done = run_block(
            rng, design.target, settings.tuning, state, record, temperature, min(n_wanted, n_most), done, stride
        )
        n_wanted = _next_length(n_done, perf_counter() - began)
        done += n_done
        if done % ITERATIONS_BETWEEN_REBUILDS == 0:
            place_centers(design, state, state.centers[: state.k[0]].copy())
        yield done


def _temperatures(settings: Settings, iteration: Ints) -> Floats:
    temperature = np.asarray(settings.schedule.temperature(iteration, settings.n_iter), dtype=np.float64)
    if temperature.shape != iteration.shape or not (np.isfinite(temperature) & (temperature > 0)).all():
        raise ValueError(
            f"schedule.temperature must return a positive number for each of the {iteration.size} iterations it is "
            f"given. Got {temperature!r} from {settings.schedule!r}."
        )
    return temperature


def _chain_result(
    design: Design,
    settings: Settings,
    state: State,
    record: Record,
    snapshots: tuple[Snapshot, ...],
    done: int,
) -> ChainResult:
    shift = design.log_posterior_shift
    place_centers(design, state, record.best_centers[: record.best_k[0]])
    best = BestState(
        network=present_network(design, state),
        rss=state.factor.rss * design.outputs.scale**2,
        log_posterior=float(state.log_posterior[0]) + shift,
        iteration=int(record.best_iteration[0]),
    )
    index = np.arange(0, done, -(-settings.n_iter // LONGEST_TRACE))
    return ChainResult(
        trace=Trace(
            iteration=index + 1,
            n_bases=record.trace_k[: index.size],
            log_posterior=record.trace_log_posterior[: index.size] + shift,
            temperature=_temperatures(settings, index),
        ),
        moves=count_moves(record.counts),
        best=best,
        best_by_n_bases={k: float(value) + shift for k, value in enumerate(record.best_by_k) if np.isfinite(value)},
        snapshots=snapshots,
        n_iter=done,
        status=f"Finished {done} iterations; the best state was reached after {best.iteration}.",
    )


def place_centers(design: Design, state: State, centers: Floats) -> None:
    """Make `centers` (k, d) of the unit cube the state, factored from scratch. Mutates the state. O(N m^2)."""
    refactor(state.factor, design.fixed.Q, design.Y, design.columns(centers))
    k = len(centers)
    state.centers[:k] = centers
    state.k[0] = k
    state.log_posterior[0] = log_density(design.target, state.factor.rss, k)


def place_independent_centers(design: Design, state: State, centers: Floats) -> None:
    """Do the same, leaving out centres whose basis functions are in the span of those before them."""
    while True:
        squared = (design.columns(centers) ** 2).sum(axis=0)
        place_centers(design, state, centers)
        independent = independent_columns(state.factor, design.target.m_fixed, squared)
        if independent.all():
            return
        centers = centers[independent]


def present_network(design: Design, state: State) -> Network:
    """Solve for the coefficients of the present state."""
    return network_from_factor(design, state.centers[: state.k[0]], state.factor)


def starting_centers(rng: np.random.Generator, design: Design, start: Floats | None) -> Floats:
    """Draw a random number of random centres (k, d) of the unit cube, unless a start is given."""
    if start is not None:
        return start
    k = rng.integers(0, min(design.k_max, MOST_STARTING_CENTERS), endpoint=True)
    return rng.random((int(k), design.target.to_metric.shape[1]))


@cache
def _snapshot_iterations(n_iter: int) -> frozenset[int]:
    return frozenset({0, n_iter, *np.geomspace(1, n_iter, N_SNAPSHOTS).round().astype(int).tolist()})


def _next_length(n_done: int, seconds: float) -> int:
    """Choose the length of the next block, growing slowly: the first call may include compilation."""
    wanted = int(n_done * BLOCK_SECONDS / max(seconds, 1e-9))
    return min(max(wanted, 1), 4 * n_done)
