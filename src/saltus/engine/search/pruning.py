"""Descents from a network: steps along the gradient of log pi, and elimination of what is not needed.

What descends is minus log pi. All of this is heuristic as far as the chain is concerned: it chooses where chains start,
and improves where they end.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dtrtrs

from saltus._tiles import from_tiles
from saltus._typing import Floats, Ints
from saltus.engine.kernels.target import penalty_of
from saltus.engine.problem.design import Design
from saltus.engine.problem.problem import Problem
from saltus.engine.search import quasi_newton
from saltus.engine.search.gauss_newton import descend_damped, gradients_a_step, make_curvature
from saltus.engine.search.gradient import SHORTEST, flops_of_a_gradient, make_work
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.families.free import FreeParameters
from saltus.families.registry import owners_of_columns
from saltus.families.terms import TermSet

# Floating-point operations between two calls of `go_on`: about 20 milliseconds.
FLOPS_A_CALL = 6e7

# Rows that a descent with a part of them has for each column of the linear term, at least.
ROWS_A_LINEAR_COLUMN = 10

# Asked again and again in a descent: whether to go on.
GoOn = Callable[[], bool]


class Effort(NamedTuple):
    """Evaluations of log pi in a descent: from its start, after each elimination, at the end; how far past the best."""

    first: int
    between: int
    last: int
    most_stale: int
    damped: bool = False  # by Gauss-Newton steps


# Quartiles of log pi over 40 random starts of 20 terms, and milliseconds, with 25 and 40 between eliminations:
#   robot arm, N = 200:      236.2  240.1  241.8  (16)     238.9  241.3  243.7  (19)
#   Friedman 1, N = 500:    -770.7 -768.4 -765.6  (66)    -770.9 -767.7 -765.3  (81)
THOROUGH = Effort(first=60, between=40, last=300, most_stale=4)
WITH_MANY_ROWS = Effort(first=60, between=20, last=150, most_stale=2)


def usual_effort(landscape: Landscape) -> Effort:
    """Choose how thorough a descent from a start, or at the end of a round, is."""
    return WITH_MANY_ROWS if landscape.has_many_rows else THOROUGH


def evaluations_a_call(problem: Problem, free: FreeParameters, *, damped: bool = False) -> int:
    """Say how many evaluations of log pi and its gradient take about FLOPS_A_CALL."""
    n_flops = problem.root_weight.size * flops_of_a_gradient(problem, len(free.decoded))
    return max(int(FLOPS_A_CALL / (n_flops * (1 + damped * gradients_a_step(problem, free)))), 1)


def descend(
    landscape: Landscape, start: Candidate, n_evaluations: int, go_on: GoOn = lambda: True, *, damped: bool = False
) -> Candidate:
    """Take steps on all continuous parameters in use; never end with a worse candidate.

    They are quasi-Newton's (L-BFGS) or, where `damped`, Gauss-Newton's.
    """
    free = landscape.mixture.search.free(landscape.problem.families, start.terms)
    if free.n_free.sum() == 0 or not np.isfinite(start.log_posterior):
        return start
    problem = landscape.problem._replace(families=free.families)
    penalty = penalty_of(landscape.problem, start.terms)
    search, work = quasi_newton.start_search(free.low, free.high, free.x), make_work(problem, free)
    curvature = make_curvature(problem, free) if damped else None
    a_call = evaluations_a_call(problem, free, damped=damped)
    is_under_way = True
    while is_under_way and n_evaluations > 0 and go_on():
        n_next = min(a_call, n_evaluations)
        n_evaluations -= n_next
        if curvature is None:
            is_under_way = quasi_newton.descend(problem, penalty, work, search, n_next)
        else:
            is_under_way = descend_damped(problem, penalty, work, curvature, search, n_next)
    if not search.value[0] > start.log_posterior:
        return start
    return Candidate(free.unpack(search.x), float(search.value[0]))


def eliminations(landscape: Landscape, at: Candidate) -> list[Candidate]:
    """List the candidates without one term, the cheapest to lose, or without one of the shared parameters in use."""
    if at.k == 0:
        return []
    found = []
    search, work = landscape.evaluate(at.terms)
    if np.isfinite(search.value[0]):
        q = len(work.R)
        R, Z = work.R[:, :q], work.R[:, q:]
        inverse, _ = dtrtrs(R, np.eye(q))
        rss = work.rss + rises_by_duals(inverse, Z, owners_of_columns(landscape.problem.families, at.terms))
        j = int(np.log(rss).sum(axis=1).argmin())
        left = at.terms.without(j)
        found.append(Candidate(left, landscape.log_posterior(rss[j], left)))
    del search, work  # which is as large as three designs, and so is that of the next evaluation
    for shared in landscape.mixture.search.without_one_shared(at.terms.shared):
        found.append(landscape.candidate(at.terms.with_shared(shared)))
    return found


def rises_by_duals(duals: Floats, Z: Floats, owner: Ints) -> Floats:
    """Find what RSS (k, c) rises by where each term is lost, given R^-1 (q, q), Z (q, c) and the terms of columns.

    Losing columns gives back what lies along their rows of R^-1, the second of a term less its part along the first.
    """
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    unit = duals[first] / np.linalg.norm(duals[first], axis=1)[:, None]
    found: Floats = (unit @ Z) ** 2
    second = np.flatnonzero(np.diff(owner, prepend=-1) == 0)
    if second.size:
        of = owner[second]
        rest = duals[second] - (duals[second] * unit[of]).sum(axis=1)[:, None] * unit[of]
        found[of] += ((rest / np.linalg.norm(rest, axis=1)[:, None]) @ Z) ** 2
    return found


def independent(landscape: Landscape, terms: TermSet) -> Candidate:
    """Leave out terms whose columns nearly depend on the others."""
    search, work = landscape.evaluate(terms)
    if np.isfinite(search.value[0]):
        return Candidate(terms, float(search.value[0]))
    problem = landscape.problem
    Q_fixed = from_tiles(problem.linear.tiles[:, problem.rss_floor.size :])
    Phi = from_tiles(work.Phi) - Q_fixed @ work.shared.T
    R, order = qr(Phi, overwrite_a=True, mode="r", pivoting=True, check_finite=False)
    n_most = min(R.shape)
    new = np.abs(np.diag(R)[:n_most])
    lengths = work.lengths[order[:n_most]]
    is_new = new > 2 * (problem.smallest_new_share * np.sqrt(lengths) + SHORTEST)
    owner = owners_of_columns(problem.families, terms)
    smallest = problem.families.smallest_squared_norm[terms.family[owner[order[:n_most]]]]
    is_kept = np.zeros(owner.size, dtype=bool)
    is_kept[order[:n_most][is_new & (lengths >= smallest)]] = True
    return landscape.candidate(terms.without(owner[~is_kept]))


def prune(
    landscape: Landscape,
    start: Candidate,
    go_on: GoOn = lambda: True,
    effort: Effort | None = None,
    hopeless: tuple[float, float] = (-np.inf, -np.inf),
) -> Candidate:
    """Descend, then eliminate terms and shared parameters one by one, descending after each, past the best and back.

    No further than `go_on` allows, nor from a candidate whose log pi is as low as the first of `hopeless` before
    anything is eliminated, as the second before the last descent.
    """
    effort = effort or usual_effort(landscape)
    damped = effort.damped
    at = descend(landscape, independent(landscape, start.terms), effort.first, go_on, damped=damped)
    best, n_stale = at, 0
    if at.log_posterior <= hopeless[0]:
        return at
    while n_stale < effort.most_stale and go_on():
        candidates = eliminations(landscape, at)
        if not candidates:
            break
        next_best = max(candidates, key=lambda candidate: candidate.log_posterior)
        at = descend(landscape, next_best, effort.between, go_on, damped=damped)
        n_stale = 0 if at.log_posterior > best.log_posterior else n_stale + 1
        best = max(best, at, key=lambda candidate: candidate.log_posterior)
    if best.log_posterior <= hopeless[1]:
        return best
    return descend(landscape, best, effort.last, go_on, damped=damped)


def coarse_to_fine(rng: np.random.Generator, design: Design, finest: Landscape) -> Iterator[Landscape]:
    """Give the landscapes of more and more rows, drawn at random, and at last the finest."""
    policy = finest.policy
    root_weight = design.problem.root_weight
    weight = (root_weight[root_weight > 0] / root_weight.max()) ** 2
    n_effective = weight.sum() ** 2 / (weight**2).sum()
    # As many more as rows of unequal weight say less than others, and enough for the linear term.
    n_drawn = round(policy.rows_at_first * weight.size / n_effective)
    n_drawn = max(n_drawn, ROWS_A_LINEAR_COLUMN * design.problem.m_fixed)
    while n_drawn <= finest.n_rows / 2:
        yield Landscape.of(design, rng, n_drawn, policy)
        n_drawn *= policy.finer
    yield finest
