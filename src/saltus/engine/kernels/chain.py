"""One chain of the annealing, compiled: a step, a block of steps."""

import numpy as np

from saltus._jit import entry_point, glue, kernel, source_digest
from saltus._typing import Floats
from saltus._vectors import add_products, dot
from saltus.engine.kernels.columns import ColumnEdits, find_columns
from saltus.engine.kernels.edit_algebra import append_column, commit, copy_into, score, sum_residuals
from saltus.engine.kernels.factor import COLLINEAR, VANISHED, Products
from saltus.engine.kernels.moves import MOVES, draw_move, propose
from saltus.engine.kernels.state import ACCEPTED, CHOSEN, FEASIBLE, Record, State, Tuning, Workspace
from saltus.engine.kernels.target import accept, count_after_edit, count_under, log_density_kernel
from saltus.engine.problem.problem import Problem
from saltus.families.registry import decode_term, evaluate_term, propose_shared
from saltus.families.terms import copy_terms, edit_terms


@glue
def draw_steps(
    rng: np.random.Generator, problem: Problem, tuning: Tuning, state: State, work: Workspace, n_most: int
) -> int:
    """Draw steps from the present state until the edits are used up; return how many. Mutates edits and drawn."""
    terms, edits, n_edits = state.terms, work.edits, work.drawn.n_edits
    moves, edit, log_green, log_uniform = (
        work.drawn.move,
        work.drawn.edit,
        work.drawn.log_green,
        work.drawn.log_uniform,
    )
    split_scale, walk_scale = tuning.split_scale, tuning.walk_scale
    k_max, n_most_edits = problem.k_max, edits.n_in.size
    n_most = min(n_most, moves.size)
    n_edits[0] = 0
    n_drawn = 0
    while n_drawn < n_most and n_edits[0] < n_most_edits:
        which = n_edits[0]
        move = draw_move(rng, problem.families)
        feasible, log_ratio = propose(rng, problem.families, move, terms, k_max, split_scale, walk_scale, edits, which)
        moves[n_drawn] = move
        edit[n_drawn] = -1
        if feasible:
            find_columns(problem.families, terms, edits, which, work.columns)
            edit[n_drawn] = which
            log_green[n_drawn] = log_ratio
            log_uniform[n_drawn, 0] = np.log(rng.random())
            log_uniform[n_drawn, 1] = np.log(rng.random())
            n_edits[0] += 1
        n_drawn += 1
    return n_drawn


@glue
def project_incoming(problem: Problem, state: State, work: Workspace) -> None:
    """Find the products of the new columns of the drawn edits, in one pass over the rows. O(N (q + m)) each.

    The columns are forgotten: memory is faster to read twice than to write.
    """
    tiles, columns, along, gram = state.factor.tiles, work.scratch.columns, work.products.along, work.products.gram
    decoded, shared, n_in, family = work.columns.decoded, state.terms.shared, work.columns.n_in, work.columns.family
    families, root_weight = problem.families, problem.root_weight
    n_columns = state.factor.rss.size + problem.m_fixed + state.n_columns[0]
    n_edits = work.drawn.n_edits[0]
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
                evaluate_term(families, t, family[b, a], decoded[b, a], shared, root_weight[t], column)
                add_products(tiles[t], column, n_columns, along[b, a])
                for other in range(a + 1):
                    gram[b, a + other] += dot(column, columns[other, 0], column.size)


@glue
def fill_columns(problem: Problem, state: State, work: Workspace, which: int) -> None:
    """Evaluate the columns that an edit brings in, over all rows, unless `project_incoming` left them there. O(N q)."""
    decoded, shared, columns = work.columns.decoded, state.terms.shared, work.scratch.columns
    n_in, family = work.columns.n_in, work.columns.family
    families, root_weight = problem.families, problem.root_weight
    n_forgotten = n_in[which]
    if root_weight.shape[0] == 1 and n_in.size == 1:
        n_forgotten = 0
    for a in range(n_forgotten):
        for t in range(root_weight.shape[0]):
            evaluate_term(families, t, family[which, a], decoded[which, a], shared, root_weight[t], columns[a, t])


@glue
def is_faint(problem: Problem, products: Products, columns: ColumnEdits, which: int) -> bool:
    """Say whether an edit brings in a column that hardly any row sees, or that all but a few see alike."""
    families, n_outputs = problem.families, problem.rss_floor.size
    for a in range(columns.n_in[which]):
        family, squared = columns.family[which, a], products.gram[which, 2 * a]
        if squared < families.smallest_squared_norm[family]:
            return True
        smallest = families.smallest_complement[family]
        if smallest > 0.0:
            # The first column of Q is the constant.
            sum_of_values = np.sqrt(problem.n_total) * abs(products.along[which, a, n_outputs])
            if problem.n_total - 2.0 * sum_of_values + squared < smallest:
                return True
    return False


@glue
def take_step(
    problem: Problem, tuning: Tuning, state: State, work: Workspace, record: Record, number: int, temperature: float
) -> bool:
    """Take a step that was drawn and projected; say whether the state changed."""
    edits, columns, counts = work.edits, work.columns, record.counts
    factor, products, scratch = state.factor, work.products, work.scratch
    log_green, log_uniform = work.drawn.log_green[number], work.drawn.log_uniform[number]
    move, which = work.drawn.move[number], work.drawn.edit[number]
    k, shared, log_posterior = state.terms.k[0], state.terms.shared, state.log_posterior
    m_fixed, two_stage = problem.m_fixed, tuning.two_stage
    counts[move, CHOSEN] += 1
    if which < 0:
        return False
    counts[move, FEASIBLE] += 1
    q, n_out, n_in, out = state.n_columns[0], columns.n_out[which], columns.n_in[which], columns.out[which]
    if is_faint(problem, products, columns, which):
        return False
    if not score(factor, products, which, scratch, m_fixed, q, n_out, out, n_in):
        return False
    n_own = count_after_edit(problem.families, state.terms, state.n_own[0], edits, which)
    k_after, q_after = k + edits.n_in[which] - edits.n_out[which], q + n_in - n_out
    log_ratio = log_density_kernel(problem, scratch.rss, k_after, q_after, n_own, shared) - log_posterior[0]
    if tuning.counts_orders and k_after != k:
        log_green += np.log(k + 1.0) if k_after > k else -np.log(k)
    if not accept(log_ratio, log_green, log_uniform[0], log_uniform[1], temperature, two_stage):
        return False
    counts[move, ACCEPTED] += 1
    fill_columns(problem, state, work, which)
    commit(factor, products, which, scratch, m_fixed, q, n_out, out, n_in)
    edit_terms(state.terms, edits, which)
    state.n_columns[0], state.n_own[0] = q_after, n_own
    log_posterior[0] = log_density_kernel(problem, factor.rss, k_after, q_after, n_own, shared)
    return True


@kernel
def factor_anew(problem: Problem, state: State, work: Workspace, tolerance: float) -> bool:
    """Factor the design under the proposed shared parameters into `spare`. O(N m^2).

    False where hardly any row sees a column, or no more than `tolerance` of its squares is new beside those before.
    """
    terms, spare, scratch, along = state.terms, work.spare, work.scratch, work.products.along[0, 0]
    copy_into(problem.linear, spare, problem.m_fixed)
    n_outputs = spare.rss.size
    families, decoded, columns = problem.families, work.columns.decoded[0, 0], scratch.columns[0]
    m = problem.m_fixed
    for j in range(terms.k[0]):
        family = terms.family[j]
        for part in range(families.n_columns[family]):
            decode_term(families, family, terms.choices[j], terms.parameters[j], part, decoded)
            for i in range(n_outputs + m):
                along[i] = 0.0
            squared = 0.0
            for t in range(columns.shape[0]):
                column = columns[t]
                evaluate_term(families, t, family, decoded, work.proposed_shared, problem.root_weight[t], column)
                add_products(spare.tiles[t], column, n_outputs + m, along)
                squared += dot(column, column, column.size)
            w = along[n_outputs:]
            smallest = families.smallest_squared_norm[family]
            if squared < smallest or not squared - dot(w, w, m) > tolerance * squared + VANISHED:
                return False
            append_column(spare, columns, along, scratch.corrections, m)
            m += 1
    sum_residuals(spare)
    return True


@kernel
def take_shared_step(
    rng: np.random.Generator,
    problem: Problem,
    tuning: Tuning,
    state: State,
    work: Workspace,
    record: Record,
    temperature: float,
) -> bool:
    """Propose other shared parameters; say whether the state changed."""
    k, q, shared = state.terms.k[0], state.n_columns[0], state.terms.shared
    number, feasible, log_green = propose_shared(rng, problem.families, state.terms, work.proposed_shared)
    move = len(MOVES) + number
    log_uniform, another_log_uniform = np.log(rng.random()), np.log(rng.random())
    record.counts[move, CHOSEN] += 1
    if not feasible:
        return False
    record.counts[move, FEASIBLE] += 1
    if not factor_anew(problem, state, work, COLLINEAR):
        return False
    n_own = count_under(problem.families, state.terms, work.proposed_shared)
    log_posterior = log_density_kernel(problem, work.spare.rss, k, q, n_own, work.proposed_shared)
    log_ratio = log_posterior - state.log_posterior[0]
    if not accept(log_ratio, log_green, log_uniform, another_log_uniform, temperature, tuning.two_stage):
        return False
    record.counts[move, ACCEPTED] += 1
    copy_into(work.spare, state.factor, problem.m_fixed + q)
    for i in range(shared.size):
        shared[i] = work.proposed_shared[i]
    state.n_own[0] = n_own
    state.log_posterior[0] = log_posterior
    return True


@glue
def note_state(state: State, record: Record, n_done: int) -> None:
    """Enter a new state, reached after n_done iterations, into the record. Mutates the record."""
    k, value = state.terms.k[0], state.log_posterior[0]
    by_k, best = record.best_by_k, record.best_log_posterior
    by_k[k] = max(by_k[k], value)
    if value > best[0]:
        best[0] = value
        record.best_iteration[0] = n_done
        copy_terms(state.terms, record.best)


def _compile_run_block(digest: str, moves_shared: bool):  # type: ignore[no-untyped-def]
    @entry_point
    def run_block(
        rng: np.random.Generator,
        problem: Problem,
        tuning: Tuning,
        state: State,
        work: Workspace,
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
        between = tuning.steps_between_shared_moves
        n_done = 0
        while n_done < n_wanted:
            until_shared = between - (first_iteration + n_done) % between
            n_drawn = draw_steps(rng, problem, tuning, state, work, min(temperature.size - n_done, until_shared))
            project_incoming(problem, state, work)
            for number in range(n_drawn):
                iteration = first_iteration + n_done
                changed = take_step(problem, tuning, state, work, record, number, temperature[n_done])
                if changed:
                    note_state(state, record, iteration + 1)
                if iteration % trace_stride == 0:
                    record.trace_k[iteration // trace_stride] = state.terms.k[0]
                    record.trace_log_posterior[iteration // trace_stride] = state.log_posterior[0]
                n_done += 1
                if changed:
                    break
            if moves_shared:  # noqa: SIM102  # numba leaves out what a constant rules out
                if (first_iteration + n_done) % between == 0 and take_shared_step(
                    rng, problem, tuning, state, work, record, temperature[n_done - 1]
                ):
                    note_state(state, record, first_iteration + n_done)
        return n_done

    return run_block


# Moves of shared parameters take as long to compile as a third of the rest: only where they are wanted.
run_block = _compile_run_block(source_digest(), False)
run_block_with_shared_moves = _compile_run_block(source_digest(), True)
