"""The full posterior: the same chain at temperature 1 on a hierarchical target, with Gibbs steps for its parameters.

On sets of terms, collapsed over coefficients and noise variances, given delta^2 and the rate L of k:

    log p = k ln L + sum_i [ -m/2 ln delta_i^2 - 1/2 ln|W_i| - (N + v0)/2 ln((g0 + S_i)/2) ],   W_i = D'D + I/delta_i^2
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, entry_point, glue, kernel, source_digest
from saltus._typing import Floats
from saltus.engine.kernels.chain import draw_steps, factor_anew, fill_columns, is_faint, project_incoming
from saltus.engine.kernels.edit_algebra import commit, copy_into
from saltus.engine.kernels.factor import BEARS_ALL
from saltus.engine.kernels.moves import MOVES
from saltus.engine.kernels.ridge import (
    Ridge,
    commit_ridge,
    enter_design,
    log_volume,
    make_ridge,
    refresh_ridge,
    score_ridge,
    solve_coefficients,
)
from saltus.engine.kernels.state import ACCEPTED, CHOSEN, FEASIBLE, Record, State, Tuning, Workspace
from saltus.engine.kernels.target import accept, count_after_edit, count_under
from saltus.engine.problem.problem import Problem
from saltus.families.registry import propose_shared
from saltus.families.terms import edit_terms


@by_reference
class Prior(NamedTuple):
    """Hyperparameters: sigma^2 ~ IG(v0/2, g0/2), delta^2 ~ IG(a, b), L ~ Gamma(1/2 + e1, e2)."""

    v0: float
    g0: float
    a: float
    b: float
    e1: float
    e2: float


@by_reference
class Hierarchy(NamedTuple):
    """The parameters above the terms. Mutated by `gibbs`."""

    ridge: Ridge
    sigma_squared: Floats  # (c,)
    rate: Floats  # (1,), L
    alpha: Floats  # (c, m_max)


def start_hierarchy(
    state: State, R_fixed: Floats, delta_squared: Floats, rate: float, *, relative: bool = False
) -> Hierarchy:
    """Allocate, with given delta^2 (c,) and L."""
    n_outputs, m_max = state.factor.Z.shape
    ridge = make_ridge(state.factor, R_fixed, relative=relative)
    ridge.delta_squared[:] = delta_squared
    return Hierarchy(ridge, np.ones(n_outputs), np.array([rate]), np.zeros((n_outputs, m_max)))


@kernel
def log_truncation(rate: float, k_max: int) -> float:
    """Evaluate ln sum_{j <= k_max} L^j/j!, which normalises the Poisson prior of k."""
    log_rate = np.log(rate)
    log_term = 0.0
    largest = 0.0
    for j in range(1, k_max + 1):
        log_term += log_rate - np.log(float(j))
        if log_term > largest:
            largest = log_term
    total = 0.0
    log_term = 0.0
    for j in range(k_max + 1):
        if j > 0:
            log_term += log_rate - np.log(float(j))
        total += np.exp(log_term - largest)
    return largest + np.log(total)


@kernel
def log_joint(problem: Problem, prior: Prior, hierarchy: Hierarchy, k: int, n_columns: int) -> float:
    """Evaluate the log density of (k, mu, delta^2, L), on sets of terms, up to a constant."""
    ridge, rate = hierarchy.ridge, hierarchy.rate[0]
    m = problem.m_fixed + n_columns
    total = k * np.log(rate) - log_truncation(rate, problem.k_max)
    total += (prior.e1 - 0.5) * np.log(rate) - prior.e2 * rate
    for i in range(ridge.S.size):
        delta_squared = ridge.delta_squared[i]
        total -= 0.5 * m * np.log(delta_squared) + log_volume(ridge, i, m)
        total -= 0.5 * (problem.n_total + prior.v0) * np.log(0.5 * (prior.g0 + max(ridge.S[i], problem.rss_floor[i])))
        total -= (prior.a + 1.0) * np.log(delta_squared) + prior.b / delta_squared
    return total


@glue
def gibbs(rng: np.random.Generator, problem: Problem, prior: Prior, state: State, hierarchy: Hierarchy) -> None:
    """Draw sigma^2, alpha and delta^2 given the terms, and L given k. Mutates the hierarchy. O(c m^3)."""
    ridge = hierarchy.ridge
    k, n_columns = state.terms.k[0], state.n_columns[0]
    m = problem.m_fixed + n_columns
    for i in range(ridge.S.size):
        S = max(ridge.S[i], problem.rss_floor[i])
        sigma_squared = 0.5 * (prior.g0 + S) / rng.standard_gamma(0.5 * (prior.v0 + problem.n_total))
        sigma = np.sqrt(sigma_squared)
        alpha = hierarchy.alpha[i]
        for j in range(m):
            alpha[j] = ridge.zeta[i, 0, j] + sigma * rng.standard_normal()
        solve_coefficients(ridge, i, m, alpha)
        squared = 0.0
        for j in range(m):
            squared += alpha[j] * alpha[j]
        hierarchy.sigma_squared[i] = sigma_squared
        shape = prior.a + 0.5 * m
        ridge.delta_squared[i] = (prior.b + 0.5 * squared / sigma_squared) / rng.standard_gamma(shape)
    # The Gamma is exact but for the truncation of k's prior, which a Metropolis step puts right.
    rate = hierarchy.rate[0]
    proposed = rng.standard_gamma(0.5 + prior.e1 + k) / (1.0 + prior.e2)
    k_max = problem.k_max
    log_ratio = (proposed - log_truncation(proposed, k_max)) - (rate - log_truncation(rate, k_max))
    if accept(log_ratio, 0.0, np.log(rng.random()), 0.0, 1.0, False):
        hierarchy.rate[0] = proposed
    refresh_ridge(state.factor, ridge, problem.m_fixed, n_columns)


@glue
def take_sample_step(
    problem: Problem, prior: Prior, state: State, work: Workspace, hierarchy: Hierarchy, record: Record, number: int
) -> bool:
    """Take a step that was drawn and projected; say whether the state changed."""
    edits, columns, drawn, products, ridge = work.edits, work.columns, work.drawn, work.products, hierarchy.ridge
    move, which = drawn.move[number], drawn.edit[number]
    record.counts[move, CHOSEN] += 1
    if which < 0:
        return False
    record.counts[move, FEASIBLE] += 1
    q, m_fixed = state.n_columns[0], problem.m_fixed
    n_out, n_in, out = columns.n_out[which], columns.n_in[which], columns.out[which]
    if is_faint(problem, products, columns, which):
        return False
    if not enter_design(ridge, products, which, ridge.S.size, m_fixed, m_fixed + q, n_in):
        return False
    log_ratio = (edits.n_in[which] - edits.n_out[which]) * np.log(hierarchy.rate[0])
    for i in range(ridge.S.size):
        if not score_ridge(state.factor, ridge, i, m_fixed, q, n_out, out, n_in):
            return False
        before, after = max(ridge.S[i], problem.rss_floor[i]), max(ridge.scratch.rss[0], problem.rss_floor[i])
        log_ratio -= 0.5 * (n_in - n_out) * np.log(ridge.delta_squared[i]) + 0.5 * np.log(ridge.scratch.volume[0])
        log_ratio -= 0.5 * (problem.n_total + prior.v0) * np.log((prior.g0 + after) / (prior.g0 + before))
    if not accept(log_ratio, drawn.log_green[number], drawn.log_uniform[number, 0], 0.0, 1.0, False):
        return False
    record.counts[move, ACCEPTED] += 1
    fill_columns(problem, state, work, which)
    commit(state.factor, products, which, work.scratch, m_fixed, q, n_out, out, n_in)
    commit_ridge(state.factor, ridge, m_fixed, q, n_out, out, n_in)
    state.n_columns[0] = q + n_in - n_out
    state.n_own[0] = count_after_edit(problem.families, state.terms, state.n_own[0], edits, which)
    edit_terms(state.terms, edits, which)
    return True


@glue
def take_sample_shared_step(
    rng: np.random.Generator,
    problem: Problem,
    prior: Prior,
    state: State,
    work: Workspace,
    hierarchy: Hierarchy,
    record: Record,
) -> None:
    """Propose other shared parameters, and take them or not. Mutates state and hierarchy. O(N m^2)."""
    ridge, k, q, shared = hierarchy.ridge, state.terms.k[0], state.n_columns[0], state.terms.shared
    number, feasible, log_green = propose_shared(rng, problem.families, state.terms, work.proposed_shared)
    move = len(MOVES) + number
    log_uniform = np.log(rng.random())
    record.counts[move, CHOSEN] += 1
    if feasible:
        record.counts[move, FEASIBLE] += 1
        if factor_anew(problem, state, work, BEARS_ALL):
            # The ridge of the proposal is made in place of the present one, and that made again if it stays.
            before = log_joint(problem, prior, hierarchy, k, q)
            none_is_linear = refresh_ridge(work.spare, ridge, problem.m_fixed, q)
            log_ratio = log_joint(problem, prior, hierarchy, k, q) - before
            if none_is_linear and accept(log_ratio, log_green, log_uniform, 0.0, 1.0, False):
                record.counts[move, ACCEPTED] += 1
                copy_into(work.spare, state.factor, problem.m_fixed + q)
                state.n_own[0] = count_under(problem.families, state.terms, work.proposed_shared)
                for i in range(shared.size):
                    shared[i] = work.proposed_shared[i]
            refresh_ridge(state.factor, ridge, problem.m_fixed, q)


def _compile_run_sample_block(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def run_sample_block(
        rng: np.random.Generator,
        problem: Problem,
        prior: Prior,
        tuning: Tuning,
        state: State,
        work: Workspace,
        hierarchy: Hierarchy,
        record: Record,
        n_steps: int,
        first_iteration: int,
        steps_between_gibbs: int,
        afresh: bool,
    ) -> float:
        """Make n_steps steps, numbered from `first_iteration`; return the log density of the state they end in.

        The ridge is made anew first if `afresh`, as it must be where the factor has been.
        """
        sources = digest  # noqa: F841  # a part of the cache's key
        if afresh:
            refresh_ridge(state.factor, hierarchy.ridge, problem.m_fixed, state.n_columns[0])
        between = tuning.steps_between_shared_moves
        n_done = 0
        while n_done < n_steps:
            until_gibbs = steps_between_gibbs - (first_iteration + n_done) % steps_between_gibbs
            until_shared = between - (first_iteration + n_done) % between
            n_most = min(n_steps - n_done, until_gibbs, until_shared)
            n_drawn = draw_steps(rng, problem, tuning, state, work, n_most)
            project_incoming(problem, state, work)
            for number in range(n_drawn):
                n_done += 1
                if take_sample_step(problem, prior, state, work, hierarchy, record, number):
                    break
            if (first_iteration + n_done) % between == 0:
                take_sample_shared_step(rng, problem, prior, state, work, hierarchy, record)
            # Last, so that coefficients are those of the terms as they are.
            if (first_iteration + n_done) % steps_between_gibbs == 0:
                gibbs(rng, problem, prior, state, hierarchy)
        return log_joint(problem, prior, hierarchy, state.terms.k[0], state.n_columns[0])

    return run_sample_block


run_sample_block = _compile_run_sample_block(source_digest())
