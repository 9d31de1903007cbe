"""Which inputs matter, and which act together."""

import numpy as np
import pytest

from saltus import AnnealedRegressor, Product
from saltus.inspection.importance import importance, rank_by_importance, strongest_interactions


def test_importance_is_the_growth_of_the_error_when_an_input_is_shuffled(rng):
    X = rng.standard_normal((300, 3))
    y = 3.0 * X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(300)
    model = AnnealedRegressor("gaussian", k_max=0, n_iter=1, n_chains=1, random_state=0).fit(X, y)
    new = rng.standard_normal((300, 3))
    observed = (3.0 * new[:, 0] + new[:, 1])[:, None] + 0.5 * rng.standard_normal((300, 1))
    found = importance(model, new, observed)
    # Two independent values of an input differ by twice its variance in the mean square.
    slopes = np.abs(model.linear_coef_)
    expected = (np.sqrt(2 * slopes**2 + 0.25) - 0.5) / y.std()
    np.testing.assert_allclose(found[:2], expected[:2], rtol=0.15)
    assert found[2] < 0.01
    assert rank_by_importance(model, found)[:2] == [0, 1]


def test_the_pair_that_acts_together_comes_first(rng):
    X = rng.uniform(-1, 1, (300, 3))
    y = 2.0 * X[:, 0] * X[:, 1] + X[:, 2]
    model = AnnealedRegressor(Product("identity", max_inputs=2), n_iter=500, n_chains=1, random_state=0).fit(X, y)
    first, *others = strongest_interactions(model, [2, 1, 0], most=3)
    assert {first.first, first.second} == {0, 1}
    # On a grid of seven even places over [-1, 1] the mean square of x0 x1 is (4/9)^2.
    assert first.strength == pytest.approx(2.0 * 4 / 9 / y.std(), rel=0.03)
    assert all(each.strength < 0.05 for each in others)
