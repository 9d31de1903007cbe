"""The curvature is that of the projected residuals, and damped steps along it lead to where it is flat."""

from dataclasses import replace

import numpy as np
import pytest

from saltus._tiles import from_tiles
from saltus.engine.search.gauss_newton import (
    MOST_REFUSALS,
    SMALLEST_DAMPED_GAIN,
    descend_damped,
    gradients_a_step,
    make_curvature,
)
from saltus.engine.search.gradient import make_work
from saltus.engine.search.hops import shake
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.pruning import descend, evaluations_a_call, independent, prune
from saltus.engine.search.quasi_newton import start_search
from saltus.families.options import RADIAL_NAMES
from saltus.families.profiles import RADIAL_PROFILES
from tests.engine.designs import blind_to_faintness, make, terms_at
from tests.problems import make_problem


@pytest.fixture
def problem():
    return make_problem("three inputs, two outputs", n_rows=600)  # two tiles


def raw(landscape, terms):
    """Pack what a descent changes as it is, not scaled."""
    return landscape.mixture.search.free(landscape.problem.families, terms, raw=True)


def with_given_shared(landscape, free):
    """Leave the parameters of terms free alone."""
    own = slice(int(free.n_free.sum()))
    given = {"families": landscape.problem.families, "n_shared": 0}
    return replace(free, x=free.x[own], low=free.low[own], high=free.high[own], **given)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "mahalanobis"])
@pytest.mark.parametrize("widths", ["shared", "own"])
def test_curvature_is_that_of_projected_residuals(problem, basis, metric, widths):
    if widths == "own" and not RADIAL_PROFILES[basis].has_width:
        pytest.skip("has no width")
    design = make(problem.X, problem.Y, basis, width=1.3, metric=metric, widths=widths)
    landscape = blind_to_faintness(Landscape.of(design))
    rng = np.random.default_rng(1)
    k = 4
    relevance = np.array([0.7, 1.1, 0.4]) if metric == "learned" else np.ones(3)
    terms = terms_at(design, rng.random((k, design.mixture.n_parameters)), relevance)
    # As they are; where the metric is given, its relevances are not free.
    free = raw(landscape, terms) if metric == "learned" else with_given_shared(landscape, raw(landscape, terms))
    seen, x = landscape.problem._replace(families=free.families), free.x

    def evaluate(point):
        work, curvature = make_work(seen, free), make_curvature(seen, free)
        descend_damped(seen, 0.0, work, curvature, start_search(point - 9, point + 9, point), 1)
        return work, curvature.hessian

    work, hessian = evaluate(x)
    Q_linear = from_tiles(seen.linear.tiles)[:, 2:]
    Q = np.linalg.qr(np.hstack([Q_linear, from_tiles(work.Phi)]))[0]
    step = 1e-5
    changes = [
        from_tiles(evaluate(x + one)[0].Phi) - from_tiles(evaluate(x - one)[0].Phi) for one in step * np.eye(x.size)
    ]
    expected = np.zeros_like(hessian)
    for alpha, rss in zip(work.alpha, work.rss, strict=True):
        J = np.stack([change @ alpha for change in changes], axis=1) / (2 * step)
        J -= Q @ (Q.T @ J)
        expected += seen.n_total / rss * J.T @ J
    np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def random_terms(rng, landscape, k):
    return terms_at(landscape, rng.random((k, landscape.mixture.n_parameters)), np.full(3, 0.8))


@pytest.mark.parametrize(("basis", "widths"), [("cubic", "shared"), ("gaussian", "own"), ("gaussian", "shared")])
def test_damped_steps_descend_to_the_end(problem, basis, widths):
    landscape = Landscape.of(make(problem.X, problem.Y, basis, widths=widths))
    rng = np.random.default_rng(2)
    left = []
    for _ in range(8):
        start = independent(landscape, random_terms(rng, landscape, 5))
        first = descend(landscape, start, 10, damped=True)
        end = descend(landscape, start, 400, damped=True)
        assert start.log_posterior < first.log_posterior <= end.log_posterior
        assert ((end.terms.parameters >= 0) & (end.terms.parameters <= 1)).all()
        assert end.log_posterior == pytest.approx(landscape.value(end.terms))
        left.append(descend(landscape, end, 400).log_posterior - end.log_posterior)
    assert np.median(left) < 0.5


def test_after_a_shake_they_end_higher_than_quasi_newton_steps(problem):
    landscape = Landscape.of(make(problem.X[:200], problem.Y[:200], "cubic", metric="standardized", criterion="mdl"))
    rng = np.random.default_rng(3)
    at = prune(landscape, independent(landscape, terms_at(landscape, rng.random((12, 3)), np.ones(3))))
    ends = []
    for _ in range(40):
        start = independent(landscape, shake(rng, landscape, at))
        ends.append([descend(landscape, start, 400, damped=damped).log_posterior for damped in (False, True)])
    by_quasi_newton, by_damped = np.median(ends, axis=0)
    assert by_damped > by_quasi_newton + 0.5


def test_a_step_that_bounds_turn_around_is_shortened(problem):
    """Clipped to the box, a Gauss-Newton step may lead downhill: that is no end."""
    landscape = Landscape.of(make(problem.X, problem.Y, "gaussian", widths="own"))
    rng = np.random.default_rng(5)
    n_ends = 0
    for _ in range(30):
        centers = np.clip(rng.normal(0.5, 0.6, (5, 4)), 0.0, 1.0)  # many on the walls
        start = independent(landscape, terms_at(landscape, centers, np.full(3, 0.8)))
        n, free = start.terms.parameters.size, raw(landscape, start.terms)
        seen = landscape.problem._replace(families=free.families)
        low, high = np.append(np.zeros(n), np.full(3, -4.0)), np.append(np.ones(n), np.full(3, 4.0))
        search = start_search(low, high, free.x)
        work, curvature = make_work(seen, free), make_curvature(seen, free)
        for _ in range(60):
            before = search.value[0]
            if not descend_damped(seen, 0.0, work, curvature, search, 1):
                gain = search.value[0] - before
                is_last = 0 < gain <= SMALLEST_DAMPED_GAIN * max(abs(search.value[0]), 1.0)
                n_ends += not is_last and curvature.n_refusals[0] <= MOST_REFUSALS
                break
    assert n_ends == 0


def test_nowhere_to_go(problem):
    landscape = Landscape.of(make(problem.X, problem.Y, "gaussian", widths="shared"))
    dependent = landscape.candidate(terms_at(landscape, np.full((2, 3), 0.5), np.full(3, 0.8)))
    assert descend(landscape, dependent, 20, damped=True) is dependent
    nothing = landscape.candidate(terms_at(landscape, np.empty((0, 3)), np.full(3, 0.8)))
    assert descend(landscape, nothing, 20, damped=True) is nothing


def test_steps_cost_more_the_more_parameters_there_are(problem):
    landscape = Landscape.of(make(problem.X, problem.Y, "gaussian", widths="own"))
    seen = []
    for k, on in ((5, 0.0), (5, 1.0), (20, 1.0)):
        terms = terms_at(landscape, np.full((k, 4), 0.5), np.array([1.0, 1.0, on]))
        free = landscape.mixture.search.free(landscape.problem.families, terms)
        seen.append((landscape.problem._replace(families=free.families), free))
    costs = [gradients_a_step(problem, free) for problem, free in seen]
    assert costs == sorted(costs)
    for problem, free in seen:
        assert evaluations_a_call(problem, free, damped=True) < evaluations_a_call(problem, free)
