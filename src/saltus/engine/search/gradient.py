"""The gradient of log pi with respect to centres, log sharpnesses and log relevances, compiled.

Coefficients are projected out (variable projection). With e_i the residuals and alpha_i the coefficients at the
least-squares solution,

    d log pi = N sum_i 1/RSS_i  e_i' (d Phi) alpha_i

exactly: what the coefficients and the linear term do in response has no first-order effect.

Rows are in tiles, as in `factor`. Two passes are made over them. The first evaluates the basis functions, takes off
what they share with the linear term and, tile by tile, turns what is left into R by Householder reflections; the
residuals come along as further columns, so that Q is never formed. The second sums the gradient.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import glue, kernel, reducing_kernel
from saltus._typing import Floats
from saltus.engine.kernels.factor import COLLINEAR, VANISHED, add_multiple, add_products, dot, subtract_projection
from saltus.families.registry import evaluate_column_and_slope

# A column is dependent when less than this share of its length is new: twice what chains would refuse.
DEPENDENT = 2 * COLLINEAR**0.5
SHORTEST = VANISHED**0.5


class Surface(NamedTuple):
    """The data, and log pi as a function of k centres and, where the metric is learned, q log relevances.

    A point is a vector of k d + q or k d numbers: the centres one after another, in coordinates that `to_metric` takes
    to those of X; then the logarithms. Where widths are the functions' own, the logarithm of the sharpness is
    `sharpness_scale` times the last coordinate of a centre, less `log_sharpest`.
    """

    basis_code: int
    X: Floats  # (n_tiles, q, L)
    root_weight: Floats  # (n_tiles, L), 0 beyond the data
    Q_fixed: Floats  # (n_tiles, m_fixed, L), the linear term
    E_fixed: Floats  # (n_tiles, c, L), its residuals
    to_metric: Floats  # (q, d)
    log_sharpest: float  # 0 where all share a width
    sharpness_scale: float
    n_total: float
    rss_floor: Floats  # (c,)
    penalty: float
    learns_metric: bool
    faintest: float  # the smallest squared length of a basis function
    dependent: float  # the smallest share of its length that is new


class Work(NamedTuple):
    """Workspace for k centres, and the fit at the last point."""

    squared: Floats  # (n_tiles, k, L), squared distances
    Phi: Floats  # (n_tiles, k, L), basis functions
    slope: Floats  # (n_tiles, k, L), their derivatives with respect to squared distance
    tile: Floats  # (k + c, L)
    lengths: Floats  # (k,), squared, of the basis functions
    shared: Floats  # (k, m_fixed), what they have in common with the linear term
    R: Floats  # (k, k + c), of the basis functions less the linear term; what is below the diagonal is not to be read
    rss: Floats  # (c,)
    alpha: Floats  # (c, k), coefficients
    alpha_fixed: Floats  # (c, m_fixed), what they change about those of the linear term
    centers: Floats  # (k, q + 1), in the coordinates of X; last, the sharpness
    relevance: Floats  # (q,)
    residuals: Floats  # (c, L)
    by_squared: Floats  # (2, L), d log pi / d r^2 of each row, for one centre, and times sharpness^2 for all
    moments: Floats  # (k, q), its products with X
    totals: Floats  # (k,), its sums
    pulls: Floats  # (k,), its products with r^2
    products: Floats  # (k + c,)


def make_work(surface: Surface, relevance: Floats, k: int) -> Work:
    """Allocate the workspace; the relevances (q,) are those used where the metric is given."""
    n_tiles, q, length = surface.X.shape
    m_fixed, c = surface.Q_fixed.shape[1], surface.E_fixed.shape[1]
    return Work(
        squared=np.empty((n_tiles, k, length)),
        Phi=np.empty((n_tiles, k, length)),
        slope=np.empty((n_tiles, k, length)),
        tile=np.empty((k + c, length)),
        lengths=np.empty(k),
        shared=np.empty((k, m_fixed)),
        R=np.empty((k, k + c)),
        rss=np.empty(c),
        alpha=np.empty((c, k)),
        alpha_fixed=np.empty((c, m_fixed)),
        centers=np.ones((k, q + 1)),
        relevance=relevance.copy(),
        residuals=np.empty((c, length)),
        by_squared=np.empty((2, length)),
        moments=np.empty((k, q)),
        totals=np.empty(k),
        pulls=np.empty(k),
        products=np.empty(k + c),
    )


def flops_a_look(surface: Surface, k: int) -> int:
    """Count the floating-point operations of a look at k centres, for a row."""
    q, m_fixed, c = surface.X.shape[1], surface.Q_fixed.shape[1], surface.E_fixed.shape[1]
    return k * (4 * (k + m_fixed + c) + 8 * q + 40)


@glue
def unpack(surface: Surface, x: Floats, work: Work) -> None:
    """Find the centres and the relevances of a point."""
    q, d = surface.to_metric.shape
    k = work.lengths.size
    for j in range(k):
        for i in range(q):
            work.centers[j, i] = dot(surface.to_metric[i], x[j * d :], d)
        if surface.log_sharpest > 0.0:
            work.centers[j, q] = np.exp(surface.sharpness_scale * x[j * d + d - 1] - surface.log_sharpest)
    if surface.learns_metric:
        for i in range(q):
            work.relevance[i] = np.exp(x[k * d + i])


@kernel
def clear(values: Floats) -> None:
    """Set values to 0."""
    for i in range(values.size):
        values[i] = 0.0


@kernel
def copy_column(source: Floats, to: Floats) -> None:
    """Copy a column. O(L)."""
    for n in range(to.size):
        to[n] = source[n]


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
def factor_columns(surface: Surface, work: Work) -> None:
    """Evaluate the basis functions at the point that was unpacked, and their R. O(N m (m + q))."""
    Phi, tile, R, shared = work.Phi, work.tile, work.R, work.shared
    n_tiles, k, _ = Phi.shape
    m_fixed, c = surface.Q_fixed.shape[1], surface.E_fixed.shape[1]
    clear(work.lengths)
    clear(work.rss)
    for j in range(k):
        clear(shared[j])
        clear(R[j])
    for t in range(n_tiles):
        for j in range(k):
            column = Phi[t, j]
            evaluate_column_and_slope(
                surface.basis_code,
                surface.X[t],
                work.centers[j],
                work.relevance,
                surface.root_weight[t],
                work.squared[t, j],
                column,
                work.slope[t, j],
            )
            work.lengths[j] += dot(column, column, column.size)
            add_products(surface.Q_fixed[t], column, m_fixed, shared[j])
    for t in range(n_tiles):
        for j in range(k):
            copy_column(Phi[t, j], tile[j])
            subtract_projection(surface.Q_fixed[t], tile[j], m_fixed, shared[j])
        for i in range(c):
            copy_column(surface.E_fixed[t, i], tile[k + i])
        absorb(tile, R, k, work.products)
        for i in range(c):
            work.rss[i] += dot(tile[k + i], tile[k + i], tile.shape[1])


@glue
def solve(work: Work) -> None:
    """Set the coefficients from R. O(k^2)."""
    R, alpha, shared, alpha_fixed = work.R, work.alpha, work.shared, work.alpha_fixed
    c, k = alpha.shape
    for i in range(c):
        for b in range(k):
            j = k - 1 - b
            found = dot(R[j, j + 1 :], alpha[i, j + 1 :], b)
            alpha[i, j] = (R[j, k + i] - found) / R[j, j]
        clear(alpha_fixed[i])
        for j in range(k):
            add_multiple(-alpha[i, j], shared[j], alpha_fixed[i])


@kernel
def weigh_column(coefficients: Floats, residuals: Floats, slope: Floats, sharpness: float, by_squared: Floats) -> None:
    """Set by_squared[0] to d log pi / d r^2 of one centre; add it, times sharpness^2, to by_squared[1]. O(L c)."""
    one, of_all = by_squared[0], by_squared[1]
    clear(one)
    for i in range(coefficients.size):
        add_multiple(coefficients[i], residuals[i], one)
    for n in range(one.size):
        one[n] *= slope[n]
        of_all[n] += sharpness * sharpness * one[n]


@reducing_kernel
def total(values: Floats) -> float:
    """Sum values[n].

    In a kernel of its own: summed within `weigh_column`, it had other last bits in the process that compiled it than
    in those that read it from disk.
    """
    found = 0.0
    for n in range(values.size):
        found += values[n]
    return found


@reducing_kernel
def weighted_square(weights: Floats, x: Floats) -> float:
    """Sum weights[n] x[n]^2."""
    total = 0.0
    for n in range(x.size):
        total += weights[n] * x[n] * x[n]
    return total


@glue
def sum_gradient(surface: Surface, work: Work, gradient: Floats) -> None:
    """Set the gradient from the coefficients. O(N k (c + q))."""
    X, E_fixed = surface.X, surface.E_fixed
    n_tiles, k, _ = work.Phi.shape
    q, d = surface.to_metric.shape
    c, m_fixed = work.alpha_fixed.shape
    clear(work.totals)
    clear(work.pulls)
    clear(gradient)
    for j in range(k):
        clear(work.moments[j])
    for t in range(n_tiles):
        for i in range(c):
            residual = work.residuals[i]
            copy_column(E_fixed[t, i], residual)
            subtract_projection(work.Phi[t], residual, k, work.alpha[i])
            subtract_projection(surface.Q_fixed[t], residual, m_fixed, work.alpha_fixed[i])
        clear(work.by_squared[1])
        for j in range(k):
            for i in range(c):
                work.products[i] = surface.n_total / work.rss[i] * work.alpha[i, j]
            weigh_column(work.products[:c], work.residuals, work.slope[t, j], work.centers[j, q], work.by_squared)
            work.totals[j] += total(work.by_squared[0])
            work.pulls[j] += dot(work.by_squared[0], work.squared[t, j], work.by_squared.shape[1])
            add_products(X[t], work.by_squared[0], q, work.moments[j])
        if surface.learns_metric:
            for i in range(q):
                gradient[k * d + i] += weighted_square(work.by_squared[1], X[t, i])
    for j in range(k):
        sharpened = work.centers[j, q] * work.centers[j, q]
        if surface.log_sharpest > 0.0:
            gradient[j * d + d - 1] = 2.0 * surface.sharpness_scale * work.pulls[j]
        for i in range(q):
            squared = work.relevance[i] * work.relevance[i]
            mu, moment, sum_j = work.centers[j, i], sharpened * work.moments[j, i], sharpened * work.totals[j]
            along = 2.0 * squared * (mu * sum_j - moment)
            add_multiple(along, surface.to_metric[i], gradient[j * d : (j + 1) * d])
            if surface.learns_metric:
                gradient[k * d + i] += mu * (mu * sum_j - 2.0 * moment)
    if surface.learns_metric:
        for i in range(q):
            gradient[k * d + i] *= 2.0 * work.relevance[i] * work.relevance[i]


@glue
def look(surface: Surface, x: Floats, work: Work, gradient: Floats) -> float:
    """Evaluate log pi and its gradient at a point. O(N m (m + q)).

    Minus infinity where columns depend on each other, or the gradient is not finite.
    """
    k = work.lengths.size
    unpack(surface, x, work)
    factor_columns(surface, work)
    for j in range(k):
        new = abs(work.R[j, j])
        if work.lengths[j] < surface.faintest or not new > surface.dependent * np.sqrt(work.lengths[j]) + SHORTEST:
            return -np.inf
    value = -surface.penalty
    for i in range(work.rss.size):
        work.rss[i] = max(work.rss[i], surface.rss_floor[i])
        value -= 0.5 * surface.n_total * np.log(work.rss[i])
    solve(work)
    sum_gradient(surface, work, gradient)
    return value if np.isfinite(dot(gradient, gradient, gradient.size)) else -np.inf
