"""The target of the annealing: log pi of a state, compiled and as it is."""

from math import log

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints
from saltus.engine.problem.problem import Criterion, Problem
from saltus.families.registry import (
    Families,
    count_columns,
    count_shared_parameters,
    count_shared_parameters_kernel,
    count_term_kernel,
    count_terms,
)
from saltus.families.terms import Edits, Terms, TermSet

# Stands for a penalty that is infinite, so that a chain can tell up from down.
UNAFFORDABLE = 1e8


def penalty(problem: Problem, n_outputs: int, k: int, n_columns: int, n_own: int, n_shared: int) -> float:
    """Evaluate P for k terms of so many columns and n_own parameters in all, and n_shared in common.

    What is infinite costs so much that shared parameters are given up first; each term more costs something too, so
    that terms are given up where no shared parameter can be.
    """
    by_count, by_size = problem.criterion.by_count, problem.criterion.by_size
    n_own += k * problem.criterion.n_own_a_term
    n_parameters = n_columns * n_outputs + n_own + n_shared if k > 0 else 0
    if n_parameters < by_count.size:
        return by_count[n_parameters] + by_size[k] + n_columns * problem.criterion.a_column
    return UNAFFORDABLE * (n_shared + 1.0 + k / by_size.size)


penalty_kernel = kernel(penalty)


def penalties(criterion: Criterion, n_outputs: int, k: Ints, n_columns: Ints, n_own: Ints, n_shared: int) -> Floats:
    """Evaluate P for networks of k (n,) terms, n_columns (n,) and n_own (n,) parameters, as `penalty` does for one."""
    by_count, by_size = criterion.by_count, criterion.by_size
    n_own = n_own + k * criterion.n_own_a_term
    n = np.where(k > 0, n_columns * n_outputs + n_own + n_shared, 0)
    known = by_count[np.minimum(n, by_count.size - 1)] + by_size[k] + n_columns * criterion.a_column
    return np.where(n < by_count.size, known, UNAFFORDABLE * (n_shared + 1.0 + k / by_size.size))


def penalty_of(problem: Problem, terms: TermSet) -> float:
    """Evaluate P for terms."""
    n_own = count_terms(problem.families, terms)
    n_shared = count_shared_parameters(problem.families, terms.shared)
    n_columns = count_columns(problem.families, terms)
    return float(penalty(problem, problem.rss_floor.size, len(terms), n_columns, n_own, n_shared))


def penalty_of_size(problem: Problem, k: int, n_columns: int, n_own: int, shared: Floats) -> float:
    """Evaluate P for k terms of n_columns and n_own parameters each and shared parameters (s,)."""
    n_shared = count_shared_parameters(problem.families, shared)
    return float(penalty(problem, problem.rss_floor.size, k, k * n_columns, k * n_own, n_shared))


def log_density(problem: Problem, rss: Floats, terms: TermSet) -> float:
    """Evaluate log pi of terms from the residual sums of squares."""
    log_rss = 0.0
    for i in range(rss.size):
        log_rss += log(max(rss[i], problem.rss_floor[i]) + problem.prior_rss[i])
    return -0.5 * problem.degrees * log_rss - penalty_of(problem, terms)


@kernel
def log_density_kernel(problem: Problem, rss: Floats, k: int, n_columns: int, n_own: int, shared: Floats) -> float:
    """Do the same for k terms of so many columns and n_own parameters in all, for compiled callers."""
    log_rss = 0.0
    for i in range(rss.size):
        log_rss += log(max(rss[i], problem.rss_floor[i]) + problem.prior_rss[i])
    n_shared = count_shared_parameters_kernel(problem.families, shared)
    return -0.5 * problem.degrees * log_rss - penalty_kernel(problem, rss.size, k, n_columns, n_own, n_shared)


@glue
def count_after_edit(families: Families, terms: Terms, n_own: int, edits: Edits, which: int) -> int:
    """Count the own parameters of all terms after an edit, given their number before."""
    for a in range(edits.n_in[which]):
        n_own += count_term_kernel(families, edits.family[which, a], edits.choices[which, a], terms.shared)
    for b in range(edits.n_out[which]):
        j = edits.out[which, b]
        n_own -= count_term_kernel(families, terms.family[j], terms.choices[j], terms.shared)
    return n_own


@glue
def count_under(families: Families, terms: Terms, shared: Floats) -> int:
    """Count the own parameters of all terms under other shared parameters. O(k)."""
    n_own = 0
    for j in range(terms.k[0]):
        n_own += count_term_kernel(families, terms.family[j], terms.choices[j], shared)
    return n_own


@glue
def accept(
    log_ratio: float,
    log_green: float,
    log_uniform: float,
    another_log_uniform: float,
    temperature: float,
    two_stage: bool,
) -> bool:
    """Decide on a proposal that changes log pi by `log_ratio`. log_green is never tempered.

    Two-stage is eq. (5) of the paper: what the kernel for pi itself returns is accepted with probability
    min{1, (pi'/pi)^(1/T - 1)}. The alternative is the kernel for pi^(1/T); at T = 1 that is Metropolis and Hastings'.
    """
    if two_stage:
        by_kernel = log_uniform < log_ratio + log_green
        return by_kernel and another_log_uniform < (1.0 / temperature - 1.0) * log_ratio
    return log_uniform < log_ratio / temperature + log_green


def accept_exchange(log_ratio: float, log_uniform: float) -> bool:
    """Decide on an exchange of states between two chains, which draws nothing: Metropolis's rule."""
    return log_uniform < log_ratio
