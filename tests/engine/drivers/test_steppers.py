"""What steppers make of a state: coefficients."""

import numpy as np
import pytest

from saltus import BayesianRegressor
from saltus.engine.drivers.steppers import held_back, is_spread


def test_coefficients_have_the_posterior_of_both_priors():
    rng = np.random.default_rng(0)
    D, y, m = rng.standard_normal((30, 4)), rng.standard_normal(30), 4
    D[:, 3] = D[:, 2] + 1e-4 * D[:, 3]
    Q, R = np.linalg.qr(D)
    shrink, precision = np.array([1.0, 0.9, 0.9, 0.9]), np.array([0.0, 0.0, 0.03, 0.03])
    mean, K = held_back(R, Q.T @ y, shrink, precision)
    W = R.T @ np.diag(1 / shrink) @ R + np.diag(precision**2)
    np.testing.assert_allclose(K @ K.T @ W, np.eye(m), atol=1e-6)
    np.testing.assert_allclose(mean, np.linalg.solve(W, D.T @ y), rtol=1e-6)
    np.testing.assert_array_equal(K, np.triu(K))
    alone, _ = held_back(R, Q.T @ y, shrink, np.zeros(m))
    np.testing.assert_allclose(alone, np.linalg.solve(R, shrink * (Q.T @ y)), rtol=1e-6)
    assert np.abs(mean).max() < 10 < np.abs(alone).max()


def test_coefficients_are_too_large_by_their_mean_or_by_their_spread():
    root = np.diag([1.0, 2.0])
    assert not is_spread(np.array([3.0, -7.0]), root, np.array([np.inf, 10.0]))
    assert is_spread(np.array([3.0, -9.0]), root, np.array([np.inf, 10.0]))
    assert is_spread(np.array([3.0, 0.0]), 6 * root, np.array([np.inf, 10.0]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_waves_that_cancel_within_the_data_are_held_back(monkeypatch):
    """Slow waves are all but dependent on each other, and beyond the data they do not cancel."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 1, 120))[:, None]
    y = np.cos(40 * x[:, 0]) * (1 + x[:, 0]) + 3 * x[:, 0] ** 3 + 0.3 * rng.standard_normal(120)

    def largest():
        model = BayesianRegressor("waves", n_iter=4000, n_chains=2, n_draws=100, random_state=0).fit(x, y)
        return max(np.abs(draw.mean).max() for draw in model._predictive.draws)

    held = largest()
    monkeypatch.setattr("saltus.engine.drivers.steppers.is_spread", lambda *_: False)
    assert held < 0.5 * largest()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_coefficient_is_larger_than_any_may_be(monkeypatch):
    """Whatever its term is: here steps, which nothing else holds."""
    rng = np.random.default_rng(0)
    X = rng.random((100, 1))
    y = (X[:, 0] > 0.5) + 0.1 * rng.standard_normal(100)

    def largest():
        model = BayesianRegressor("steps", linear="none", n_iter=200, n_chains=1, n_draws=20, random_state=0).fit(X, y)
        return max(np.abs(draw.mean[1:]).max() for draw in model.chains_[0].draws)

    assert largest() > 1.5
    monkeypatch.setattr("saltus.engine.drivers.steppers.WIDEST_OF_ANY", 0.01)
    assert largest() < 0.5
