"""`sample_prior`: what it gives, that it leaves the model alone, and what it refuses.

Tests of Kolmogorov and Smirnov ask for p > 1e-6: five of them.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import invgamma, kstest

from saltus import BayesianRegressor, DependentFeaturesWarning, Product, Radial
from saltus.engine.problem.span import GRID
from saltus.estimators.checks import check_data
from saltus.estimators.prior import design_at

LEAST_P = 1e-6
X = np.random.default_rng(3).uniform(-2, 3, size=(40, 2))
WIDE = Radial("gaussian", 1.5, metric="standardized")


def test_a_draw_is_a_function_with_noise_and_a_size():
    draws = BayesianRegressor("hinges").sample_prior(X, n_draws=20, random_state=1)
    assert len(draws) == 20
    assert len({draw.n_terms for draw in draws}) > 1
    new = X[:7] + 0.1
    for draw in draws:
        assert draw.predict(new).shape == (7,)
        assert draw.noise_variance == 1.0
        assert np.isclose(draw.prior_width / 40, GRID).any()
        assert draw.network.term_coef.shape == (1, draw.n_terms)
    again = BayesianRegressor("hinges").sample_prior(X, n_draws=20, random_state=1)
    np.testing.assert_array_equal(again[-1].predict(new), draws[-1].predict(new))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_model_stays_as_it_is():
    model = BayesianRegressor("hinges", n_iter=200, n_chains=1, random_state=0)
    before = dict(vars(model))
    model.sample_prior(X, n_draws=2)
    assert vars(model) == before
    model.fit(X, X[:, 0])
    before = dict(vars(model))
    draws = model.sample_prior(X[:, :1], n_draws=2)  # other inputs than it was fitted to
    assert vars(model) == before
    assert draws[0].predict(X[:, :1]).shape == (40,)


def test_names_of_inputs_are_kept():
    frame = pd.DataFrame(X, columns=["lift", "drag"])
    draw = BayesianRegressor("hinges").sample_prior(frame, n_draws=9)[-1]
    np.testing.assert_array_equal(draw.predict(frame), draw.network.predict(X)[:, 0])
    with pytest.raises(ValueError, match="feature names"):
        draw.predict(frame.rename(columns={"drag": "thrust"}))


def test_several_outputs_share_their_terms():
    model = BayesianRegressor("steps", noise_shape=5.0, noise_scale=2.0)
    draws = model.sample_prior(X, n_draws=30, n_outputs=3)
    assert draws[0].predict(X).shape == (40, 3)
    assert draws[0].noise_variance.shape == draws[0].prior_width.shape == (3,)
    assert len(np.unique(draws[0].noise_variance)) == 3


def test_the_variance_of_the_noise_has_its_prior():
    model = BayesianRegressor("steps", noise_shape=5.0, noise_scale=2.0)
    drawn = [draw.noise_variance for draw in model.sample_prior(X, n_draws=500)]
    assert kstest(drawn, invgamma(2.5, scale=1.0).cdf).pvalue > LEAST_P
    given = model.sample_prior(X, n_draws=2, n_outputs=2, noise_variance=[4.0, 9.0])
    assert given[1].noise_variance.tolist() == [4.0, 9.0]


def linear_part(Y, linear):
    """What the linear term explains of functions (N, n) at the rows."""
    Q = np.linalg.qr(np.hstack([np.ones((40, 1)), X]) if linear == "all" else np.ones((40, 1)))[0]
    return Q @ (Q.T @ Y)


@pytest.mark.parametrize("linear", ["all", "none"])
def test_functions_under_a_g_prior_are_normal_in_the_span_of_their_columns(linear):
    """The projection of y on q columns has q terms of variance g sigma^2 each, and no linear part."""
    model = BayesianRegressor(["hinges", "steps"], linear=linear, g=25.0)
    draws = [draw for draw in model.sample_prior(X, n_draws=900, noise_variance=4.0) if draw.n_terms > 0]
    Y = np.stack([draw.predict(X) for draw in draws], axis=1)
    assert np.abs(linear_part(Y, linear)).max() < 1e-8 * np.abs(Y).max()
    along = []
    for draw, y in zip(draws, Y.T, strict=True):
        columns = draw.network.mixture.columns(draw.network.box.to_unit(X), draw.network.terms)
        Q = np.linalg.qr(columns - linear_part(columns, linear))[0]
        np.testing.assert_allclose(Q @ (Q.T @ y), y, atol=1e-8 * np.abs(Y).max())
        along.extend(Q.T @ y)
    assert len(along) > 500
    assert kstest(along, "norm", args=(0.0, 10.0)).pvalue > LEAST_P


@pytest.mark.parametrize("ridge", ["plain", "relative"])
def test_coefficients_under_a_ridge_are_normal(ridge):
    """Under the relative ridge they are those of the new part of each column, over the root of its share."""
    model = BayesianRegressor(WIDE, prior="ridge", ridge=ridge, ridge_shape=3.0, ridge_scale=5.0, k_max=4)
    draws = model.sample_prior(X, n_draws=500, noise_variance=4.0)
    assert kstest([draw.prior_width for draw in draws], invgamma(3.0, scale=5.0).cdf).pvalue > LEAST_P
    scaled = np.hstack([np.ones((40, 1)), (X - X.mean(axis=0)) / X.std(axis=0)])
    unit = []
    for draw in draws:
        columns = draw.network.mixture.columns(draw.network.box.to_unit(X), draw.network.terms)
        if ridge == "relative":
            new = columns - linear_part(columns, "all")
            columns = new * np.linalg.norm(columns, axis=0) / np.linalg.norm(new, axis=0)
        D = np.hstack([scaled, columns])
        solved = np.linalg.lstsq(D, draw.predict(X), rcond=None)[0]
        np.testing.assert_allclose(D @ solved, draw.predict(X), atol=1e-7)
        unit.append(solved / np.sqrt(4.0 * draw.prior_width))
    assert kstest(np.concatenate(unit), "norm").pvalue > LEAST_P


def test_parts_of_the_inputs_that_depend_are_left_out():
    wide = np.column_stack([X, X[:, 0], np.full(40, 3.0)])
    with pytest.warns(DependentFeaturesWarning):
        draw = BayesianRegressor("hinges", linear="all").sample_prior(wide, n_draws=1)[0]
    assert draw.predict(wide).shape == (40,)
    alone = BayesianRegressor("hinges").sample_prior(np.ones((20, 1)), n_draws=1)[0]
    assert alone.n_terms == 0


def test_the_design_is_that_of_a_fit():
    model = BayesianRegressor("hinges")
    rng = np.random.default_rng(0)
    design = design_at(BayesianRegressor("hinges"), np.vstack([X, X]), 1)
    fitted = model._make_design(check_data(model, np.vstack([X, X]), rng.standard_normal(80), None))
    assert design.k_max == fitted.k_max
    assert design.problem.criterion.by_count.size == fitted.problem.criterion.by_count.size


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, {"n_draws": 0}, "n_draws must be a whole number, 1 or more. Got 0"),
        ({}, {"n_draws": 2.5}, "n_draws must be a whole number"),
        ({}, {"n_outputs": True}, "n_outputs must be a whole number"),
        ({}, {"noise_variance": -1.0}, "noise_variance must be a positive number"),
        ({}, {"noise_variance": [1.0, 2.0]}, "one for each of n_outputs=1 outputs"),
        ({}, {"noise_variance": np.nan}, "noise_variance must be a positive number"),
        ({"prior": "ridge", "rate_rate": 0.0}, {}, "rate_rate=0 the prior of the number of terms is improper"),
        ({"noise_shape": -1.0}, {}, "The 'noise_shape' parameter of BayesianRegressor"),
        ({"k_max": 60}, {}, "k_max=60 with 1 columns"),
    ],
)
def test_errors_say_what_was_wrong(options, arguments, message):
    with pytest.raises(ValueError, match=message):
        BayesianRegressor("steps", **options).sample_prior(X, **arguments)


@pytest.mark.parametrize(("bad", "message"), [(X[:1], "minimum of 2"), (X * np.nan, "NaN"), (X[:, 0], "2D array")])
def test_inputs_are_checked_as_by_fit(bad, message):
    with pytest.raises(ValueError, match=message):
        BayesianRegressor("steps").sample_prior(bad)


def test_sets_that_are_never_allowed_are_an_error_with_a_remedy(monkeypatch):
    monkeypatch.setattr("saltus.engine.drivers.prior.MOST_TRIES", 50)
    model = BayesianRegressor(Product("step", max_inputs=1), prior="ridge", k_max=30, linear="none")
    with pytest.raises(ValueError, match="Set a smaller k_max"):
        model.sample_prior(X)
