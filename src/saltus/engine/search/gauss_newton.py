"""Damped Gauss-Newton steps (Levenberg & Marquardt) on the continuous parameters of all terms, compiled.

With J_i the derivatives of the residuals of output i, their coefficients projected out,

    - d^2 log pi  ~  N sum_i 1/RSS_i  J_i' J_i,    J_i = P (d Phi) alpha_i,

where P projects onto what neither the linear term nor the terms span (Kaufman 1975). Terms that nearly coincide make
this ill conditioned, which is where quasi-Newton steps stop too early: a shaken network of 9 cubic terms on the robot
arm data ends at log pi 205 by 40 of these steps and at 199 by as many evaluations of L-BFGS as it takes, in the median
of 60. A step costs 1.3 evaluations there, and 9 with 8 terms of 10 inputs.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, entry_point, glue, kernel, source_digest
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, add_products, clear, copy_column, dot, subtract_projection
from saltus.engine.problem.problem import Problem
from saltus.engine.search.gradient import Work, absorb, flops_of_a_gradient, value_and_gradient
from saltus.engine.search.quasi_newton import FARTHEST, FLAT, Search, hold, set_trial
from saltus.families.free import FreeParameters
from saltus.families.registry import Families, add_derivatives, owners_of_columns

# Damping at the start and at least, as a share of the curvature along each coordinate.
FIRST_DAMPING, LEAST_DAMPING = 1e-2, 1e-9
# It is cut by no more than this after a step that gained what was promised, and grows faster and faster after others.
LARGEST_CUT, FIRST_GROWTH = 1 / 3, 2.0
MOST_REFUSALS = 10
# A step that gains less than this share of the value is the last.
SMALLEST_DAMPED_GAIN = 1e-6
# No coordinate is thought to curve less than this share of the one that curves most.
STRAIGHTEST = 1e-8


@by_reference
class Curvature(NamedTuple):
    """Workspace of `sum_curvature`, and the curvature at the last point: K = f + c s derivatives, n numbers.

    f is the number of derivatives of columns by free parameters of their terms, q the number of columns of terms.
    """

    owner: Ints  # (f,), the column that each of these is a derivative of
    parameter: Ints  # (f,), the number of the parameter
    n_shared: int  # s, free parameters that terms share
    columns: Floats  # (n_tiles, K, L), derivatives of terms by own parameters, and of outputs by shared ones
    shared: Floats  # (K, m_fixed), what they have in common with the linear term
    tile: Floats  # (q + K, L)
    R: Floats  # (q, q + K)
    products: Floats  # (q + K,)
    gram: Floats  # (K, K), upper, of what is left of the columns
    hessian: Floats  # (n, n), of - log pi
    factor: Floats  # (n, n), Cholesky's, lower
    damping: Floats  # (2,), and by what the next refusal multiplies it
    n_refusals: Ints  # (1,)


def make_curvature(problem: Problem, free: FreeParameters) -> Curvature:
    """Allocate the workspace of a descent on what is free of some terms."""
    n_tiles, length = problem.root_weight.shape
    n_shared, n = free.n_shared, int(free.n_free.sum()) + free.n_shared
    owner, parameter = number_derivatives(problem.families, free)
    q = len(free.decoded)
    n_columns = owner.size + problem.rss_floor.size * n_shared
    return Curvature(
        owner=owner,
        parameter=parameter,
        n_shared=n_shared,
        columns=np.empty((n_tiles, n_columns, length)),
        shared=np.empty((n_columns, problem.m_fixed)),
        tile=np.empty((q + n_columns, length)),
        R=np.empty((q, q + n_columns)),
        products=np.empty(q + n_columns),
        gram=np.empty((n_columns, n_columns)),
        hessian=np.empty((n, n)),
        factor=np.empty((n, n)),
        damping=np.array([FIRST_DAMPING, FIRST_GROWTH]),
        n_refusals=np.zeros(1, dtype=np.int64),
    )


def number_derivatives(families: Families, free: FreeParameters) -> tuple[Ints, Ints]:
    """Say of which column, and by which parameter, each of the derivatives (f,) of columns is."""
    term = owners_of_columns(families, free.terms)
    n_free = free.n_free[term]
    owner = np.repeat(np.arange(term.size), n_free)
    first = (np.cumsum(free.n_free) - free.n_free)[term]
    return owner, first[owner] + np.arange(owner.size) - (np.cumsum(n_free) - n_free)[owner]


def gradients_a_step(problem: Problem, free: FreeParameters) -> float:
    """Say how many gradients take as long as the curvature of terms."""
    term = owners_of_columns(problem.families, free.terms)
    q = max(term.size, 1)
    n_columns = int(free.n_free[term].sum()) + problem.rss_floor.size * free.n_shared
    flops = n_columns * (4 * (problem.m_fixed + q) + n_columns) + 2 * q * q
    return flops / flops_of_a_gradient(problem, q)


@glue
def sum_gram(problem: Problem, work: Work, curvature: Curvature) -> None:
    """Set the Gram matrix of the derivatives, less what the design spans. O(N K (m + K))."""
    columns, shared, tile, R, gram = (
        curvature.columns,
        curvature.shared,
        curvature.tile,
        curvature.R,
        curvature.gram,
    )
    n_tiles, q, _ = work.Phi.shape
    m_fixed, n_columns, c = problem.m_fixed, len(gram), work.rss.size
    linear = problem.linear.tiles
    for a in range(n_columns):
        clear(shared[a])
        clear(gram[a])
    for j in range(q):
        clear(R[j])
    for t in range(n_tiles):
        for a in range(n_columns):
            clear(columns[t, a])
        add_derivatives(problem.families, t, work.alpha, problem.root_weight[t], work.families, columns[t])
        for a in range(n_columns):
            add_products(linear[t, c:], columns[t, a], m_fixed, shared[a])
    for t in range(n_tiles):
        for j in range(q):
            copy_column(work.Phi[t, j], tile[j])
            subtract_projection(linear[t, c:], tile[j], m_fixed, work.shared[j])
        for a in range(n_columns):
            copy_column(columns[t, a], tile[q + a])
            subtract_projection(linear[t, c:], tile[q + a], m_fixed, shared[a])
        # What is left of the later columns is orthogonal to the first q, in other coordinates of the rows.
        absorb(tile, R, q, curvature.products)
        for a in range(n_columns):
            add_products(tile[q + a :], tile[q + a], n_columns - a, gram[a, a:])


@kernel
def weigh_gram(alpha: Floats, weights: Floats, curvature: Curvature) -> None:
    """Set the Hessian from the Gram matrix, the coefficients (c, q) and N / RSS (c,). O((f + s)^2 c).

    A derivative of an output by a parameter is the sum over the columns of its term.
    """
    gram, owner, parameter, n_shared = curvature.gram, curvature.owner, curvature.parameter, curvature.n_shared
    hessian = curvature.hessian
    c, n_own = alpha.shape[0], owner.size
    first_shared, n = len(hessian) - n_shared, n_own + n_shared
    for a in range(len(hessian)):
        clear(hessian[a])
    for a in range(n):
        row = parameter[a] if a < n_own else first_shared + a - n_own
        for b in range(a, n):
            column = parameter[b] if b < n_own else first_shared + b - n_own
            total = 0.0
            for o in range(c):
                at_a = a if a < n_own else a + o * n_shared
                at_b = b if b < n_own else b + o * n_shared
                first = alpha[o, owner[a]] if a < n_own else 1.0
                second = alpha[o, owner[b]] if b < n_own else 1.0
                total += weights[o] * first * second * gram[at_a, at_b]
            hessian[row, column] += total
            if a < b:
                hessian[column, row] += total


@glue
def sum_curvature(problem: Problem, work: Work, curvature: Curvature) -> None:
    """Set the Hessian at the point that was evaluated last. O(N K (m + K))."""
    sum_gram(problem, work, curvature)
    for o in range(work.rss.size):
        work.products[o] = problem.degrees / work.rss[o]
    weigh_gram(work.alpha, work.products, curvature)


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
    """Choose the next trial point; False where there is nowhere to go.

    Back on the bounds, a step need not raise log pi; one that is short enough does.
    """
    while hold(search) > FLAT * FLAT:
        if solve_damped(search, curvature):
            farthest = FARTHEST
            for i in range(search.x.size):
                farthest = max(farthest, abs(search.direction[i]))
            search.length[0] = FARTHEST / farthest
            if set_trial(search) > 0.0:
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


def _compile_descend_damped(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def descend_damped(
        problem: Problem, penalty: float, work: Work, curvature: Curvature, search: Search, n_evaluations: int
    ) -> bool:
        """Evaluate so many points, each better than the last that was taken; False where the search is at its end.

        Mutates the search. Afterwards x is the best point. O(N K (m + K)) each.
        """
        sources = digest  # noqa: F841  # a part of the cache's key
        for _ in range(n_evaluations):
            found = value_and_gradient(problem, penalty, search.trial, work, search.trial_gradient)
            before = search.value[0]
            if found > before:
                if before > -np.inf:
                    relax(search, curvature, found - before)
                move(search, found)
                if found - before <= SMALLEST_DAMPED_GAIN * max(abs(found), 1.0):
                    return False
                sum_curvature(problem, work, curvature)
            elif before == -np.inf or not damp(curvature):
                return False
            if not set_out_damped(search, curvature):
                return False
        return True

    return descend_damped


descend_damped = _compile_descend_damped(source_digest())
