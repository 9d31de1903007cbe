"""One chain: its state, one step, a block of steps."""

from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus._jit import entry_point, glue, kernel, source_digest
from saltus._typing import Floats, Ints
from saltus.engine.kernels.factor import (
    COLLINEAR,
    VANISHED,
    Factor,
    Products,
    Scratch,
    add_products,
    append_column,
    commit,
    copy_factor,
    copy_into,
    dot,
    make_factor,
    make_products,
    make_scratch,
    no_factor,
    score,
    sum_residuals,
)
from saltus.engine.kernels.moves import METRIC_MOVES, MOVES, SWITCH, Edits, make_edits, propose, propose_metric
from saltus.families.registry import evaluate_column
from saltus.families.sharpness import kernel_sharpness

CHOSEN, FEASIBLE, ACCEPTED = range(3)

# Steps between metric moves where the metric is given.
NEVER = 2**62

# Factors of more bytes than this do not stay in the caches from one pass to the next: in a core's own, in the one
# that cores share. Then several proposals are drawn from one state and scored in one pass; those after the first
# acceptance are discarded unseen, so that it is the same chain in law.
# Microseconds an iteration at k = 12 with 1, 4, 8, 16, 32 proposals a pass:
#   N =   2 000:    4.0    3.9    4.3    4.6    5.8
#   N =  20 000:     42     39     41     44     50
#   N = 200 000:   1160    610    570    410    420
# Where memory is the limit, 32 varied least from run to run (340 to 420, against 380 to 580 with 16).
CACHE_BYTES = (700_000, 16_000_000)
PROPOSALS_A_PASS = (1, 4, 32)


class Target(NamedTuple):
    """The data and the log density: everything a chain reads and never writes.

    log pi(k, mu, rho) = -n_total/2 sum_i ln max(RSS_i, rss_floor_i) - penalty[k, a], where a is the number of inputs
    whose relevance rho is not 0, if the metric is learned, and 0 if it is given.
    """

    basis_code: int
    m_fixed: int  # columns of the linear term
    X_metric: Floats  # (n_tiles, q, L), coordinates in which the metric is Euclidean where all relevances are 1
    to_metric: Floats  # (q, d), takes the unit cube there; the last column is 0 where widths are the functions' own
    log_sharpest: float  # of a basis function with a width of its own; 0 where all share one
    root_weight: Floats  # (n_tiles, L), 0 beyond the data
    n_total: float
    penalty: Floats  # (k_max + 1, q + 1), or (k_max + 1, 1) where the metric is given
    rss_floor: Floats  # (c,)
    linear: Factor  # of the linear term alone
    faintest: float  # the smallest squared norm of a basis function over the rows


class Tuning(NamedTuple):
    """How the chain moves and accepts."""

    split_scale: float
    walk_scale: float
    two_stage: bool
    steps_between_metric_moves: int = NEVER


class Drawn(NamedTuple):
    """The steps drawn from one state, in their order."""

    n_edits: Ints  # (1,), how many of them are not null moves
    move: Ints  # (S,)
    edit: Ints  # (S,), the number of the step's edit, or -1 for a null move
    log_green: Floats  # (S,)
    log_uniform: Floats  # (S, 2)


class State(NamedTuple):
    """Where the chain is, and its workspaces. Mutated by a step."""

    centers: Floats  # (k_max, d), in the unit cube; the first k are in use. Own widths are the last coordinate
    k: Ints  # (1,)
    relevance: Floats  # (q,)
    log_posterior: Floats  # (1,)
    factor: Factor
    edits: Edits
    drawn: Drawn
    products: Products
    scratch: Scratch
    incoming_metric: Floats  # (B, 2, q + 1), the edits' incoming centres in metric coordinates, and sharpnesses
    spare: Factor  # of the design under a proposed metric
    proposed_relevance: Floats  # (q,)


class Record(NamedTuple):
    """What the chain has seen. Mutated by a step."""

    best_centers: Floats  # (k_max, d)
    best_k: Ints  # (1,)
    best_relevance: Floats  # (q,)
    best_log_posterior: Floats  # (1,)
    best_iteration: Ints  # (1,), iterations done when it was reached
    best_by_k: Floats  # (k_max + 1,)
    counts: Ints  # (7, 3): chosen, feasible, accepted
    trace_k: NDArray[np.int32]  # (n_trace,)
    trace_log_posterior: Floats  # (n_trace,)


def start_state(target: Target, Q_fixed: Floats, Y: Floats, n_edits: int | None = None) -> State:
    """Build the state without basis functions. `n_edits` is the number of proposals a pass."""
    k_max = target.penalty.shape[0] - 1
    q, d = target.to_metric.shape
    factor = make_factor(Q_fixed, Y, Q_fixed.shape[1] + k_max)
    if n_edits is None:
        # By the sum of the weights, so that a weight of 2 gives the chain of the row twice.
        n_bytes = 8 * target.n_total * factor.tiles.shape[1]
        n_edits = PROPOSALS_A_PASS[int(np.searchsorted(CACHE_BYTES, n_bytes))]
    n_steps = 1 if n_edits == 1 else 2 * n_edits
    return State(
        centers=np.zeros((k_max, d)),
        k=np.zeros(1, dtype=np.int64),
        relevance=np.ones(q),
        log_posterior=np.array([log_density(target, factor.rss, 0, count_active(target, np.ones(q)))]),
        factor=factor,
        edits=make_edits(n_edits, d),
        drawn=Drawn(
            np.zeros(1, dtype=np.int64),
            np.zeros(n_steps, dtype=np.int64),
            np.zeros(n_steps, dtype=np.int64),
            np.zeros(n_steps),
            np.zeros((n_steps, 2)),
        ),
        products=make_products(factor, n_edits),
        scratch=make_scratch(factor),
        incoming_metric=np.ones((n_edits, 2, q + 1)),
        spare=copy_factor(factor) if target.penalty.shape[1] > 1 else no_factor(),
        proposed_relevance=np.ones(q),
    )


def start_record(state: State, n_trace: int) -> Record:
    """Allocate a record that begins with the present state as the best."""
    k = int(state.k[0])
    k_max = state.centers.shape[0]
    best_by_k = np.full(k_max + 1, -np.inf)
    best_by_k[k] = state.log_posterior[0]
    return Record(
        best_centers=state.centers.copy(),
        best_k=state.k.copy(),
        best_relevance=state.relevance.copy(),
        best_log_posterior=state.log_posterior.copy(),
        best_iteration=np.zeros(1, dtype=np.int64),
        best_by_k=best_by_k,
        counts=np.zeros((len(MOVES) + len(METRIC_MOVES), 3), dtype=np.int64),
        trace_k=np.zeros(n_trace, dtype=np.int32),
        trace_log_posterior=np.zeros(n_trace),
    )


def count_active(target: Target, relevance: Floats) -> int:
    """Count the inputs that are switched on, where the metric is learned; 0 where it is given."""
    n_active = 0
    if target.penalty.shape[1] > 1:
        for i in range(relevance.size):
            if relevance[i] > 0.0:
                n_active += 1
    return n_active


def log_density(target: Target, rss: Floats, k: int, n_active: int) -> float:
    """Evaluate log pi from the residual sums of squares."""
    log_rss = 0.0
    for i in range(rss.size):
        log_rss += log(max(rss[i], target.rss_floor[i]))
    return -0.5 * target.n_total * log_rss - target.penalty[k, n_active]


# Python calls the functions above as they are: entry points would take longer to compile than they ever save.
count_active_kernel, log_density_kernel = kernel(count_active), kernel(log_density)


@kernel
def place_in_metric(to_metric: Floats, log_sharpest: float, unit: Floats, metric: Floats) -> None:
    """Find the metric coordinates (q,) of a centre (d,) of the unit cube and, last, its sharpness."""
    q, d = to_metric.shape
    for i in range(q):
        row = to_metric[i]
        total = 0.0
        for j in range(d):
            total += row[j] * unit[j]
        metric[i] = total
    if log_sharpest > 0.0:
        metric[q] = kernel_sharpness(unit[d - 1], log_sharpest)


@glue
def draw_steps(rng: np.random.Generator, target: Target, tuning: Tuning, state: State, n_most: int) -> int:
    """Draw steps from the present state until the edits are used up; return how many. Mutates edits and drawn."""
    centers, k, edits, n_edits = state.centers, state.k[0], state.edits, state.drawn.n_edits
    moves, edit, log_green, log_uniform = (
        state.drawn.move,
        state.drawn.edit,
        state.drawn.log_green,
        state.drawn.log_uniform,
    )
    split_scale, walk_scale = tuning.split_scale, tuning.walk_scale
    to_metric, log_sharpest, incoming_metric = target.to_metric, target.log_sharpest, state.incoming_metric
    k_max, n_most_edits = centers.shape[0], edits.n_in.size
    n_most = min(n_most, moves.size)
    n_edits[0] = 0
    n_drawn = 0
    while n_drawn < n_most and n_edits[0] < n_most_edits:
        which = n_edits[0]
        move = int(rng.random() * len(MOVES))
        feasible, log_ratio = propose(rng, move, centers, k, k_max, split_scale, walk_scale, edits, which)
        moves[n_drawn] = move
        edit[n_drawn] = -1
        if feasible:
            for a in range(edits.n_in[which]):
                place_in_metric(to_metric, log_sharpest, edits.incoming[which, a], incoming_metric[which, a])
            edit[n_drawn] = which
            log_green[n_drawn] = log_ratio
            log_uniform[n_drawn, 0] = np.log(rng.random())
            log_uniform[n_drawn, 1] = np.log(rng.random())
            n_edits[0] += 1
        n_drawn += 1
    return n_drawn


@glue
def survey(target: Target, state: State) -> None:
    """Find the products of the new columns of the drawn edits, in one pass over the rows. O(N (d + m)) each.

    The columns are forgotten: memory is faster to read twice than to write.
    """
    tiles, columns, along, gram = state.factor.tiles, state.scratch.columns, state.products.along, state.products.gram
    centers, relevance, n_in = state.incoming_metric, state.relevance, state.edits.n_in
    basis_code, X_metric, root_weight = target.basis_code, target.X_metric, target.root_weight
    n_columns = state.factor.rss.size + target.m_fixed + state.k[0]
    n_edits = state.drawn.n_edits[0]
    for b in range(n_edits):
        gram[b, 0] = 0.0
        gram[b, 1] = 0.0
        gram[b, 2] = 0.0
        for a in range(2):
            row = along[b, a]
            for j in range(n_columns):
                row[j] = 0.0
    for t in range(tiles.shape[0]):
        for b in range(n_edits):
            for a in range(n_in[b]):
                column = columns[a, 0]
                evaluate_column(basis_code, X_metric[t], centers[b, a], relevance, root_weight[t], column)
                add_products(tiles[t], column, n_columns, along[b, a])
                for other in range(a + 1):
                    gram[b, a + other] += dot(column, columns[other, 0], column.size)


@glue
def fill_columns(target: Target, state: State, which: int) -> None:
    """Evaluate the columns that an edit brings in, over all rows, unless the survey left them there. O(N d)."""
    centers, relevance, columns, n_in = state.incoming_metric, state.relevance, state.scratch.columns, state.edits.n_in
    basis_code, X_metric, root_weight = target.basis_code, target.X_metric, target.root_weight
    n_forgotten = n_in[which]
    if X_metric.shape[0] == 1 and n_in.size == 1:
        n_forgotten = 0
    for a in range(n_forgotten):
        for t in range(X_metric.shape[0]):
            evaluate_column(basis_code, X_metric[t], centers[which, a], relevance, root_weight[t], columns[a, t])


@glue
def accept(log_ratio: float, log_green: float, log_uniform: Floats, temperature: float, two_stage: bool) -> bool:
    """Decide on a proposal that changes log pi by `log_ratio`. log_green is never tempered.

    Two-stage is eq. (5) of the paper: what the kernel for pi itself returns is accepted with probability
    min{1, (pi'/pi)^(1/T - 1)}. The alternative is the kernel for pi^(1/T).
    """
    if two_stage:
        by_kernel = log_uniform[0] < log_ratio + log_green
        return by_kernel and log_uniform[1] < (1.0 / temperature - 1.0) * log_ratio
    return log_uniform[0] < log_ratio / temperature + log_green


@glue
def replace_centers(state: State, which: int) -> None:
    """Carry an edit out on the list of centres, in the order in which `commit` treats the columns."""
    edits, centers, n_centers = state.edits, state.centers, state.k
    n_out, out, n_in, incoming = edits.n_out[which], edits.out, edits.n_in[which], edits.incoming
    k = n_centers[0]
    d = centers.shape[1]
    for a in range(n_out):
        for j in range(out[which, a], k - 1):
            for i in range(d):
                centers[j, i] = centers[j + 1, i]
        k -= 1
    for a in range(n_in):
        for i in range(d):
            centers[k, i] = incoming[which, a, i]
        k += 1
    n_centers[0] = k


@glue
def is_faint(target: Target, products: Products, which: int, n_in: int) -> bool:
    """Say whether an edit brings in a basis function that no row sees."""
    squared, faintest = products.gram[which], target.faintest
    return (n_in > 0 and squared[0] < faintest) or (n_in > 1 and squared[2] < faintest)


@glue
def take_step(target: Target, tuning: Tuning, state: State, record: Record, number: int, temperature: float) -> bool:
    """Take a step that was drawn and surveyed; say whether the state changed."""
    edits, factor, products, scratch, counts = state.edits, state.factor, state.products, state.scratch, record.counts
    log_green, log_uniform = state.drawn.log_green[number], state.drawn.log_uniform[number]
    move, which = state.drawn.move[number], state.drawn.edit[number]
    k, relevance, log_posterior = state.k[0], state.relevance, state.log_posterior
    m_fixed, two_stage = target.m_fixed, tuning.two_stage
    counts[move, CHOSEN] += 1
    if which < 0:
        return False
    counts[move, FEASIBLE] += 1
    n_out, n_in, out = edits.n_out[which], edits.n_in[which], edits.out[which]
    if is_faint(target, products, which, n_in):
        return False
    if not score(factor, products, which, scratch, m_fixed, k, n_out, out, n_in):
        return False
    n_active = count_active_kernel(target, relevance)
    log_ratio = log_density_kernel(target, scratch.rss, k + n_in - n_out, n_active) - log_posterior[0]
    if not accept(log_ratio, log_green, log_uniform, temperature, two_stage):
        return False
    counts[move, ACCEPTED] += 1
    fill_columns(target, state, which)
    commit(factor, products, which, scratch, m_fixed, k, n_out, out, n_in)
    replace_centers(state, which)
    log_posterior[0] = log_density_kernel(target, factor.rss, k + n_in - n_out, n_active)
    return True


@kernel
def factor_anew(target: Target, state: State) -> bool:
    """Factor the design under the proposed relevances into `spare`; False where columns depend. O(N m^2)."""
    spare, scratch, along = state.spare, state.scratch, state.products.along[0, 0]
    copy_into(target.linear, spare, target.m_fixed)
    n_outputs = spare.rss.size
    center, columns = state.incoming_metric[0, 0], scratch.columns[0]
    for j in range(state.k[0]):
        m = target.m_fixed + j
        place_in_metric(target.to_metric, target.log_sharpest, state.centers[j], center)
        for i in range(n_outputs + m):
            along[i] = 0.0
        squared = 0.0
        for t in range(columns.shape[0]):
            column = columns[t]
            evaluate_column(
                target.basis_code,
                target.X_metric[t],
                center,
                state.proposed_relevance,
                target.root_weight[t],
                column,
            )
            add_products(spare.tiles[t], column, n_outputs + m, along)
            squared += dot(column, column, column.size)
        w = along[n_outputs:]
        if squared < target.faintest or not squared - dot(w, w, m) > COLLINEAR * squared + VANISHED:
            return False
        append_column(spare, columns, along, scratch.corrections, m)
    sum_residuals(spare)
    return True


@kernel
def take_metric_step(
    rng: np.random.Generator, target: Target, tuning: Tuning, state: State, record: Record, temperature: float
) -> bool:
    """Propose other relevances; say whether the state changed."""
    move, feasible, log_green = propose_metric(rng, state.relevance, state.proposed_relevance)
    log_uniform = state.drawn.log_uniform[0]
    log_uniform[0] = np.log(rng.random())
    log_uniform[1] = np.log(rng.random())
    record.counts[move, CHOSEN] += 1
    if not feasible or (state.k[0] == 0 and move != SWITCH):
        return False
    record.counts[move, FEASIBLE] += 1
    if not factor_anew(target, state):
        return False
    n_active = count_active_kernel(target, state.proposed_relevance)
    log_posterior = log_density_kernel(target, state.spare.rss, state.k[0], n_active)
    if not accept(log_posterior - state.log_posterior[0], log_green, log_uniform, temperature, tuning.two_stage):
        return False
    record.counts[move, ACCEPTED] += 1
    copy_into(state.spare, state.factor, target.m_fixed + state.k[0])
    for i in range(state.relevance.size):
        state.relevance[i] = state.proposed_relevance[i]
    state.log_posterior[0] = log_posterior
    return True


@glue
def note_state(state: State, record: Record, n_done: int) -> None:
    """Enter a new state, reached after n_done iterations, into the record. Mutates the record."""
    k, value, centers, relevance = state.k[0], state.log_posterior[0], state.centers, state.relevance
    best, best_k, best_iteration, by_k = (
        record.best_log_posterior,
        record.best_k,
        record.best_iteration,
        record.best_by_k,
    )
    best_centers, best_relevance = record.best_centers, record.best_relevance
    by_k[k] = max(by_k[k], value)
    if value > best[0]:
        best[0] = value
        best_k[0] = k
        best_iteration[0] = n_done
        for i in range(relevance.size):
            best_relevance[i] = relevance[i]
        for j in range(k):
            for i in range(centers.shape[1]):
                best_centers[j, i] = centers[j, i]


def _compile_run_block(digest: str, learns_metric: bool):  # type: ignore[no-untyped-def]
    @entry_point
    def run_block(
        rng: np.random.Generator,
        target: Target,
        tuning: Tuning,
        state: State,
        record: Record,
        temperature: Floats,
        n_wanted: int,
        first_iteration: int,
        trace_stride: int,
    ) -> int:
        """Make steps numbered from `first_iteration`; return how many.

        They are n_wanted or a few more, as steps drawn together are taken together, but never more than
        `temperature` has entries. So a chain does not depend on how its blocks fall.
        """
        sources = digest  # noqa: F841  # a part of the cache's key
        between = tuning.steps_between_metric_moves
        n_done = 0
        while n_done < n_wanted:
            until_metric = between - (first_iteration + n_done) % between
            n_drawn = draw_steps(rng, target, tuning, state, min(temperature.size - n_done, until_metric))
            survey(target, state)
            changed = False
            number = 0
            while number < n_drawn and not changed:
                iteration = first_iteration + n_done
                changed = take_step(target, tuning, state, record, number, temperature[n_done])
                if changed:
                    note_state(state, record, iteration + 1)
                if iteration % trace_stride == 0:
                    record.trace_k[iteration // trace_stride] = state.k[0]
                    record.trace_log_posterior[iteration // trace_stride] = state.log_posterior[0]
                number += 1
                n_done += 1
            if learns_metric:  # noqa: SIM102  # numba leaves out what a constant rules out
                if (first_iteration + n_done) % between == 0 and take_metric_step(
                    rng, target, tuning, state, record, temperature[n_done - 1]
                ):
                    note_state(state, record, first_iteration + n_done)
        return n_done

    return run_block


# Moves of the metric take as long to compile as a third of the rest: only where they are wanted.
run_block = _compile_run_block(source_digest(), False)
run_learned_block = _compile_run_block(source_digest(), True)
