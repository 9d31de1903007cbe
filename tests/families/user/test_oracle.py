"""A family of the library, written as a user would, is the same family: columns, gradients, counts and log pi."""

import numpy as np
import pytest

from saltus import Ridge
from saltus.engine.kernels.state import start_state
from saltus.engine.problem.problem import Criterion
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.starts import set_terms
from saltus.families.line_profiles import SIGMOID
from saltus.families.registry import count_terms
from saltus.families.terms import TermSet
from tests.engine.designs import blind_to_faintness, make_with
from tests.families.user.families import OwnRidge
from tests.kernels import columns_of

K = 10
STEEPENING = np.log(20 / 0.3)


@pytest.fixture(params=[90, 700], ids=["one tile", "two tiles"])
def designs(request, rng):
    """The library's ridges, and the user's, on data of mean 0 and spread 1."""
    X = rng.standard_normal((request.param, 4))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = np.column_stack([np.tanh(X[:, 0] + X[:, 1]), X[:, 2] ** 2]) + 0.1 * rng.standard_normal((request.param, 2))
    weight = rng.integers(1, 4, request.param).astype(float)
    # With the weights, the mean and the spread are others again.
    mean = np.average(X, axis=0, weights=weight)
    X = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    criterion = Criterion(0.7 * np.arange(1000), np.arange(K + 1.0), 0)
    return [make_with(X, Y, basis, criterion, weight=weight) for basis in (Ridge("sigmoid", max_inputs=3), OwnRidge())]


@pytest.fixture
def terms(designs, rng):
    """The same terms, as each knows them."""
    ours = designs[0].mixture.draw(rng, K)
    size, inputs = ours.choices[:, :1], ours.choices[:, 2:]
    own = TermSet(ours.family, np.hstack([size, inputs]), ours.parameters, ours.shared)
    assert (ours.choices[:, 1] == SIGMOID).all()
    assert set(size.ravel().tolist()) == {1, 2, 3}
    assert all(design.mixture.accepts(each) for design, each in zip(designs, (ours, own), strict=True))
    return ours, own


def test_columns_are_the_same(designs, terms):
    ours, own = (design.columns(each) for design, each in zip(designs, terms, strict=True))
    np.testing.assert_allclose(own, ours, rtol=1e-9, atol=1e-11)
    ours, own = (
        columns_of(design.problem.families, each, design.problem.root_weight)
        for design, each in zip(designs, terms, strict=True)
    )
    assert np.abs(ours).max() > 0.5
    np.testing.assert_allclose(own, ours, rtol=1e-9, atol=1e-11)


def test_log_pi_and_counts_are_the_same(designs, terms):
    found = []
    for design, each in zip(designs, terms, strict=True):
        state = start_state(design.problem, design.linear.Q, design.Y, each.shared)
        set_terms(design, state, each)
        found.append((state.log_posterior[0], count_terms(design.problem.families, each), state.n_own[0]))
    assert found[1] == pytest.approx(found[0], rel=1e-10)


def test_gradients_are_the_same(designs, terms):
    """Ridges descend along 2 u - 1 of the offset, the logarithm of the slope, and logits of the direction."""
    (value, expected), (own_value, gradient) = (
        blind_to_faintness(Landscape.of(design)).value_and_gradient(each)
        for design, each in zip(designs, terms, strict=True)
    )
    assert own_value == pytest.approx(value, rel=1e-6)
    at = own_at = 0
    for g, u in zip(terms[0].choices[:, 0], terms[0].parameters, strict=True):
        direction = expected[at + 2 : at + 2 + g] / (u[2 : 2 + g] * (1 - u[2 : 2 + g])) if g > 1 else [0.0]
        by_parameters = [2 * expected[at], STEEPENING * expected[at + 1], *direction]
        scale = np.abs(by_parameters).max()
        np.testing.assert_allclose(gradient[own_at : own_at + 2 + g], by_parameters, rtol=1e-5, atol=1e-5 * scale)
        at, own_at = at + 2 + (g if g > 1 else 0), own_at + 2 + g
    assert (at, own_at) == (expected.size, gradient.size)
