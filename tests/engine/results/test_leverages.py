import numpy as np
import pytest

from saltus import BayesianRegressor
from saltus.engine.results.leverages import effective_parameters

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=120):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.2 * rng.standard_normal(n)


def test_coefficients_that_are_free_are_counted():
    model = BayesianRegressor("hinges", linear="all", k_max=0, n_iter=10, n_chains=1, random_state=0).fit(*data())
    assert model.effective_parameters_ == pytest.approx(3)


def test_a_prior_of_g_counts_for_its_share():
    model = BayesianRegressor("bumps", g=5.0, n_iter=500, n_chains=2, n_draws=50, random_state=0).fit(*data())
    n_columns = np.mean([len(draw.mean) for chain in model.chains_ for draw in chain.draws])
    assert n_columns > 2
    # A coefficient that would be huge is held back a little more.
    assert 0.99 < model.effective_parameters_ / (1 + 5 / 6 * (n_columns - 1)) <= 1 + 1e-9


def test_the_ridge_holds_coefficients_back():
    """The trace of the matrix that takes y to its fit, by moving each y a little."""
    X, y = data(30)
    model = BayesianRegressor("gaussian", n_iter=300, n_chains=1, n_draws=1, random_state=0).fit(X, y)
    (draw,) = model.chains_[0].draws
    (D,) = model._predictive.features.columns(X, [draw])
    hat = D @ draw.K[0] @ draw.K[0].T @ D.T
    np.testing.assert_allclose(hat @ (y - y.mean()) / y.std(), D @ draw.mean[:, 0], atol=1e-8)
    assert model.effective_parameters_ == pytest.approx(np.trace(hat))
    assert np.trace(hat) < D.shape[1] - 0.01


def test_a_weight_counts_as_rows():
    X, y = data()
    model = BayesianRegressor("bumps", n_iter=300, n_chains=1, random_state=0).fit(X, y)
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = effective_parameters(model._predictive, X, weight.astype(float))
    repeated = effective_parameters(model._predictive, np.repeat(X, weight, axis=0), np.ones(weight.sum()))
    np.testing.assert_allclose(weighted, repeated)


def test_the_summary_says_so():
    model = BayesianRegressor("bumps", n_iter=300, n_chains=1, random_state=0).fit(*data())
    assert f"{model.effective_parameters_:.3g} effective degrees of freedom" in str(model.summary()).replace(
        "\n  ", " "
    )
