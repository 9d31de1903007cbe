"""The full posterior: the same chain at temperature 1 on a hierarchical target, with Gibbs steps for its parameters.

On sets of centres, collapsed over coefficients and noise variances, given delta^2 and the rate L of k:

    log p = k ln L + sum_i [ -m/2 ln delta_i^2 + 1/2 ln|V| - 1/2 ln|W_i| - (N + v0)/2 ln((g0 + S_i)/2) ]
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import entry_point, glue, kernel, source_digest
from saltus._typing import Floats
from saltus.engine.kernels.chain import (
    ACCEPTED,
    CHOSEN,
    FEASIBLE,
    Record,
    State,
    Target,
    Tuning,
    draw_steps,
    factor_anew,
    fill_columns,
    is_faint,
    replace_centers,
    survey,
)
from saltus.engine.kernels.factor import commit, copy_into, score
from saltus.engine.kernels.moves import SWITCH, propose_metric
from saltus.engine.kernels.ridge import (
    Ridge,
    commit_ridge,
    cross_design,
    log_volume,
    make_ridge,
    refresh_ridge,
    score_ridge,
    solve_coefficients,
)


class Prior(NamedTuple):
    """Hyperparameters: sigma^2 ~ IG(v0/2, g0/2), delta^2 ~ IG(a, b), L ~ Gamma(1/2 + e1, e2)."""

    v0: float
    g0: float
    a: float
    b: float
    e1: float
    e2: float


class Hierarchy(NamedTuple):
    """The parameters above the centres. Mutated by `gibbs`."""

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
def log_joint(target: Target, prior: Prior, hierarchy: Hierarchy, k: int) -> float:
    """Evaluate the log density of (k, mu, delta^2, L), on sets of centres, up to a constant."""
    ridge, rate = hierarchy.ridge, hierarchy.rate[0]
    m = target.m_fixed + k
    total = k * np.log(rate) - log_truncation(rate, target.penalty.shape[0] - 1)
    total += (prior.e1 - 0.5) * np.log(rate) - prior.e2 * rate
    for i in range(ridge.S.size):
        delta_squared = ridge.delta_squared[i]
        total -= 0.5 * m * np.log(delta_squared) + log_volume(ridge, i, m)
        total -= 0.5 * (target.n_total + prior.v0) * np.log(0.5 * (prior.g0 + max(ridge.S[i], target.rss_floor[i])))
        total -= (prior.a + 1.0) * np.log(delta_squared) + prior.b / delta_squared
    return total


@glue
def gibbs(rng: np.random.Generator, target: Target, prior: Prior, state: State, hierarchy: Hierarchy) -> None:
    """Draw sigma^2, alpha and delta^2 given the centres, and L given k. Mutates the hierarchy. O(c m^3)."""
    ridge = hierarchy.ridge
    k = state.k[0]
    m = target.m_fixed + k
    for i in range(ridge.S.size):
        S = max(ridge.S[i], target.rss_floor[i])
        sigma_squared = 0.5 * (prior.g0 + S) / rng.standard_gamma(0.5 * (prior.v0 + target.n_total))
        sigma = np.sqrt(sigma_squared)
        alpha = hierarchy.alpha[i]
        for j in range(m):
            alpha[j] = ridge.zeta[i, 0, j] + sigma * rng.standard_normal()
        solve_coefficients(ridge, i, m, alpha)
        squared = 0.0
        for j in range(m):
            squared += ridge.share[j] * alpha[j] * alpha[j]
        hierarchy.sigma_squared[i] = sigma_squared
        shape = prior.a + 0.5 * m
        ridge.delta_squared[i] = (prior.b + 0.5 * squared / sigma_squared) / rng.standard_gamma(shape)
    # The Gamma is exact but for the truncation of k's prior, which a Metropolis step puts right.
    rate = hierarchy.rate[0]
    proposed = rng.standard_gamma(0.5 + prior.e1 + k) / (1.0 + prior.e2)
    k_max = target.penalty.shape[0] - 1
    log_ratio = (proposed - log_truncation(proposed, k_max)) - (rate - log_truncation(rate, k_max))
    if np.log(rng.random()) < log_ratio:
        hierarchy.rate[0] = proposed
    refresh_ridge(state.factor, ridge, target.m_fixed, k)


@glue
def take_sample_step(
    target: Target, prior: Prior, state: State, hierarchy: Hierarchy, record: Record, number: int
) -> bool:
    """Take a step that was drawn and surveyed; say whether the state changed."""
    edits, drawn, ridge = state.edits, state.drawn, hierarchy.ridge
    move, which = drawn.move[number], drawn.edit[number]
    record.counts[move, CHOSEN] += 1
    if which < 0:
        return False
    record.counts[move, FEASIBLE] += 1
    k, m_fixed = state.k[0], target.m_fixed
    n_out, n_in, out = edits.n_out[which], edits.n_in[which], edits.out[which]
    if is_faint(target, state.products, which, n_in):
        return False
    cross_design(ridge, state.products, which, ridge.S.size, m_fixed, m_fixed + k, n_in)
    log_ratio = (n_in - n_out) * np.log(hierarchy.rate[0])
    for a in range(n_in):
        log_ratio += 0.5 * ridge.S.size * np.log(ridge.incoming_share[a])
    for b in range(n_out):
        log_ratio -= 0.5 * ridge.S.size * np.log(ridge.share[m_fixed + out[b]])
    for i in range(ridge.S.size):
        if not score_ridge(state.factor, state.products, which, ridge, i, m_fixed, k, n_out, out, n_in):
            return False
        before, after = max(ridge.S[i], target.rss_floor[i]), max(ridge.scratch.rss[0], target.rss_floor[i])
        log_ratio -= 0.5 * (n_in - n_out) * np.log(ridge.delta_squared[i]) + 0.5 * np.log(ridge.scratch.volume[0])
        log_ratio -= 0.5 * (target.n_total + prior.v0) * np.log((prior.g0 + after) / (prior.g0 + before))
    if drawn.log_uniform[number, 0] >= log_ratio + drawn.log_green[number]:
        return False
    # The ridge bears columns that coincide, the factor below it does not.
    if not score(state.factor, state.products, which, state.scratch, m_fixed, k, n_out, out, n_in):
        return False
    record.counts[move, ACCEPTED] += 1
    fill_columns(target, state, which)
    commit(state.factor, state.products, which, state.scratch, m_fixed, k, n_out, out, n_in)
    commit_ridge(state.factor, ridge, m_fixed, k, n_out, out, n_in)
    replace_centers(state, which)
    return True


@glue
def take_sample_metric_step(
    rng: np.random.Generator, target: Target, prior: Prior, state: State, hierarchy: Hierarchy, record: Record
) -> None:
    """Propose other relevances, and take them or not. Mutates state and hierarchy. O(N m^2)."""
    ridge, k = hierarchy.ridge, state.k[0]
    move, feasible, log_green = propose_metric(rng, state.relevance, state.proposed_relevance)
    log_uniform = np.log(rng.random())
    record.counts[move, CHOSEN] += 1
    if feasible and (k > 0 or move == SWITCH):
        record.counts[move, FEASIBLE] += 1
        if factor_anew(target, state):
            # The ridge of the proposal is made in place of the present one, and that made again if it stays.
            before = log_joint(target, prior, hierarchy, k)
            refresh_ridge(state.spare, ridge, target.m_fixed, k)
            if log_uniform < log_joint(target, prior, hierarchy, k) - before + log_green:
                record.counts[move, ACCEPTED] += 1
                copy_into(state.spare, state.factor, target.m_fixed + k)
                for i in range(state.relevance.size):
                    state.relevance[i] = state.proposed_relevance[i]
            refresh_ridge(state.factor, ridge, target.m_fixed, k)


def _compile_run_sample_block(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def run_sample_block(
        rng: np.random.Generator,
        target: Target,
        prior: Prior,
        tuning: Tuning,
        state: State,
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
            refresh_ridge(state.factor, hierarchy.ridge, target.m_fixed, state.k[0])
        between = tuning.steps_between_metric_moves
        n_done = 0
        while n_done < n_steps:
            until_gibbs = steps_between_gibbs - (first_iteration + n_done) % steps_between_gibbs
            until_metric = between - (first_iteration + n_done) % between
            n_most = min(n_steps - n_done, until_gibbs, until_metric)
            n_drawn = draw_steps(rng, target, tuning, state, n_most)
            survey(target, state)
            changed = False
            number = 0
            while number < n_drawn and not changed:
                changed = take_sample_step(target, prior, state, hierarchy, record, number)
                number += 1
                n_done += 1
            if (first_iteration + n_done) % steps_between_gibbs == 0:
                gibbs(rng, target, prior, state, hierarchy)
            if (first_iteration + n_done) % between == 0:
                take_sample_metric_step(rng, target, prior, state, hierarchy, record)
        return log_joint(target, prior, hierarchy, state.k[0])

    return run_sample_block


run_sample_block = _compile_run_sample_block(source_digest())
