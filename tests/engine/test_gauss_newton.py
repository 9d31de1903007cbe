"""The curvature is that of the projected residuals, and damped steps along it go uphill to where it is flat."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import Radial
from saltus.engine.kernels.factor import from_tiles
from saltus.engine.search.gauss_newton import GAIN, MOST_REFUSALS, climb_damped, looks_a_step, make_curvature
from saltus.engine.search.gradient import make_work
from saltus.engine.search.hops import shake
from saltus.engine.search.pruning import Landscape, looks_a_call
from saltus.engine.search.quasi_newton import start_search
from saltus.families import RADIAL_NAMES
from tests.engine.designs import make


@pytest.fixture
def problem(rng):
    X = rng.random((600, 3)) * [1.0, 10.0, 0.1]  # two tiles
    Y = np.stack([np.sin(5 * X[:, 0]) + 0.3 * X[:, 1], X[:, 0] * X[:, 1]], axis=1)
    return X, Y + 0.1 * rng.standard_normal(Y.shape)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "mahalanobis"])
@pytest.mark.parametrize("widths", ["shared", "own"])
def test_curvature_is_that_of_projected_residuals(problem, basis, metric, widths):
    if widths == "own" and not Radial(basis).has_width:
        pytest.skip("has no width")
    design = make(*problem, Radial(basis, width=1.3), metric=metric, widths=widths)
    landscape = replace(Landscape.of(design), faintest=0.0)
    rng = np.random.default_rng(1)
    k = 4
    relevance = np.array([0.7, 1.1, 0.4]) if metric == "learned" else np.ones(3)
    surface = landscape.surface(k, relevance)
    x = rng.random(k * surface.to_metric.shape[1])
    if metric == "learned":
        x = np.append(x, np.log(relevance))

    def look(point):
        work, curvature = make_work(surface, relevance, k), make_curvature(surface, k)
        climb_damped(surface, work, curvature, start_search(point - 9, point + 9, point), 1)
        return work, curvature.hessian

    work, hessian = look(x)
    Q = np.linalg.qr(np.hstack([from_tiles(landscape.Q_fixed), from_tiles(work.Phi)]))[0]
    step = 1e-5
    changes = [from_tiles(look(x + one)[0].Phi) - from_tiles(look(x - one)[0].Phi) for one in step * np.eye(x.size)]
    expected = np.zeros_like(hessian)
    for alpha, rss in zip(work.alpha, work.rss, strict=True):
        J = np.stack([change @ alpha for change in changes], axis=1) / (2 * step)
        J -= Q @ (Q.T @ J)
        expected += landscape.n_total / rss * J.T @ J
    np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("basis", "widths"), [("cubic", "shared"), ("gaussian", "own"), ("gaussian", "shared")])
def test_damped_steps_go_uphill_to_the_end(problem, basis, widths):
    landscape = Landscape.of(make(*problem, basis, widths=widths))
    rng = np.random.default_rng(2)
    left = []
    for _ in range(8):
        start = landscape.independent(rng.random((5, landscape.to_metric.shape[1])), np.full(3, 0.8))
        up = landscape.ascend(start, 10, damped=True)
        end = landscape.ascend(start, 400, damped=True)
        assert start.log_posterior < up.log_posterior <= end.log_posterior
        assert ((end.centers >= 0) & (end.centers <= 1)).all()
        assert end.log_posterior == pytest.approx(landscape.value(end.centers, end.relevance))
        left.append(landscape.ascend(end, 400).log_posterior - end.log_posterior)
    assert np.median(left) < 0.5


def test_after_a_shake_they_end_higher_than_quasi_newton_steps(problem):
    landscape = Landscape.of(make(problem[0][:200], problem[1][:200], "cubic", metric="standardized", criterion="mdl"))
    rng = np.random.default_rng(3)
    at = landscape.prune(landscape.independent(rng.random((12, 3)), np.ones(3)))
    ends = []
    for _ in range(40):
        start = landscape.independent(shake(rng, landscape, at), at.relevance)
        ends.append([landscape.ascend(start, 400, damped=damped).log_posterior for damped in (False, True)])
    by_quasi_newton, by_damped = np.median(ends, axis=0)
    assert by_damped > by_quasi_newton + 0.5


def test_a_step_that_bounds_turn_around_is_shortened(problem):
    """Clipped to the box, a Gauss-Newton step may lead downhill: that is no end."""
    landscape = Landscape.of(make(*problem, "gaussian", widths="own"))
    rng = np.random.default_rng(5)
    n_ends = 0
    for _ in range(30):
        centers = np.clip(rng.normal(0.5, 0.6, (5, 4)), 0.0, 1.0)  # many on the walls
        start = landscape.independent(centers, np.full(3, 0.8))
        k, n = start.centers.shape[0], start.centers.size
        surface = landscape.surface(k, start.relevance)
        low, high = np.append(np.zeros(n), np.full(3, -4.0)), np.append(np.ones(n), np.full(3, 4.0))
        search = start_search(low, high, np.append(start.centers, np.log(start.relevance)))
        work, curvature = make_work(surface, start.relevance, k), make_curvature(surface, k)
        for _ in range(60):
            before = search.value[0]
            if not climb_damped(surface, work, curvature, search, 1):
                gain = search.value[0] - before
                is_last = 0 < gain <= GAIN * max(abs(search.value[0]), 1.0)
                n_ends += not is_last and curvature.n_refusals[0] <= MOST_REFUSALS
                break
    assert n_ends == 0


def test_nowhere_to_go(problem):
    landscape = Landscape.of(make(*problem, "gaussian", widths="shared"))
    dependent = landscape.place(np.full((2, 3), 0.5), np.full(3, 0.8))
    assert landscape.ascend(dependent, 20, damped=True) is dependent
    nothing = landscape.place(np.empty((0, 3)), np.full(3, 0.8))
    assert landscape.ascend(nothing, 20, damped=True) is nothing


def test_steps_cost_more_the_more_parameters_there_are(problem):
    landscape = Landscape.of(make(*problem, "gaussian", widths="own"))
    surfaces = [(landscape.surface(k, np.array([1.0, 1.0, on])), k) for k, on in ((5, 0.0), (5, 1.0), (20, 1.0))]
    costs = [looks_a_step(surface, k) for surface, k in surfaces]
    assert costs == sorted(costs)
    for surface, k in surfaces:
        assert looks_a_call(surface, k, damped=True) < looks_a_call(surface, k)
