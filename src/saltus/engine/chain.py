"""One chain: its state, one step, a block of steps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus._jit import glue, kernel, source_digest
from saltus.bases.base import evaluate_column
from saltus.engine.factor import Factor, Scratch, commit, make_factor, make_scratch, refactor, score
from saltus.engine.moves import MOVES, Edit, make_edit, propose

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHOSEN, FEASIBLE, ACCEPTED = range(3)


class Target(NamedTuple):
    """The data and the log density: everything a chain reads and never writes.

    log pi(k, mu) = -n_total/2 sum_i ln max(RSS_i, rss_floor_i) - penalty[k]
    """

    basis_code: int
    X_metric: Floats  # (q, N), coordinates in which the metric is Euclidean
    to_metric: Floats  # (q, d), takes the unit cube there
    root_weight: Floats  # (N,), or empty
    n_total: float
    penalty: Floats  # (k_max + 1,)
    rss_floor: Floats  # (c,)


class Tuning(NamedTuple):
    """How the chain moves and accepts."""

    split_scale: float
    walk_scale: float
    two_stage: bool


class State(NamedTuple):
    """Where the chain is. Mutated by a step."""

    centers: Floats  # (k_max, d), in the unit cube; the first k are in use
    k: Ints  # (1,)
    log_posterior: Floats  # (1,)
    factor: Factor
    scratch: Scratch
    edit: Edit
    center_metric: Floats  # (q,), workspace


class Record(NamedTuple):
    """What the chain has seen. Mutated by a step."""

    best_centers: Floats  # (k_max, d)
    best_k: Ints  # (1,)
    best_log_posterior: Floats  # (1,)
    best_iteration: Ints  # (1,)
    best_by_k: Floats  # (k_max + 1,)
    counts: Ints  # (5, 3): chosen, feasible, accepted
    trace_k: NDArray[np.int32]  # (n_trace,)
    trace_log_posterior: Floats  # (n_trace,)


def start_record(state: State, n_trace: int) -> Record:
    """Allocate a record that begins with the present state as the best."""
    k = int(state.k[0])
    k_max = state.centers.shape[0]
    best_by_k = np.full(k_max + 1, -np.inf)
    best_by_k[k] = state.log_posterior[0]
    return Record(
        best_centers=state.centers.copy(),
        best_k=state.k.copy(),
        best_log_posterior=state.log_posterior.copy(),
        best_iteration=np.zeros(1, dtype=np.int64),
        best_by_k=best_by_k,
        counts=np.zeros((len(MOVES), 3), dtype=np.int64),
        trace_k=np.zeros(n_trace, dtype=np.int32),
        trace_log_posterior=np.zeros(n_trace),
    )


@kernel
def log_density(target: Target, rss: Floats, k: int) -> float:
    """Evaluate log pi from the residual sums of squares."""
    log_rss = 0.0
    for i in range(rss.size):
        log_rss += np.log(max(rss[i], target.rss_floor[i]))
    return -0.5 * target.n_total * log_rss - target.penalty[k]


@glue
def accept(
    rng: np.random.Generator, log_ratio: float, log_green: float, temperature: float, two_stage: bool
) -> bool:
    """Decide on a proposal that changes log pi by `log_ratio`. log_green is never tempered.

    Two-stage is eq. (5) of the paper: what the kernel for pi itself returns is accepted with probability
    min{1, (pi'/pi)^(1/T - 1)}. The alternative is the kernel for pi^(1/T).
    """
    if two_stage:
        if np.log(rng.random()) >= log_ratio + log_green:
            return False
        return np.log(rng.random()) < (1.0 / temperature - 1.0) * log_ratio
    return np.log(rng.random()) < log_ratio / temperature + log_green


@glue
def fill_columns(target: Target, state: State) -> None:
    """Evaluate the basis functions that the edit brings in. O(N d)."""
    q, d = target.to_metric.shape
    for a in range(state.edit.n_in[0]):
        for i in range(q):
            total = 0.0
            for j in range(d):
                total += target.to_metric[i, j] * state.edit.incoming[a, j]
            state.center_metric[i] = total
        evaluate_column(
            target.basis_code,
            target.X_metric,
            state.center_metric,
            target.root_weight,
            state.scratch.columns[a],
        )


@glue
def replace_centers(state: State) -> None:
    """Carry the edit out on the list of centres, in the order in which `commit` treats the columns."""
    edit, centers = state.edit, state.centers
    k = state.k[0]
    d = centers.shape[1]
    if edit.n_out[0] == 2 and edit.out[0] < edit.out[1]:
        edit.out[0], edit.out[1] = edit.out[1], edit.out[0]
    for a in range(edit.n_out[0]):
        for j in range(edit.out[a], k - 1):
            for i in range(d):
                centers[j, i] = centers[j + 1, i]
        k -= 1
    for a in range(edit.n_in[0]):
        for i in range(d):
            centers[k, i] = edit.incoming[a, i]
        k += 1
    state.k[0] = k


@glue
def step(
    rng: np.random.Generator,
    target: Target,
    tuning: Tuning,
    state: State,
    record: Record,
    temperature: float,
) -> bool:
    """Make one step of the annealed reversible-jump chain; say whether the state changed."""
    edit = state.edit
    k = state.k[0]
    k_max = state.centers.shape[0]
    m_fixed = state.factor.Z.shape[0] - k_max
    move = int(rng.random() * len(MOVES))
    record.counts[move, CHOSEN] += 1
    feasible, log_green = propose(
        rng, move, state.centers, k, k_max, tuning.split_scale, tuning.walk_scale, edit
    )
    if not feasible:
        return False
    record.counts[move, FEASIBLE] += 1
    fill_columns(target, state)
    if not score(state.factor, state.scratch, m_fixed, k, edit.n_out[0], edit.out, edit.n_in[0]):
        return False
    log_posterior = log_density(target, state.scratch.rss, k + edit.n_in[0] - edit.n_out[0])
    if not accept(rng, log_posterior - state.log_posterior[0], log_green, temperature, tuning.two_stage):
        return False
    record.counts[move, ACCEPTED] += 1
    commit(state.factor, state.scratch, m_fixed, k, edit.n_out[0], edit.out, edit.n_in[0])
    replace_centers(state)
    state.log_posterior[0] = log_density(target, state.factor.rss, state.k[0])
    return True


@glue
def note_state(state: State, record: Record, iteration: int) -> None:
    """Enter a new state into the record. Mutates the record."""
    k = state.k[0]
    value = state.log_posterior[0]
    record.best_by_k[k] = max(record.best_by_k[k], value)
    if value > record.best_log_posterior[0]:
        record.best_log_posterior[0] = value
        record.best_k[0] = k
        record.best_iteration[0] = iteration
        for j in range(k):
            for i in range(state.centers.shape[1]):
                record.best_centers[j, i] = state.centers[j, i]


def _compile_run_block(digest: str):  # type: ignore[no-untyped-def]
    @kernel
    def run_block(
        rng: np.random.Generator,
        target: Target,
        tuning: Tuning,
        state: State,
        record: Record,
        temperature: Floats,
        first_iteration: int,
        trace_stride: int,
    ) -> None:
        """Make `temperature.size` steps, numbered from `first_iteration`."""
        sources = digest  # noqa: F841  # a part of the cache's key
        for i in range(temperature.size):
            iteration = first_iteration + i
            if step(rng, target, tuning, state, record, temperature[i]):
                note_state(state, record, iteration)
            if iteration % trace_stride == 0:
                record.trace_k[iteration // trace_stride] = state.k[0]
                record.trace_log_posterior[iteration // trace_stride] = state.log_posterior[0]

    return run_block


run_block = _compile_run_block(source_digest())


def start_state(target: Target, Q_fixed: Floats, Y: Floats) -> State:
    """Build the state without basis functions."""
    k_max = target.penalty.size - 1
    q, d = target.to_metric.shape
    factor = make_factor(Q_fixed, Y, Q_fixed.shape[1] + k_max)
    return State(
        centers=np.zeros((k_max, d)),
        k=np.zeros(1, dtype=np.int64),
        log_posterior=np.array([log_density(target, factor.rss, 0)]),
        factor=factor,
        scratch=make_scratch(factor),
        edit=make_edit(d),
        center_metric=np.zeros(q),
    )
