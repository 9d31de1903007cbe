"""log pi and its gradient with respect to the continuous parameters of all terms, own and shared, compiled.

Coefficients are projected out (variable projection). With e_i the residuals and alpha_i the coefficients at the
least-squares solution,

    d log pi = N sum_i 1/RSS_i  e_i' (d Phi) alpha_i

exactly: what the coefficients and the linear term do in response has no first-order effect.

Rows are in tiles, as in `factor`. Two passes are made over them. The first evaluates the columns, takes off what they
share with the linear term and, tile by tile, turns what is left into R by Householder reflections; the residuals come
along as further columns, so that Q is never formed. The second sums the gradient: families know how d log pi by a
column becomes d log pi by its parameters.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue, kernel
from saltus._typing import Floats
from saltus._vectors import add_multiple, add_products, clear, copy_column, dot, subtract_projection
from saltus.engine.kernels.factor import VANISHED
from saltus.engine.problem.problem import Problem
from saltus.families.free import FreeParameters
from saltus.families.registry import (
    FamilyWork,
    begin_gradient,
    begin_tile,
    end_tile,
    evaluate_in_descent,
    finish_gradient,
    make_family_work,
    pull_back,
    unpack_terms,
)

# A column no longer than this has vanished.
SHORTEST = VANISHED**0.5


@by_reference
class Work(NamedTuple):
    """Workspace for terms of q columns, and the fit at the last point."""

    families: FamilyWork
    Phi: Floats  # (n_tiles, q, L), columns of the terms
    tile: Floats  # (q + c, L)
    lengths: Floats  # (q,), squared, of the columns
    shared: Floats  # (q, m_fixed), what they have in common with the linear term
    R: Floats  # (q, q + c), of the columns less the linear term; what is below the diagonal is not to be read
    rss: Floats  # (c,), once it is evaluated with what the prior adds
    alpha: Floats  # (c, q), coefficients
    alpha_fixed: Floats  # (c, m_fixed), what they change about those of the linear term
    residuals: Floats  # (c, L)
    by_column: Floats  # (L,), d log pi by one column
    products: Floats  # (q + c,)


def make_work(problem: Problem, free: FreeParameters) -> Work:
    """Allocate the workspace of a descent on what is free of some terms."""
    q = len(free.decoded)
    n_tiles, length = problem.root_weight.shape
    m_fixed, c = problem.m_fixed, problem.rss_floor.size
    return Work(
        families=make_family_work(problem.families, free.terms, free.decoded, free.n_free),
        Phi=np.empty((n_tiles, q, length)),
        tile=np.empty((q + c, length)),
        lengths=np.empty(q),
        shared=np.empty((q, m_fixed)),
        R=np.empty((q, q + c)),
        rss=np.empty(c),
        alpha=np.empty((c, q)),
        alpha_fixed=np.empty((c, m_fixed)),
        residuals=np.empty((c, length)),
        by_column=np.empty(length),
        products=np.empty(q + c),
    )


def flops_of_a_gradient(problem: Problem, q: int) -> int:
    """Count the floating-point operations that log pi and its gradient take for a row, with q columns of terms."""
    n = problem.families.n_decoded - 1
    return q * (4 * (q + problem.m_fixed + problem.rss_floor.size) + 8 * n + 40)


@kernel
def absorb(tile: Floats, R: Floats, k: int, products: Floats) -> None:
    """Reflect the rows of a tile (columns, L) into the first k rows of R (k, columns). O(L k^2).

    What is left in the columns from the k-th on is orthogonal to the others.
    """
    n_columns, length = tile.shape
    for j in range(k):
        v = tile[j]
        squared = dot(v, v, length)
        if squared > 0.0:
            old = R[j, j]
            new = np.sqrt(old * old + squared)
            if old > 0.0:
                new = -new
            scale = 1.0 / (old - new)
            tau = (new - old) / new
            R[j, j] = new
            for n in range(length):
                v[n] *= scale
            first = j + 1
            for a in range(n_columns - first):
                products[a] = R[j, first + a]
            add_products(tile[first:], v, n_columns - first, products)
            for a in range(n_columns - first):
                products[a] *= tau
                R[j, first + a] -= products[a]
                add_multiple(-products[a], v, tile[first + a])


@glue
def factor_columns(problem: Problem, work: Work) -> None:
    """Evaluate the columns of the terms that were unpacked, and their R. O(N m (m + p))."""
    Phi, tile, R, shared, linear = work.Phi, work.tile, work.R, work.shared, problem.linear.tiles
    n_tiles, q, _ = Phi.shape
    m_fixed, c = problem.m_fixed, work.rss.size
    clear(work.lengths)
    clear(work.rss)
    for j in range(q):
        clear(shared[j])
        clear(R[j])
    for t in range(n_tiles):
        Q_fixed = linear[t, c:]
        for j in range(q):
            column = Phi[t, j]
            evaluate_in_descent(problem.families, t, j, problem.root_weight[t], work.families, column)
            work.lengths[j] += dot(column, column, column.size)
            add_products(Q_fixed, column, m_fixed, shared[j])
    for t in range(n_tiles):
        Q_fixed = linear[t, c:]
        for j in range(q):
            copy_column(Phi[t, j], tile[j])
            subtract_projection(Q_fixed, tile[j], m_fixed, shared[j])
        for i in range(c):
            copy_column(linear[t, i], tile[q + i])
        absorb(tile, R, q, work.products)
        for i in range(c):
            work.rss[i] += dot(tile[q + i], tile[q + i], tile.shape[1])


@glue
def solve(work: Work) -> None:
    """Set the coefficients from R. O(q^2)."""
    R, alpha, shared, alpha_fixed = work.R, work.alpha, work.shared, work.alpha_fixed
    c, q = alpha.shape
    for i in range(c):
        for b in range(q):
            j = q - 1 - b
            found = dot(R[j, j + 1 :], alpha[i, j + 1 :], b)
            alpha[i, j] = (R[j, q + i] - found) / R[j, j]
        clear(alpha_fixed[i])
        for j in range(q):
            add_multiple(-alpha[i, j], shared[j], alpha_fixed[i])


@glue
def sum_gradient(problem: Problem, work: Work, gradient: Floats) -> None:
    """Set the gradient from the coefficients. O(N q (c + p))."""
    linear, by_column = problem.linear.tiles, work.by_column
    n_tiles, q, _ = work.Phi.shape
    c, m_fixed = work.alpha_fixed.shape
    begin_gradient(problem.families, work.families)
    clear(gradient)
    for t in range(n_tiles):
        for i in range(c):
            residual = work.residuals[i]
            copy_column(linear[t, i], residual)
            subtract_projection(work.Phi[t], residual, q, work.alpha[i])
            subtract_projection(linear[t, c:], residual, m_fixed, work.alpha_fixed[i])
        begin_tile(problem.families, work.families)
        for j in range(q):
            clear(by_column)
            for i in range(c):
                add_multiple(problem.degrees / work.rss[i] * work.alpha[i, j], work.residuals[i], by_column)
            pull_back(problem.families, t, j, problem.root_weight[t], by_column, work.families, gradient)
        end_tile(problem.families, t, work.families, gradient)
    finish_gradient(problem.families, work.families, gradient)


@glue
def value_and_gradient(problem: Problem, penalty: float, x: Floats, work: Work, gradient: Floats) -> float:
    """Evaluate log pi and its gradient at a point. O(N m (m + p)).

    Minus infinity where columns depend on each other, or the gradient is not finite.
    """
    q = work.lengths.size
    unpack_terms(problem.families, x, work.families)
    factor_columns(problem, work)
    for j in range(q):
        new, length = abs(work.R[j, j]), np.sqrt(work.lengths[j])
        smallest = problem.families.smallest_squared_norm[work.families.family[j]]
        if work.lengths[j] < smallest or not new > problem.smallest_new_share * length + SHORTEST:
            return -np.inf
    value = -penalty
    for i in range(work.rss.size):
        work.rss[i] = max(work.rss[i], problem.rss_floor[i]) + problem.prior_rss[i]
        value -= 0.5 * problem.degrees * np.log(work.rss[i])
    solve(work)
    sum_gradient(problem, work, gradient)
    return value if np.isfinite(dot(gradient, gradient, gradient.size)) else -np.inf
