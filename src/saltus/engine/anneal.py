"""The annealing driver: chains in blocks, in parallel, with the best state kept."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed

from saltus._typing import Floats, Ints
from saltus.engine.chain import (
    Record,
    State,
    Tuning,
    count_active,
    log_density,
    run_block,
    run_learned_block,
    start_record,
    start_state,
)
from saltus.engine.crew import Crew
from saltus.engine.descent import Landscape
from saltus.engine.design import Design
from saltus.engine.factor import independent_columns, refactor
from saltus.engine.network import Network, network_from_factor
from saltus.engine.result import (
    AGREEMENT,
    AnnealResult,
    BestState,
    ChainResult,
    Snapshot,
    Trace,
    count_moves,
    join_rounds,
)
from saltus.schedules import Geometric, Schedule

# A block of steps runs without looking up for about this many seconds.
BLOCK_SECONDS = 0.03

# The factor is built anew from its columns at multiples of this many iterations, so that rounding cannot
# build up. A multiple of the iteration, not of the block: a chain is the same however its blocks fall.
ITERATIONS_BETWEEN_REBUILDS = 10_000

# Traces longer than this are thinned.
LONGEST_TRACE = 100_000
# The trace of rounds keeps one iteration in so many.
TRACE_STRIDE = 10

# Networks kept along the way, at iterations that grow geometrically.
N_SNAPSHOTS = 100

# A random start has at most this many centres.
MOST_STARTING_CENTERS = 20

# (chain, iterations done, number of bases, best log posterior so far)
Listener = Callable[[int, int, int, float], None]

# A schedule that is left to us starts at one of these multiples of what one more basis function costs, drawn for each
# round, and ends at the other. Which start is best depends on the problem: on robot arm data with a cubic basis the
# hottest, on Friedman 1 the coldest.
HOTTEST, COLDEST = (1 / 2, 1.0, 2.0), 1 / 80

# Fits without a given length run in rounds of this many iterations, each from the best state of the chain; of twice as
# many after a round that brought nothing, and so on up to the longest.
ITERATIONS_A_ROUND, MOST_ITERATIONS_A_ROUND = 30_000, 480_000
# Values of log pi nearer than this are the same.
ROUNDING_ERROR = 1e-6
# A round that improves the best value by less than this brought nothing.
IMPROVEMENT = 1.0
# A chain this many times the cost of a basis function behind the best starts again.
BEHIND = 3.0


@dataclass(frozen=True)
class Settings:
    """How chains run."""

    n_iter: int | None  # None: in rounds, until chains agree or `patience` rounds brought nothing
    schedule: Schedule | None  # None: by the cost of a basis function
    tuning: Tuning
    start: Floats | None  # (k, d) in the unit cube, or None for a random start
    descend: bool  # whether to go downhill from the start, and eliminate what is not needed
    polish: bool  # whether to do so at the end of a round
    patience: int = 1
    max_seconds: float | None = None

    def iterations_of_round(self, history: Sequence[float]) -> int:
        """Choose how long the next round is, given the best value after each of those before."""
        if self.n_iter is not None:
            return self.n_iter
        n_stale = 0
        for before, after in zip(history[-2::-1], history[:0:-1], strict=True):
            if after >= before + IMPROVEMENT:
                break
            n_stale += 1
        return int(min(ITERATIONS_A_ROUND * 2.0**n_stale, MOST_ITERATIONS_A_ROUND))


@dataclass(frozen=True)
class Chain:
    """A chain between rounds."""

    rng: np.random.Generator
    centers: Floats | None = None  # the best state so far, (k, d) and (q,)
    relevance: Floats | None = None
    result: ChainResult | None = None


def anneal(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
) -> AnnealResult:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise."""
    crew = Crew(settings.max_seconds)
    chains = [Chain(np.random.default_rng(seed)) for seed in seeds]
    history: list[float] = []
    ending = ""
    try:
        while not ending:
            jobs = (
                delayed(run_round)(
                    chain, design, settings, settings.iterations_of_round(history), crew, number, listener
                )
                for number, chain in enumerate(chains)
            )
            chains = list(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
            values = np.array([chain.result.best.log_posterior for chain in chains if chain.result is not None])
            history.append(float(values.max()))
            ending = _why_stop(values, history, settings, crew)
            chains = [_restart_if_behind(chain, history[-1], design) for chain in chains]
    finally:
        crew.dismiss()
    return AnnealResult.from_chains(tuple(chain.result for chain in chains if chain.result is not None), ending)


def _restart_if_behind(chain: Chain, best: float, design: Design) -> Chain:
    """Let a chain that is hopelessly behind start again elsewhere; what it found stays in its result."""
    if chain.result is None:
        return chain
    state = chain.result.best
    if state.log_posterior > best - BEHIND * cost_of_a_basis(design, state.n_bases, state.relevance):
        return chain
    return replace(chain, centers=None, relevance=None)


def _why_stop(values: Floats, history: list[float], settings: Settings, crew: Crew) -> str:
    """Say why to stop after a round, or nothing."""
    if crew.is_late:
        return f"Stopped by max_time after {settings.max_seconds:g} s"
    if settings.n_iter is not None:
        return "Finished"
    n_agree = int((values >= values.max() - AGREEMENT).sum())
    if len(history) > settings.patience and n_agree > len(values) / 2 and len(values) > 1:
        return f"Stopped when {n_agree} chains agreed"
    if len(history) > settings.patience and history[-1] < history[-1 - settings.patience] + IMPROVEMENT:
        return f"Stopped when {settings.patience} round{'s' * (settings.patience > 1)} brought no improvement"
    return ""


def run_round(
    chain: Chain,
    design: Design,
    settings: Settings,
    n_iter: int,
    crew: Crew,
    number: int = 0,
    listener: Listener | None = None,
) -> Chain:
    """Anneal for n_iter iterations from the best state of the chain, or its start; go downhill from where that ends."""
    with crew.working():
        rng = chain.rng
        landscape = Landscape.of(design, rng) if settings.descend or settings.polish else None
        state = start_state(design.target, design.fixed.Q, design.Y)
        if chain.centers is None or chain.relevance is None:
            _place_start(rng, design, settings, state, landscape, crew)
        else:
            place_centers(design, state, chain.centers, chain.relevance)
        n_before = 0 if chain.result is None else chain.result.n_iter
        stride = -(-n_iter // LONGEST_TRACE) if settings.n_iter is not None else TRACE_STRIDE
        record = start_record(state, -(-n_iter // stride))
        started_at = float(state.log_posterior[0])
        cost = cost_of_a_basis(design, int(state.k[0]), state.relevance)
        hottest = HOTTEST[rng.integers(len(HOTTEST))]
        schedule = settings.schedule or Geometric(hottest * cost, COLDEST * cost)
        snapshots = []
        done = 0
        keeps_many = settings.n_iter is not None
        for done in _run_blocks(rng, design, settings.tuning, schedule, n_iter, keeps_many, state, record, stride):
            if done in _snapshot_iterations(n_iter, keeps_many):
                snapshots.append(Snapshot(n_before + done, present_network(design, state)))
            if listener is not None:
                best_so_far = float(record.best_log_posterior[0]) + design.log_posterior_shift
                listener(number, n_before + done, int(record.best_k[0]), best_so_far)
            if crew.should_stop:
                break
        optima = []
        if landscape is not None and settings.polish:
            optima = _polish(design, settings, state, record, landscape, crew, started_at, done)
        place_centers(design, state, record.best_centers[: record.best_k[0]].copy(), record.best_relevance)
        result = _chain_result(design, schedule, n_iter, state, record, optima, tuple(snapshots), done, stride)
        result = result if chain.result is None else join_rounds(chain.result, result)
        if chain.result is not None and chain.result.best.log_posterior == result.best.log_posterior:
            # Another start was no better.
            return Chain(rng, result.best.network.centers_unit, result.best.relevance, result)
        return Chain(rng, state.centers[: state.k[0]].copy(), state.relevance.copy(), result)


def _place_start(
    rng: np.random.Generator, design: Design, settings: Settings, state: State, landscape: Landscape | None, crew: Crew
) -> None:
    """Put the state where the chain starts."""
    centers, relevance = starting_centers(rng, design, settings), starting_relevance(design)
    if settings.descend and landscape is not None and len(centers) > 0:
        found = landscape.prune(landscape.place(centers, relevance), lambda: not crew.should_stop)
        centers, relevance = found.centers, found.relevance
    state.relevance[:] = relevance
    place_independent_centers(design, state, centers)


def _polish(
    design: Design,
    settings: Settings,
    state: State,
    record: Record,
    landscape: Landscape,
    crew: Crew,
    started_at: float,
    done: int,
) -> list[BestState]:
    """Go downhill from the best state of a round and from its last; return what is found, entered into the record."""
    optima = []
    places = []
    if record.best_log_posterior[0] > started_at + ROUNDING_ERROR or not settings.descend:
        places.append((record.best_centers[: record.best_k[0]].copy(), record.best_relevance.copy()))
    if settings.n_iter is None:
        places.append((state.centers[: state.k[0]].copy(), state.relevance.copy()))
    for centers, relevance in places:
        found = landscape.prune(landscape.place(centers, relevance), lambda: not crew.should_stop)
        state.relevance[:] = found.relevance
        place_independent_centers(design, state, found.centers)
        note_improvement(state, record, done)
        optima.append(present_state(design, state, done))
    return optima


def cost_of_a_basis(design: Design, k: int, relevance: Floats) -> float:
    """Say what one more basis function costs; 1 where that is nothing."""
    penalty = design.target.penalty
    k = min(k, max(design.k_max - 1, 0))
    n_active = count_active(design.target, relevance)
    cost = float(penalty[min(k + 1, design.k_max), n_active] - penalty[k, n_active])
    return cost if cost > 0 else 1.0


def _run_blocks(
    rng: np.random.Generator,
    design: Design,
    tuning: Tuning,
    schedule: Schedule,
    n_iter: int,
    keeps_many: bool,
    state: State,
    record: Record,
    stride: int,
) -> Iterator[int]:
    """Run the chain; yield the number of iterations done, at the start and after every block."""
    halts = sorted(_snapshot_iterations(n_iter, keeps_many))
    run = run_learned_block if design.learns_metric else run_block
    n_wanted = 1
    done = 0
    yield done
    while done < n_iter:
        until_rebuild = ITERATIONS_BETWEEN_REBUILDS - done % ITERATIONS_BETWEEN_REBUILDS
        until_halt = halts[bisect_right(halts, done)] - done
        n_most = min(until_rebuild, until_halt)
        temperature = _temperatures(schedule, np.arange(done, done + n_most), n_iter)
        began = perf_counter()
        n_done = run(rng, design.target, tuning, state, record, temperature, min(n_wanted, n_most), done, stride)
        n_wanted = _next_length(n_done, perf_counter() - began)
        done += n_done
        if done % ITERATIONS_BETWEEN_REBUILDS == 0:
            place_centers(design, state, state.centers[: state.k[0]].copy())
        yield done


def _temperatures(schedule: Schedule, iteration: Ints, n_iter: int) -> Floats:
    temperature = np.asarray(schedule.temperature(iteration, n_iter), dtype=np.float64)
    if temperature.shape != iteration.shape or not (np.isfinite(temperature) & (temperature > 0)).all():
        raise ValueError(
            f"schedule.temperature must return a positive number for each of the {iteration.size} iterations it is "
            f"given. Got {temperature!r} from {schedule!r}."
        )
    return temperature


def _chain_result(
    design: Design,
    schedule: Schedule,
    n_iter: int,
    state: State,
    record: Record,
    optima: list[BestState],
    snapshots: tuple[Snapshot, ...],
    done: int,
    stride: int,
) -> ChainResult:
    """Report on a round whose best state is the present one."""
    shift = design.log_posterior_shift
    best = present_state(design, state, int(record.best_iteration[0]))
    index = np.arange(0, done, stride)
    return ChainResult(
        trace=Trace(
            iteration=index + 1,
            n_bases=record.trace_k[: index.size],
            log_posterior=record.trace_log_posterior[: index.size] + shift,
            temperature=_temperatures(schedule, index, n_iter),
        ),
        moves=count_moves(record.counts),
        best=best,
        best_by_n_bases={k: float(value) + shift for k, value in enumerate(record.best_by_k) if np.isfinite(value)},
        local_optima=tuple(optima) or (best,),
        snapshots=snapshots,
        n_iter=done,
    )


def note_improvement(state: State, record: Record, n_done: int) -> None:
    """Enter a state that was not reached by the chain itself. Mutates the record."""
    k, value = int(state.k[0]), float(state.log_posterior[0])
    record.best_by_k[k] = max(record.best_by_k[k], value)
    if value > record.best_log_posterior[0]:
        record.best_log_posterior[0] = value
        record.best_k[0] = k
        record.best_iteration[0] = n_done
        record.best_relevance[:] = state.relevance
        record.best_centers[:k] = state.centers[:k]


def place_centers(design: Design, state: State, centers: Floats, relevance: Floats | None = None) -> None:
    """Make `centers` (k, d) of the unit cube the state, factored from scratch. Mutates the state. O(N m^2).

    The relevances (q,) stay as they are unless given.
    """
    if relevance is not None:
        state.relevance[:] = relevance
    refactor(state.factor, design.fixed.Q, design.Y, design.columns(centers, state.relevance))
    k = len(centers)
    state.centers[:k] = centers
    state.k[0] = k
    n_active = count_active(design.target, state.relevance)
    state.log_posterior[0] = log_density(design.target, state.factor.rss, k, n_active)


def place_independent_centers(design: Design, state: State, centers: Floats) -> None:
    """Do the same, leaving out centres whose basis functions are in the span of those before them, or faint."""
    while True:
        squared = (design.columns(centers, state.relevance) ** 2).sum(axis=0)
        place_centers(design, state, centers)
        independent = independent_columns(state.factor, design.target.m_fixed, squared, design.target.faintest)
        if independent.all():
            return
        centers = centers[independent]


def present_state(design: Design, state: State, iteration: int) -> BestState:
    """Copy the present state, coefficients included."""
    return BestState(
        network=present_network(design, state),
        relevance=state.relevance.copy(),
        rss=state.factor.rss * design.outputs.scale**2,
        log_posterior=float(state.log_posterior[0]) + design.log_posterior_shift,
        iteration=iteration,
    )


def present_network(design: Design, state: State) -> Network:
    """Solve for the coefficients of the present state."""
    return network_from_factor(design, state.centers[: state.k[0]], state.relevance, state.factor)


def starting_centers(rng: np.random.Generator, design: Design, settings: Settings) -> Floats:
    """Draw random centres (k, d) of the unit cube, unless given: a random number, or many to go downhill from."""
    if settings.start is not None:
        return settings.start
    most = min(design.k_max, MOST_STARTING_CENTERS)
    k = most if settings.descend else int(rng.integers(0, most, endpoint=True))
    return rng.random((k, design.target.to_metric.shape[1]))


def starting_relevance(design: Design) -> Floats:
    """Choose relevances (q,) such that the distance between two rows is 2 or so, whatever the number of inputs."""
    q = len(design.target.to_metric)
    return np.full(q, 1.5 / np.sqrt(q)) if design.learns_metric else np.ones(q)


@cache
def _snapshot_iterations(n_iter: int, many: bool) -> frozenset[int]:
    """Choose when to keep the network: often, or only at the ends of a round."""
    if not many:
        return frozenset({0, n_iter})
    return frozenset({0, n_iter, *np.geomspace(1, n_iter, N_SNAPSHOTS).round().astype(int).tolist()})


def _next_length(n_done: int, seconds: float) -> int:
    """Choose the length of the next block, growing slowly: the first call may include compilation."""
    wanted = int(n_done * BLOCK_SECONDS / max(seconds, 1e-9))
    return min(max(wanted, 1), 4 * n_done)
