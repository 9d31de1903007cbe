"""Damped Gauss-Newton steps on the continuous parameters of all terms, with all rows.

A step takes two passes: one for the triangle where it ends, one for the slopes there. The curvature, which only says
how far to go, is taken of a part of the rows that fits in memory; damping makes up for what the part does not tell.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from saltus._typing import Floats
from saltus.engine.rows.fit import Fit
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.questions import Curvature, Slopes, Triangle, triangle_of
from saltus.engine.rows.rows import Inquiry
from saltus.engine.search.gauss_newton import (
    FIRST_DAMPING,
    FIRST_GROWTH,
    LARGEST_CUT,
    LEAST_DAMPING,
    MOST_REFUSALS,
    STRAIGHTEST,
    number_derivatives,
)
from saltus.engine.search.policy import DEFAULT_POLICY, SearchPolicy
from saltus.engine.search.quasi_newton import FARTHEST
from saltus.families.free import FreeParameters

# A column of which a few rows see a smaller share than this of its length is not seen by them.
NOT_SEEN = 1e-7
# The curvature is taken of so many rows for each parameter, at least.
ROWS_A_PARAMETER = 4


@dataclass(frozen=True)
class Bend:
    """Log pi about a fit: its gradient (n,), and the curvature (n, n) of minus log pi by Gauss and Newton."""

    gradient: Floats
    hessian: Floats


def descend(
    fit: Fit, few: MemoryRows, n_steps: int, smallest_gain: float, policy: SearchPolicy = DEFAULT_POLICY
) -> Inquiry[Fit]:
    """Take so many steps, fewer where one gains less than that; never end with a worse fit.

    `few` are the rows of the curvature, or more.
    """
    frame, problem = fit.of.frame, fit.of.problem
    n_parameters = frame.free(problem.families, fit.terms).x.size
    few = few.thinned(rows_of_curvature(n_parameters, fit.m, policy))
    damping, growth, n_refusals = FIRST_DAMPING, FIRST_GROWTH, 0
    bend: Bend | None = None
    for _ in range(n_steps):
        free = frame.free(problem.families, fit.terms)
        if free.x.size == 0:
            break
        if bend is None:
            bend = yield from find_bend(fit, few, free)
        step = damped_step(free, bend, damping)
        trial = free.unpack(np.clip(free.x + step, free.low, free.high))
        after = yield from fit.of.fit(trial)
        gain = after.log_posterior - fit.log_posterior
        if not gain > 0:
            damping, growth, n_refusals = damping * growth, 2.0 * growth, n_refusals + 1
            if n_refusals > MOST_REFUSALS:
                break
            continue
        promised = float(step @ (bend.gradient - 0.5 * bend.hessian @ step))
        share = gain / promised if promised > 0 else 0.0
        damping = max(damping * max(LARGEST_CUT, 1.0 - (2.0 * share - 1.0) ** 3), LEAST_DAMPING)
        growth, n_refusals = FIRST_GROWTH, 0
        fit, bend = after, None
        if gain < smallest_gain:
            break
    return fit


def flops_of_a_step(fit: Fit, n_rows: int, n_few: int, policy: SearchPolicy) -> float:
    """Count the floating-point operations of a step: a triangle, slopes by all rows, curvature by a few."""
    n = fit.of.frame.free(fit.of.problem.families, fit.terms).x.size
    n_curved = min(n_few, rows_of_curvature(n, fit.m, policy))
    return n_rows * (2.0 * fit.m**2 + 60.0 * (fit.m + n)) + 2.0 * n_curved * (n + fit.m) ** 2 + n**3


def rows_of_curvature(n_parameters: int, m: int, policy: SearchPolicy) -> int:
    """Say how many rows the curvature of so many parameters is taken of: some for each, and not too many for all."""
    by_flops = policy.flops_of_curvature / (2.0 * (n_parameters + m) ** 2)
    return int(max(by_flops, ROWS_A_PARAMETER * n_parameters))


def damped_step(free: FreeParameters, bend: Bend, damping: float) -> Floats:
    """Find a step within bounds; what the gradient would push across one is held."""
    x, gradient, hessian = free.x, bend.gradient, bend.hessian
    held = ((x <= free.low) & (gradient < 0)) | ((x >= free.high) & (gradient > 0))
    moving = np.flatnonzero(~held)
    step = np.zeros(x.size)
    if moving.size == 0:
        return step
    curved = np.diag(hessian)
    damped = hessian[np.ix_(moving, moving)].copy()
    np.fill_diagonal(damped, (1.0 + damping) * np.maximum(curved, STRAIGHTEST * curved.max())[moving])
    step[moving] = cho_solve(cho_factor(damped, check_finite=False), gradient[moving], check_finite=False)
    step *= FARTHEST / max(FARTHEST, np.abs(step).max())
    return np.clip(x + step, free.low, free.high) - x


def find_bend(fit: Fit, few: MemoryRows, free: FreeParameters) -> Inquiry[Bend]:
    """Find the gradient by all rows, and the curvature by a few. A pass over each."""
    frame, problem = fit.of.frame, fit.of.problem
    weights = problem.degrees / np.maximum(fit.rss, problem.rss_floor)
    by_parameters = [_by_parameters(fit, free, i) for i in range(frame.n_outputs)]
    slopes = yield Slopes(frame, fit.terms, fit.alpha)
    gram = _projected_gram(fit, few) * (problem.n_total / few.rows.weight.sum())
    gradient, hessian = np.zeros(free.x.size), np.zeros((free.x.size, free.x.size))
    for weight, A, along in zip(weights, by_parameters, slopes, strict=True):
        gradient += weight * (A.T @ along)
        hessian += weight * (A.T @ (A.T @ gram).T)
    return Bend(gradient, hessian)


def _by_parameters(fit: Fit, free: FreeParameters, output: int) -> csr_array:
    """Say what derivatives (f,) of columns make of those of an output by the parameters: (f, n)."""
    owner, parameter = number_derivatives(fit.of.problem.families, free)
    n_own, c = free.x.size - free.n_shared, fit.of.frame.n_outputs
    shared = np.arange(free.n_shared)
    rows = np.concatenate([np.arange(owner.size), owner.size + output * free.n_shared + shared])
    columns = np.concatenate([parameter, n_own + shared])
    values = np.concatenate([fit.alpha[fit.of.frame.m_fixed + owner, output], np.ones(free.n_shared)])
    return csr_array((values, (rows, columns)), shape=(owner.size + c * free.n_shared, free.x.size))


def _projected_gram(fit: Fit, few: MemoryRows) -> Floats:
    """Find J'PJ by a few rows, with P the projection off the columns of the design."""
    frame = fit.of.frame
    R = few.ask(Triangle(frame, fit.terms))[: fit.m, : fit.m]
    products = few.ask(Curvature(frame, fit.terms, fit.alpha))
    # A column that none of the few see takes nothing off.
    faint = NOT_SEEN * np.linalg.norm(fit.R, axis=0)
    R = triangle_of(np.vstack([R, np.diag(faint)]))
    shared = solve_triangular(R, products.design, trans="T", check_finite=False)
    found: Floats = products.gram - shared.T @ shared
    return found
