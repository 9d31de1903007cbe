"""The gradient is the derivative, and going downhill never loses."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import Radial
from saltus.engine.kernels.chain import start_state
from saltus.engine.kernels.factor import from_tiles
from saltus.engine.search.pruning import DEPENDENT, Landscape
from saltus.engine.search.starts import place_centers
from saltus.families import RADIAL_NAMES
from tests.engine.designs import make


@pytest.fixture
def problem(rng):
    X = rng.random((60, 3)) * [1.0, 10.0, 0.1]
    Y = np.stack([np.sin(5 * X[:, 0]) + 0.3 * X[:, 1], X[:, 0] * X[:, 1]], axis=1)
    return X, Y + 0.1 * rng.standard_normal(Y.shape)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "mahalanobis"])
@pytest.mark.parametrize("widths", ["shared", "own"])
def test_gradient_against_finite_differences(problem, basis, metric, widths):
    if widths == "own" and not Radial(basis).has_width:
        pytest.skip("has no width")
    design = make(*problem, Radial(basis, width=1.3), metric=metric, widths=widths)
    landscape = replace(Landscape.of(design), faintest=0.0)
    rng = np.random.default_rng(1)
    d = 3 + (widths == "own")
    centers, relevance = rng.random((4, d)), np.array([0.7, 1.1, 0.4])
    if metric == "mahalanobis":
        relevance = np.ones(3)
    _, to_centers, to_log_relevance = landscape.gradient(centers, relevance)
    step = 1e-5

    def slope(change_centers, change_log):
        ends = [
            landscape.value(centers + sign * step * change_centers, relevance * np.exp(sign * step * change_log))
            for sign in (1, -1)
        ]
        return (ends[0] - ends[1]) / (2 * step)

    for j in range(4):
        for i in range(d):
            change = np.zeros((4, d))
            change[j, i] = 1.0
            expected = slope(change, np.zeros(3))
            assert to_centers[j, i] == pytest.approx(expected, rel=1e-5, abs=1e-5 * np.abs(to_centers).max())
    for i in range(3):
        expected = slope(np.zeros((4, d)), np.eye(3)[i])
        assert to_log_relevance[i] == pytest.approx(expected, rel=1e-5, abs=1e-5 * np.abs(to_log_relevance).max())


@pytest.mark.parametrize("metric", ["learned", "euclidean"])
@pytest.mark.parametrize("widths", ["shared", "own"])
def test_its_value_is_that_of_the_chain(problem, metric, widths):
    design = make(*problem, "gaussian", metric=metric, widths=widths)
    landscape = replace(Landscape.of(design), faintest=0.0)
    rng = np.random.default_rng(1)
    relevance = np.array([0.7, 0.0, 0.4]) if metric == "learned" else np.ones(3)
    for k in (0, 1, 4):
        state = start_state(design.target, design.fixed.Q, design.Y)
        centers = rng.random((k, 3 + (widths == "own")))
        place_centers(design, state, centers, relevance)
        assert landscape.value(centers, relevance) == pytest.approx(state.log_posterior[0], rel=1e-7, abs=1e-6)


def test_many_tiles_and_near_dependence_are_factored_as_by_lapack(rng):
    X = rng.random((1100, 2))  # three tiles, the last not full
    Y = np.stack([np.sin(6 * X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.standard_normal((1100, 2))
    landscape = Landscape.of(make(X, Y, "gaussian", widths="shared"))
    relevance = np.array([1.5, 0.8])
    judged = set()
    for gap in 10.0 ** np.arange(-1, -7, -1.0):
        centers = np.array([[0.2, 0.3], [0.7, 0.6], [0.2 + gap, 0.3]])
        search, work = landscape.look(centers, relevance)
        Phi = from_tiles(work.Phi)
        Q, E = from_tiles(landscape.Q_fixed), from_tiles(landscape.E_fixed)
        new = Phi - Q @ (Q.T @ Phi)
        independent = np.abs(np.diag(np.linalg.qr(new)[1])) > DEPENDENT * np.linalg.norm(Phi, axis=0)
        assert np.isfinite(search.value[0]) == independent.all()
        if independent.all():
            rss = ((E - new @ np.linalg.lstsq(new, E, rcond=None)[0]) ** 2).sum(axis=0)
            assert search.value[0] == pytest.approx(landscape.log_posterior(rss, 3, relevance), abs=1e-6)
        judged.add(bool(independent.all()))
    assert judged == {True, False}


def test_ascent_and_elimination_never_lose(problem):
    landscape = Landscape.of(make(*problem, "gaussian", widths="own"))
    rng = np.random.default_rng(2)
    for _ in range(5):
        start = landscape.independent(rng.random((8, 4)), np.full(3, 0.8))
        up = landscape.ascend(start, 20)
        assert up.log_posterior >= start.log_posterior
        assert ((up.centers >= 0) & (up.centers <= 1)).all()
        pruned = landscape.prune(start)
        assert pruned.log_posterior >= landscape.ascend(start, 60).log_posterior - 1e-9
        assert pruned.log_posterior == pytest.approx(landscape.value(pruned.centers, pruned.relevance))


def test_eliminations_know_what_they_cost(problem):
    landscape = Landscape.of(make(*problem, "cubic"))
    at = landscape.place(np.random.default_rng(3).random((5, 3)), np.array([0.7, 1.1, 0.4]))
    for place in landscape.eliminations(at):
        assert len(place.centers) + (place.relevance > 0).sum() == 7
        assert place.log_posterior == pytest.approx(landscape.value(place.centers, place.relevance), abs=1e-6)
    cheapest = max(landscape.value(np.delete(at.centers, j, axis=0), at.relevance) for j in range(5))
    assert landscape.eliminations(at)[0].log_posterior == pytest.approx(cheapest, abs=1e-6)


def test_dependent_centres_are_left_out(problem):
    landscape = Landscape.of(make(*problem, "gaussian", widths="shared"))
    centers = np.random.default_rng(4).random((4, 3))
    twice = np.vstack([centers, centers[:2]])
    relevance = np.full(3, 0.8)
    assert landscape.value(twice, relevance) == -np.inf
    assert len(replace(landscape, faintest=0.0).independent(twice, relevance).centers) == 4
    far = landscape.independent(centers, np.full(3, 100.0))
    assert len(far.centers) < 4
