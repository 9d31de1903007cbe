"""Forward selection, compiled: terms come in one by one, each the best of many that were drawn.

Candidates are drawn from nu, and from what changes make of the terms that are there. All are scored by their products
with the residuals, in one pass over the rows; the few that promise most, by the edit algebra. The best comes in even
where the criterion gets worse, for a while: two terms may be worth having that are not worth it one by one.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, entry_point, glue, kernel, source_digest
from saltus._typing import Floats, Ints
from saltus._vectors import add_products, clear, dot
from saltus.engine.kernels.chain import fill_columns, is_faint, note_state, project_incoming
from saltus.engine.kernels.columns import find_columns
from saltus.engine.kernels.edit_algebra import commit, score
from saltus.engine.kernels.state import Record, State, Workspace
from saltus.engine.kernels.target import UNAFFORDABLE, count_after_edit, log_density_kernel, penalty_kernel
from saltus.engine.problem.problem import Problem
from saltus.families.registry import (
    count_shared_parameters_kernel,
    count_term_kernel,
    decode_term,
    draw_family,
    draw_term,
    evaluate_term,
    propose_change,
    sharpen_term,
)
from saltus.families.terms import Edits, copy_edit, edit_terms, make_edits, pick

# Of the candidates, this share are changes of terms that are there, the rest fresh.
SHARE_OF_CHANGES = 0.5
# This share of all have one of their thresholds, if they have any, where it is worth most.
SHARE_SHARPENED = 0.5
# Changes walk as far as this.
CHANGE_SCALE = 0.3
# A candidate that varies less than this, relative to its size, is constant.
FLATTEST = 1e-8
# Candidates are scored by so many tiles of rows, drawn anew for every term where there are more; finalists by all rows.
# Where tiles are too few, what looks best is what explains the noise of these rows.
MOST_TILES = 32
# Of candidates that differ by less than this share the first is taken: two steps in the same gap of the data are alike,
# and rounding, which depends on the order of rows, must not choose.
ROUNDING = 1e-9
# So many times candidates are drawn anew where none of the finalists can come in.
MOST_DRAWS = 5


@by_reference
class Pool(NamedTuple):
    """M candidates. Mutated by `select`."""

    edits: Edits  # (M)
    decoded: Floats  # (M, p, n), the one or two columns of each
    gain: Floats  # (M,), what each promises
    along: Floats  # (M, p, c + 1), products of the columns with the residuals and with the constant
    gram: Floats  # (M, 3), products of the columns with each other
    columns: Floats  # (p, L)
    tiles: Ints  # (n,), the tiles of rows that the candidates are scored by; all of them, or some drawn at random
    seen: Floats  # (c + 1,), squared lengths of the residuals and of the constant in these
    bins: Floats  # (K, c + 3), sums over the rows between two thresholds, or of a level
    best: Ints  # (B,), those that promise most


def make_pool(problem: Problem, n_candidates: int, n_finalists: int) -> Pool:
    """Allocate a pool of so many candidates, of which some are looked at closely."""
    families, n_outputs, most = problem.families, problem.rss_floor.size, problem.families.most_columns
    return Pool(
        edits=make_edits(n_candidates, families.n_choices, families.n_parameters),
        decoded=np.zeros((n_candidates, most, families.n_decoded)),
        gain=np.zeros(n_candidates),
        along=np.zeros((n_candidates, most, n_outputs + 1)),
        gram=np.zeros((n_candidates, 3)),
        columns=np.zeros((most, problem.root_weight.shape[1])),
        tiles=np.arange(min(problem.root_weight.shape[0], MOST_TILES)),
        seen=np.zeros(n_outputs + 1),
        bins=np.zeros((families.most_bins, n_outputs + 3)),
        best=np.zeros(n_finalists, dtype=np.int64),
    )


@glue
def draw_candidates(rng: np.random.Generator, problem: Problem, state: State, pool: Pool) -> None:
    """Draw all candidates anew, and the tiles of rows to score them by."""
    families, terms, edits = problem.families, state.terms, pool.edits
    k, n_tiles = terms.k[0], state.factor.tiles.shape[0]
    if n_tiles > pool.tiles.size:
        # One of each of as many parts of all tiles.
        for i in range(pool.tiles.size):
            first, last = i * n_tiles // pool.tiles.size, (i + 1) * n_tiles // pool.tiles.size
            pool.tiles[i] = first + pick(rng, last - first)
    n_outputs, n_rows, seen = state.factor.rss.size, pool.columns.shape[1], pool.seen
    clear(seen)
    for t in pool.tiles:
        for i in range(n_outputs + 1):
            seen[i] += dot(state.factor.tiles[t, i], state.factor.tiles[t, i], n_rows)
    for b in range(pool.gain.size):
        is_drawn = False
        if k > 0 and rng.random() < SHARE_OF_CHANGES:
            is_drawn, _ = propose_change(rng, families, terms, pick(rng, k), CHANGE_SCALE, edits, b)
        if not is_drawn:
            draw_term(rng, families, draw_family(rng, families), 0, edits, b)
        edits.n_out[b] = 0
        edits.n_in[b] = 1
        if rng.random() < SHARE_SHARPENED:
            sharpen_term(
                rng,
                families,
                state.factor.tiles,
                pool.tiles,
                problem.root_weight,
                seen,
                problem.n_total,
                edits,
                b,
                pool.decoded[b, 0],
                pool.columns[0],
                pool.bins,
            )
        family = edits.family[b, 0]
        for part in range(families.n_columns[family]):
            decode_term(families, family, edits.choices[b, 0], edits.incoming[b, 0], part, pool.decoded[b, part])


@kernel
def survey(problem: Problem, state: State, pool: Pool) -> None:
    """Find what each candidate promises, in one pass over the rows: O(N) each.

    The share of the residuals along its columns less their means, as if these were orthogonal to all others.
    """
    tiles, edits, columns, seen = state.factor.tiles, pool.edits, pool.columns, pool.seen
    n_outputs, n_rows = state.factor.rss.size, pool.columns.shape[1]
    families = problem.families
    share = pool.tiles.size / tiles.shape[0]
    for b in range(pool.gain.size):
        clear(pool.gram[b])
        for a in range(pool.along.shape[1]):
            clear(pool.along[b, a])
    for t in pool.tiles:
        root_weight = problem.root_weight[t]
        for b in range(pool.gain.size):
            family = edits.family[b, 0]
            for a in range(families.n_columns[family]):
                evaluate_term(families, t, family, pool.decoded[b, a], state.terms.shared, root_weight, columns[a])
                # The first column of Q is the constant.
                add_products(tiles[t], columns[a], n_outputs + 1, pool.along[b, a])
                for other in range(a + 1):
                    pool.gram[b, a + other] += dot(columns[a], columns[other], n_rows)
    for b in range(pool.gain.size):
        family = edits.family[b, 0]
        smallest = share * families.smallest_squared_norm[family]
        pool.gain[b] = gain_of(pool.along[b], pool.gram[b], seen, families.n_columns[family], smallest)
        if families.counts_levels_only and pool.gain[b] > 0.0:
            pool.gain[b] -= cost_of_sets(problem, state, family, edits.choices[b, 0])


@kernel
def cost_of_sets(problem: Problem, state: State, family: int, choices: Ints) -> float:
    """Say what the sets of levels of a candidate cost, as a share of the residuals.

    The best of all sets explains much noise: if candidates did not pay for that, sets would be all that is looked at
    closely, where there are many levels.
    """
    families, n_own, k = problem.families, state.n_own[0], state.terms.k[0] + 1
    n_more = count_term_kernel(families, family, choices, state.terms.shared)
    if n_more == 0:
        return 0.0
    n_columns, n_shared = state.n_columns[0] + 1, count_shared_parameters_kernel(families, state.terms.shared)
    n_outputs = state.factor.rss.size
    after = penalty_kernel(problem, n_outputs, k, n_columns, n_own + n_more, n_shared)
    return 2.0 / problem.degrees * (after - penalty_kernel(problem, n_outputs, k, n_columns, n_own, n_shared))


@kernel
def gain_of(along: Floats, gram: Floats, seen: Floats, n_columns: int, smallest: float) -> float:
    """Find the share of the residuals along one or two columns; 0 where one is faint, constant or like the other."""
    n_outputs = seen.size - 1
    constant, gain = along[0, n_outputs], 0.0
    left = gram[0] - constant * constant / seen[n_outputs]
    if not (gram[0] >= smallest and left > FLATTEST * gram[0]):
        return 0.0
    for i in range(n_outputs):
        gain += along[0, i] * along[0, i] / (left * seen[i])
    if n_columns == 2:
        # The second column, less its part along the first.
        shared = gram[1] - constant * along[1, n_outputs] / seen[n_outputs]
        slope = shared / left
        rest = gram[2] - along[1, n_outputs] * along[1, n_outputs] / seen[n_outputs] - slope * shared
        if not (gram[2] >= smallest and rest > FLATTEST * gram[2]):
            return 0.0
        for i in range(n_outputs):
            new = along[1, i] - slope * along[0, i]
            gain += new * new / (rest * seen[i])
    return gain


@kernel
def choose_finalists(pool: Pool) -> int:
    """List the candidates that promise most, the best first; return how many promise anything."""
    n = 0
    for a in range(pool.best.size):
        at = -1
        for b in range(pool.gain.size):
            if pool.gain[b] > 0.0 and (at < 0 or pool.gain[b] > (1.0 + ROUNDING) * pool.gain[at]):
                at = b
        if at < 0:
            break
        pool.best[a] = at
        pool.gain[at] = -pool.gain[at]
        n += 1
    return n


@glue
def bring_in_best(problem: Problem, state: State, work: Workspace, pool: Pool) -> bool:
    """Score the finalists and bring the best of them in; False where none can come in."""
    edits, columns, products, scratch, factor = work.edits, work.columns, work.products, work.scratch, state.factor
    n, m_fixed, k, q = choose_finalists(pool), problem.m_fixed, state.terms.k[0], state.n_columns[0]
    for a in range(n):
        copy_edit(pool.edits, pool.best[a], edits, a)
        find_columns(problem.families, state.terms, edits, a, columns)
    work.drawn.n_edits[0] = n
    project_incoming(problem, state, work)
    best, best_value = -1, -np.inf
    for a in range(n):
        n_in = columns.n_in[a]
        if not is_faint(problem, products, columns, a) and score(
            factor, products, a, scratch, m_fixed, q, 0, columns.out[a], n_in
        ):
            n_own = count_after_edit(problem.families, state.terms, state.n_own[0], edits, a)
            value = log_density_kernel(problem, scratch.rss, k + 1, q + n_in, n_own, state.terms.shared)
            if best < 0 or value > best_value + ROUNDING * abs(best_value):
                best, best_value = a, value
    if best < 0 or best_value < -0.5 * UNAFFORDABLE:
        return False
    n_own = count_after_edit(problem.families, state.terms, state.n_own[0], edits, best)
    fill_columns(problem, state, work, best)
    n_in = columns.n_in[best]
    commit(factor, products, best, scratch, m_fixed, q, 0, columns.out[best], n_in)
    edit_terms(state.terms, edits, best)
    state.n_columns[0], state.n_own[0] = q + n_in, n_own
    state.log_posterior[0] = log_density_kernel(problem, factor.rss, k + 1, q + n_in, n_own, state.terms.shared)
    return True


def _compile_select(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def select(
        rng: np.random.Generator,
        problem: Problem,
        state: State,
        work: Workspace,
        record: Record,
        pool: Pool,
        n_steps: int,
    ) -> int:
        """Bring in so many terms, one by one; return how many could be. The record keeps the best state."""
        sources = digest  # noqa: F841  # a part of the cache's key
        for step in range(n_steps):
            if state.terms.k[0] == problem.k_max:
                return step
            is_in = False
            for _ in range(MOST_DRAWS):
                if not is_in:
                    draw_candidates(rng, problem, state, pool)
                    survey(problem, state, pool)
                    is_in = bring_in_best(problem, state, work, pool)
            if not is_in:
                return step
            note_state(state, record, 0)
        return n_steps

    return select


select = _compile_select(source_digest())
