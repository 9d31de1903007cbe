"""The annealing driver: chains in blocks, in parallel, with the best state kept."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Condition
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from saltus._typing import Floats
from saltus.engine.chain import (
    ACCEPTED,
    CHOSEN,
    FEASIBLE,
    Record,
    State,
    Tuning,
    log_density,
    run_block,
    start_record,
    start_state,
)
from saltus.engine.design import Design
from saltus.engine.factor import independent_columns, refactor
from saltus.engine.moves import MOVES
from saltus.engine.network import Network, network_from_factor
from saltus.engine.result import AnnealResult, BestState, ChainResult, MoveCount, Snapshot, Trace
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


class Crew:
    """Knows the chains at work on the threads of this process, and can send them home. In another, it does nothing."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._dismissed = False
        self._n_working = 0
        self._changed = Condition()

    def __getstate__(self) -> dict[str, Any]:
        return {"_process": self._process}

    @property
    def is_here(self) -> bool:
        """Whether this is the process that the fit was called in."""
        return self._process == os.getpid()

    @property
    def is_dismissed(self) -> bool:
        """Whether chains should stop at the end of their block."""
        return self.is_here and self._dismissed

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the caller in while it works. BLAS has one thread meanwhile, wherever this is."""
        if not self.is_here:
            with single_threaded_blas():
                yield
            return
        with self._changed:
            if self._dismissed:
                raise RuntimeError("The fit was stopped before this chain began.")
            self._n_working += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_working -= 1
                self._changed.notify_all()

    def dismiss(self) -> None:
        """Ask every chain to stop, and wait until they have: after Ctrl-C other threads are still at work."""
        with self._changed:
            self._dismissed = True
            self._changed.wait_for(lambda: self._n_working == 0)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Keep BLAS to one thread: its idle threads would spin on the cores that the chains need.

    Sums then have one order too, so that a chain is the same wherever it runs.
    """
    return _blas().limit(limits=1, user_api="blas")


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
    with single_threaded_blas():
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
        return _run_chain(seed, design, settings, crew, number, listener)


def _run_chain(
    seed: np.random.SeedSequence,
    design: Design,
    settings: Settings,
    crew: Crew,
    number: int,
    listener: Listener | None,
) -> ChainResult:
    rng = np.random.default_rng(seed)
    n_iter = settings.n_iter
    state = start_state(design.target, design.fixed.Q, design.Y)
    place_centers(design, state, _independent(design, state, _starting_centers(rng, design, settings.start)))
    stride = -(-n_iter // LONGEST_TRACE)
    record = start_record(state, -(-n_iter // stride))
    halts = set(_snapshot_iterations(n_iter))
    snapshots = [Snapshot(0, present_network(design, state))]
    n_wanted = 1
    done = 0
    while done < n_iter and not crew.is_dismissed:
        until_rebuild = ITERATIONS_BETWEEN_REBUILDS - done % ITERATIONS_BETWEEN_REBUILDS
        until_halt = min(halt for halt in halts if halt > done) - done
        n_most = min(until_rebuild, until_halt)
        temperature = settings.schedule.temperature(np.arange(done, done + n_most), n_iter)
        began = perf_counter()
        n_done = run_block(
            rng,
            design.target,
            settings.tuning,
            state,
            record,
            temperature,
            min(n_wanted, n_most),
            done,
            stride,
        )
        n_wanted = _next_length(n_done, perf_counter() - began)
        done += n_done
        if done % ITERATIONS_BETWEEN_REBUILDS == 0:
            place_centers(design, state, state.centers[: state.k[0]].copy())
        if done in halts:
            snapshots.append(Snapshot(done, present_network(design, state)))
        if listener is not None:
            best_so_far = float(record.best_log_posterior[0]) + design.log_posterior_shift
            listener(number, done, int(record.best_k[0]), best_so_far)
    place_centers(design, state, record.best_centers[: record.best_k[0]])
    best = BestState(
        network=present_network(design, state),
        rss=state.factor.rss * design.outputs.scale**2,
        log_posterior=float(state.log_posterior[0]) + design.log_posterior_shift,
        iteration=int(record.best_iteration[0]),
    )
    return ChainResult(
        trace=_trace(design, settings, record, stride, done),
        moves={
            name: MoveCount(int(row[CHOSEN]), int(row[FEASIBLE]), int(row[ACCEPTED]))
            for name, row in zip(MOVES, record.counts, strict=True)
        },
        best=best,
        best_by_n_bases={
            k: float(value) + design.log_posterior_shift
            for k, value in enumerate(record.best_by_k)
            if np.isfinite(value)
        },
        snapshots=tuple(snapshots),
        n_iter=done,
        status=f"Finished {done} iterations; the best state is that of iteration {best.iteration}.",
    )


def place_centers(design: Design, state: State, centers: Floats) -> None:
    """Make `centers` (k, d) of the unit cube the state, factored from scratch. Mutates the state. O(N m^2)."""
    refactor(state.factor, design.fixed.Q, design.Y, design.columns(centers))
    k = len(centers)
    state.centers[:k] = centers
    state.k[0] = k
    state.log_posterior[0] = log_density(design.target, state.factor.rss, k)


def _independent(design: Design, state: State, centers: Floats) -> Floats:
    """Leave out centres whose basis functions are in the span of those before them. Mutates the factor."""
    while True:
        Phi = design.columns(centers)
        squared = np.einsum("nk,nk->k", Phi, Phi)
        refactor(state.factor, design.fixed.Q, design.Y, Phi)
        independent = independent_columns(state.factor, design.fixed.Q.shape[1], squared)
        if independent.all():
            return centers
        centers = centers[independent]


def present_network(design: Design, state: State) -> Network:
    """Solve for the coefficients of the present state."""
    return network_from_factor(design, state.centers[: state.k[0]], state.factor)


def _starting_centers(rng: np.random.Generator, design: Design, start: Floats | None) -> Floats:
    if start is not None:
        return start
    k = rng.integers(0, min(design.k_max, MOST_STARTING_CENTERS), endpoint=True)
    return rng.random((int(k), design.target.to_metric.shape[1]))


def _snapshot_iterations(n_iter: int) -> list[int]:
    return sorted({int(i) for i in np.geomspace(1, n_iter, N_SNAPSHOTS).round()} | {n_iter})


def _next_length(n_done: int, seconds: float) -> int:
    """Choose the length of the next block, growing slowly: the first call may include compilation."""
    wanted = int(n_done * BLOCK_SECONDS / max(seconds, 1e-9))
    return min(max(wanted, 1), 4 * n_done)


def _trace(design: Design, settings: Settings, record: Record, stride: int, done: int) -> Trace:
    iteration = np.arange(0, done, stride)
    return Trace(
        iteration=iteration,
        n_bases=record.trace_k[: iteration.size],
        log_posterior=record.trace_log_posterior[: iteration.size] + design.log_posterior_shift,
        temperature=settings.schedule.temperature(iteration, settings.n_iter),
    )
