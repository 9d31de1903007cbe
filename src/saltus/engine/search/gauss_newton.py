"""Damped Gauss-Newton steps (Levenberg & Marquardt) on centres, log sharpnesses and log relevances, compiled.

With J_i the derivatives of the residuals of output i, their coefficients projected out,

    - d^2 log pi  ~  N sum_i 1/RSS_i  J_i' J_i,    J_i = P (d Phi) alpha_i,

where P projects onto what neither the linear term nor the basis functions span (Kaufman 1975). Basis functions that
nearly coincide make this ill conditioned, which is where quasi-Newton steps stop too early: a shaken network of 9
cubic functions on the robot arm data ends at log pi 205 by 40 of these steps and at 199 by as many looks of L-BFGS as
it takes, in the median of 60. A step costs 1.3 looks there, and 9 with 8 functions of 10 inputs.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import entry_point, glue, kernel, source_digest
from saltus._typing import Floats, Ints
from saltus.engine.kernels.factor import add_multiple, add_products, dot, subtract_projection
from saltus.engine.search.gradient import Surface, Work, absorb, clear, copy_column, flops_a_look, look
from saltus.engine.search.quasi_newton import FARTHEST, FLAT, Search, hold, place_trial

# Damping at the start and at least, as a share of the curvature along each coordinate.
FIRST_DAMPING, LEAST_DAMPING = 1e-2, 1e-9
# It is cut by no more than this after a step that gained what was promised, and grows faster and faster after others.
LARGEST_CUT, FIRST_GROWTH = 1 / 3, 2.0
MOST_REFUSALS = 10
# A step that gains less than this share of the value is the last.
GAIN = 1e-6
# No coordinate is thought to curve less than this share of the one that curves most.
STRAIGHTEST = 1e-8


class Curvature(NamedTuple):
    """Workspace of `sum_curvature`, and the curvature at the last point. K = k d + c q columns, n parameters."""

    columns: Floats  # (n_tiles, K, L), derivatives of basis functions by places, and of outputs by log relevances
    shared: Floats  # (K, m_fixed), what they have in common with the linear term
    tile: Floats  # (k + K, L)
    R: Floats  # (k, k + K)
    products: Floats  # (k + K,)
    gram: Floats  # (K, K), upper, of what is left of the columns
    hessian: Floats  # (n, n), of - log pi
    factor: Floats  # (n, n), Cholesky's, lower
    damping: Floats  # (2,), and by what the next refusal multiplies it
    n_refusals: Ints  # (1,)


def make_curvature(surface: Surface, k: int) -> Curvature:
    """Allocate the workspace for k centres."""
    n_tiles, q, length = surface.X.shape
    d, m_fixed, c = surface.to_metric.shape[1], surface.Q_fixed.shape[1], surface.E_fixed.shape[1]
    n_relevances = q * surface.learns_metric
    n_columns, n = k * d + c * n_relevances, k * d + n_relevances
    return Curvature(
        columns=np.empty((n_tiles, n_columns, length)),
        shared=np.empty((n_columns, m_fixed)),
        tile=np.empty((k + n_columns, length)),
        R=np.empty((k, k + n_columns)),
        products=np.empty(k + n_columns),
        gram=np.empty((n_columns, n_columns)),
        hessian=np.empty((n, n)),
        factor=np.empty((n, n)),
        damping=np.array([FIRST_DAMPING, FIRST_GROWTH]),
        n_refusals=np.zeros(1, dtype=np.int64),
    )


def looks_a_step(surface: Surface, k: int) -> float:
    """Say how many looks take as long as the curvature of k centres."""
    q, d = surface.to_metric.shape
    m_fixed, c = surface.Q_fixed.shape[1], surface.E_fixed.shape[1]
    n_columns = k * d + c * q * surface.learns_metric
    return (n_columns * (4 * (m_fixed + k) + n_columns) + 2 * k * k) / flops_a_look(surface, k)


@kernel
def add_shift(multiple: float, slope: Floats, x: Floats, center: float, column: Floats) -> None:
    """Add a multiple of slope (x - center). O(L)."""
    for n in range(column.size):
        column[n] += multiple * slope[n] * (x[n] - center)


@kernel
def add_stretch(multiple: float, slope: Floats, x: Floats, center: float, column: Floats) -> None:
    """Add a multiple of slope (x - center)^2. O(L)."""
    for n in range(column.size):
        column[n] += multiple * slope[n] * (x[n] - center) * (x[n] - center)


@kernel
def add_product(multiple: float, a: Floats, b: Floats, column: Floats) -> None:
    """Add a multiple of a b. O(L)."""
    for n in range(column.size):
        column[n] += multiple * a[n] * b[n]


@glue
def set_columns(surface: Surface, work: Work, curvature: Curvature, t: int) -> None:
    """Set the derivatives in one tile. O(L k q (d + c))."""
    columns, X = curvature.columns[t], surface.X[t]
    k, (q, d) = work.lengths.size, surface.to_metric.shape
    for a in range(len(columns)):
        clear(columns[a])
    for j in range(k):
        slope = work.slope[t, j]
        sharpened = work.centers[j, q] * work.centers[j, q]
        for i in range(q):
            center, stretch = work.centers[j, i], 2.0 * sharpened * work.relevance[i] * work.relevance[i]
            for b in range(d):
                if surface.to_metric[i, b] != 0.0:
                    add_shift(-stretch * surface.to_metric[i, b], slope, X[i], center, columns[j * d + b])
            if surface.learns_metric:
                for o in range(work.rss.size):
                    add_stretch(stretch * work.alpha[o, j], slope, X[i], center, columns[k * d + o * q + i])
        if surface.log_sharpest > 0.0:
            add_product(2.0 * surface.sharpness_scale, slope, work.squared[t, j], columns[j * d + d - 1])


@glue
def sum_gram(surface: Surface, work: Work, curvature: Curvature) -> None:
    """Set the Gram matrix of the derivatives, less what the design spans. O(N K (m + K))."""
    columns, shared, tile, R, gram = (
        curvature.columns,
        curvature.shared,
        curvature.tile,
        curvature.R,
        curvature.gram,
    )
    n_tiles, k, _ = work.Phi.shape
    m_fixed, n_columns = surface.Q_fixed.shape[1], len(gram)
    for a in range(n_columns):
        clear(shared[a])
        clear(gram[a])
    for j in range(k):
        clear(R[j])
    for t in range(n_tiles):
        set_columns(surface, work, curvature, t)
        for a in range(n_columns):
            add_products(surface.Q_fixed[t], columns[t, a], m_fixed, shared[a])
    for t in range(n_tiles):
        for j in range(k):
            copy_column(work.Phi[t, j], tile[j])
            subtract_projection(surface.Q_fixed[t], tile[j], m_fixed, work.shared[j])
        for a in range(n_columns):
            copy_column(columns[t, a], tile[k + a])
            subtract_projection(surface.Q_fixed[t], tile[k + a], m_fixed, shared[a])
        # What is left of the later columns is orthogonal to the first k, in other coordinates of the rows.
        absorb(tile, R, k, curvature.products)
        for a in range(n_columns):
            add_products(tile[k + a :], tile[k + a], n_columns - a, gram[a, a:])


@kernel
def weigh_gram(alpha: Floats, weights: Floats, gram: Floats, d: int, q: int, hessian: Floats) -> None:
    """Set the Hessian from the Gram matrix, the coefficients (c, k) and N / RSS (c,). O(n^2 c)."""
    c, k = alpha.shape
    n = len(hessian)
    for a in range(n):
        for b in range(a, n):
            total = 0.0
            for o in range(c):
                at_a = a if a < k * d else a + o * q
                at_b = b if b < k * d else b + o * q
                first = alpha[o, a // d] if a < k * d else 1.0
                second = alpha[o, b // d] if b < k * d else 1.0
                total += weights[o] * first * second * gram[at_a, at_b]
            hessian[a, b] = total
            hessian[b, a] = total


@glue
def sum_curvature(surface: Surface, work: Work, curvature: Curvature) -> None:
    """Set the Hessian at the point that was looked at last. O(N K (m + K))."""
    sum_gram(surface, work, curvature)
    for o in range(work.rss.size):
        work.products[o] = surface.n_total / work.rss[o]
    q, d = surface.to_metric.shape
    weigh_gram(work.alpha, work.products, curvature.gram, d, q, curvature.hessian)


@kernel
def solve_damped(search: Search, curvature: Curvature) -> bool:
    """Turn the direction, a gradient that is 0 where coordinates are held, into a step. O(n^3).

    False where the damped curvature is not positive.
    """
    hessian, factor, direction = curvature.hessian, curvature.factor, search.direction
    n = direction.size
    largest = 0.0
    for i in range(n):
        largest = max(largest, hessian[i, i])
    for i in range(n):
        held = direction[i] == 0.0
        for j in range(i):
            entry = 0.0 if held or direction[j] == 0.0 else hessian[i, j]
            factor[i, j] = (entry - dot(factor[i], factor[j], j)) / factor[j, j]
        curved = max(hessian[i, i], STRAIGHTEST * largest)
        pivot = (1.0 + curvature.damping[0]) * curved - dot(factor[i], factor[i], i)
        if not pivot > 0.0:
            return False
        factor[i, i] = np.sqrt(pivot)
    for i in range(n):
        direction[i] = (direction[i] - dot(factor[i], direction, i)) / factor[i, i]
    for i in range(n - 1, -1, -1):
        direction[i] /= factor[i, i]
        add_multiple(-direction[i], factor[i, :i], direction[:i])
    return True


@kernel
def damp(curvature: Curvature) -> bool:
    """Ask for a shorter step; False where there were too many."""
    curvature.damping[0] *= curvature.damping[1]
    curvature.damping[1] *= 2.0
    curvature.n_refusals[0] += 1
    return curvature.n_refusals[0] <= MOST_REFUSALS


@kernel
def set_out_damped(search: Search, curvature: Curvature) -> bool:
    """Choose where to look next; False where there is nowhere to go.

    Back on the bounds, a step need not be uphill; one that is short enough is.
    """
    while hold(search) > FLAT * FLAT:
        if solve_damped(search, curvature):
            farthest = FARTHEST
            for i in range(search.x.size):
                farthest = max(farthest, abs(search.direction[i]))
            search.length[0] = FARTHEST / farthest
            if place_trial(search) > 0.0:
                return True
        if not damp(curvature):
            return False
    return False


@kernel
def relax(search: Search, curvature: Curvature, gain: float) -> None:
    """Set the damping by how much of what was promised a step has gained (Nielsen 1999). O(n^2)."""
    promised, n = 0.0, search.x.size
    step = search.direction
    for i in range(n):
        step[i] = search.trial[i] - search.x[i]
    for i in range(n):
        promised += step[i] * (search.gradient[i] - 0.5 * dot(curvature.hessian[i], step, n))
    share = gain / promised if promised > 0.0 else 0.0
    cut = max(LARGEST_CUT, 1.0 - (2.0 * share - 1.0) ** 3)
    curvature.damping[0] = max(curvature.damping[0] * cut, LEAST_DAMPING)
    curvature.damping[1] = FIRST_GROWTH
    curvature.n_refusals[0] = 0


@kernel
def move(search: Search, value: float) -> None:
    """Move to the trial point. O(n)."""
    copy_column(search.trial, search.x)
    copy_column(search.trial_gradient, search.gradient)
    search.value[0] = value


def _compile_climb_damped(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def climb_damped(surface: Surface, work: Work, curvature: Curvature, search: Search, n_looks: int) -> bool:
        """Look at so many points, each uphill from the last that was better; False where the search is at its end.

        Mutates the search. Afterwards x is the best point. O(N K (m + K)) a look.
        """
        sources = digest  # noqa: F841  # a part of the cache's key
        for _ in range(n_looks):
            found, before = look(surface, search.trial, work, search.trial_gradient), search.value[0]
            if found > before:
                if before > -np.inf:
                    relax(search, curvature, found - before)
                move(search, found)
                if found - before <= GAIN * max(abs(found), 1.0):
                    return False
                sum_curvature(surface, work, curvature)
            elif before == -np.inf or not damp(curvature):
                return False
            if not set_out_damped(search, curvature):
                return False
        return True

    return climb_damped


climb_damped = _compile_climb_damped(source_digest())
