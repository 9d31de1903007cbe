"""The gradient is the derivative, and the value is that of the chain."""

import numpy as np
import pytest

from saltus._tiles import from_tiles
from saltus.engine.kernels.factor import SMALLEST_NEW_SHARE
from saltus.engine.kernels.state import start_state
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.starts import set_terms
from saltus.families.options import RADIAL_NAMES
from saltus.families.profiles import RADIAL_PROFILES
from tests.engine.designs import blind_to_faintness, make, terms_at
from tests.problems import PROBLEMS, make_problem


@pytest.fixture
def problem():
    return make_problem("three inputs, two outputs")


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "mahalanobis"])
@pytest.mark.parametrize("widths", ["shared", "own"])
def test_gradient_against_finite_differences(problem, basis, metric, widths):
    if widths == "own" and not RADIAL_PROFILES[basis].has_width:
        pytest.skip("has no width")
    design = make(problem.X, problem.Y, basis, width=1.3, metric=metric, widths=widths)
    landscape = blind_to_faintness(Landscape.of(design))
    rng = np.random.default_rng(1)
    d = 3 + (widths == "own")
    centers, relevance = rng.random((4, d)), np.array([0.7, 1.1, 0.4])
    if metric == "mahalanobis":
        relevance = np.ones(3)
    _, gradient = landscape.value_and_gradient(terms_at(landscape, centers, relevance))
    to_centers, to_log_relevance = gradient[:-3].reshape(4, d), gradient[-3:]
    step = 1e-5

    def slope(change_centers, change_log):
        ends = [
            landscape.value(
                terms_at(
                    landscape, centers + sign * step * change_centers, relevance * np.exp(sign * step * change_log)
                )
            )
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
    design = make(problem.X, problem.Y, "gaussian", metric=metric, widths=widths)
    landscape = blind_to_faintness(Landscape.of(design))
    rng = np.random.default_rng(1)
    relevance = np.array([0.7, 0.0, 0.4]) if metric == "learned" else np.ones(3)
    for k in (0, 1, 4):
        state = start_state(design.problem, design.linear.Q, design.Y, relevance)
        centers = terms_at(design, rng.random((k, 3 + (widths == "own"))), relevance)
        set_terms(design, state, centers)
        assert landscape.value(centers) == pytest.approx(state.log_posterior[0], rel=1e-7, abs=1e-6)


def test_many_tiles_and_near_dependence_are_factored_as_by_lapack(rng):
    X = rng.random((1100, 2))  # three tiles, the last not full
    Y = np.stack([np.sin(6 * X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.standard_normal((1100, 2))
    landscape = Landscape.of(make(X, Y, "gaussian", widths="shared"))
    relevance = np.array([1.5, 0.8])
    judged = set()
    for gap in 10.0 ** np.arange(-1, -7, -1.0):
        centers = terms_at(landscape, [[0.2, 0.3], [0.7, 0.6], [0.2 + gap, 0.3]], relevance)
        search, work = landscape.evaluate(centers)
        Phi = from_tiles(work.Phi)
        E, Q = np.split(from_tiles(landscape.problem.linear.tiles), [2], axis=1)
        new = Phi - Q @ (Q.T @ Phi)
        independent = np.abs(np.diag(np.linalg.qr(new)[1])) > SMALLEST_NEW_SHARE * np.linalg.norm(Phi, axis=0)
        assert np.isfinite(search.value[0]) == independent.all()
        if independent.all():
            rss = ((E - new @ np.linalg.lstsq(new, E, rcond=None)[0]) ** 2).sum(axis=0)
            assert search.value[0] == pytest.approx(landscape.log_posterior(rss, centers), abs=1e-6)
        judged.add(bool(independent.all()))
    assert judged == {True, False}


@pytest.mark.filterwarnings("ignore::saltus.DependentFeaturesWarning")
@pytest.mark.parametrize("name", [name for name, source in PROBLEMS.items() if source.n_levels is None])
def test_on_every_problem_value_and_gradient_are_those_of_the_chain(name):
    """Along a random direction, the slope of what chains call log pi is what the gradient says."""
    problem = make_problem(name)
    design = make(problem.X, problem.Y, "multiquadric", problem.weight, metric="standardized", k_max=2)
    landscape = Landscape.of(design)
    rng = np.random.default_rng(1)
    parameters = 0.3 + 0.4 * rng.random((2, design.mixture.n_parameters))
    direction, step, shared = rng.standard_normal(parameters.shape), 1e-5, design.mixture.starting_shared
    state = start_state(design.problem, design.linear.Q, design.Y, shared)

    def chain_value(at):
        set_terms(design, state, terms_at(design, at))
        return state.log_posterior[0]

    value, gradient = landscape.value_and_gradient(terms_at(design, parameters))
    gradient = gradient[: parameters.size].reshape(parameters.shape)
    assert value == pytest.approx(chain_value(parameters), rel=1e-6, abs=1e-5)
    slope = (chain_value(parameters + step * direction) - chain_value(parameters - step * direction)) / (2 * step)
    assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-4, abs=1e-4 * np.abs(gradient).max())
