"""Fits to more rows than a search sees."""

import warnings
from copy import copy

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import saltus
from saltus import AnnealedRegressor, Radial
from saltus.estimators import EarlyEndWarning
from tests.policies import with_policy

FEW = {"most_rows_of_a_search": 900, "rows_of_a_search": 500, "rows_that_nominate": 800, "candidates_an_input": 30}
QUICK = {"n_iter": 300, "n_chains": 2, "term_cost": 4, "random_state": 0}

GAUSSIAN = pytest.param(Radial("gaussian"), id="gaussian", marks=pytest.mark.slow)  # compiles for long


@pytest.fixture(scope="module")
def data():
    X, y = make_friedman1(6000, n_features=6, noise=1.0, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def clean():
    return make_friedman1(2000, n_features=6, noise=0.0, random_state=1)


def fit(X, y, basis="auto", sample_weight=None, fit_options=None, **changes):
    return with_policy(AnnealedRegressor(basis, **{**QUICK, **changes}), **FEW).fit(
        X, y, sample_weight, **(fit_options or {})
    )


@pytest.fixture(scope="module")
def model(data):
    return fit(*data)


def error(model, clean):
    return np.sqrt(np.mean((model.predict(clean[0]) - clean[1]) ** 2))


def test_all_rows_refine_what_some_rows_found(data, clean, model):
    X, y = data
    part = fit(X[:500], y[:500])
    assert error(model, clean) < 0.65 * error(part, clean)
    assert "of 6 000 rows" in model.result_.status
    assert "passes over all rows refined what it found" in model.result_.status
    assert model.data_notes_.n_rows == 6000


def test_the_fitted_attributes_are_about_all_rows(data, model):
    X, y = data
    network = model.networks_[0]
    best = model.result_.chains[model.result_.best_chain].best
    residuals = y - best.network.predict(X)[:, 0]
    assert float(model.noise_variance_) == pytest.approx(np.mean(residuals**2), rel=1e-3)
    assert best.rss[0] <= (residuals**2).sum()
    # -N/2 ln RSS - P, with AICc's penalty of k columns and 4 parameters for each term
    n_parameters, n = 5 * model.n_terms_, len(y)
    total = 2 + n_parameters
    penalty = total * n / (n - total - 1) - 2 * n / (n - 3)
    assert model.log_posterior_ == pytest.approx(-n / 2 * np.log(best.rss[0]) - penalty, abs=1e-6)
    assert network.predict(X).shape == (len(y), 1)


def test_the_path_is_that_of_all_rows(data, clean, model):
    X, y = data
    sizes = model.path_
    assert [size.n_terms for size in sizes] == list(range(model.n_terms_, -1, -1))
    assert sizes[0].criterion == pytest.approx(model.criterion_value_, rel=1e-9)
    assert sizes[-1].leave_one_out == pytest.approx(y.std(), rel=1e-3)
    small = model.with_terms(4)
    assert small.n_terms_ == 4
    assert np.sqrt(np.mean((small.predict(X) - y) ** 2)) == pytest.approx(sizes[-5].leave_one_out, rel=0.01)


def test_it_comes_back_from_a_file_and_says_what_it_is(data, model, tmp_path):
    X, _ = data
    model = copy(model)
    del model._policy  # which files have no room for
    model.save(tmp_path / "model.saltus")
    again = saltus.load(tmp_path / "model.saltus")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.summary() == model.summary()
    assert "6000 rows" in model.summary()


def test_the_same_seed_gives_the_same_model_whatever_the_jobs(data, model):
    again = fit(*data, n_jobs=2)
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))


def test_weights_are_counts_of_rows(data, clean):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = fit(X, y, sample_weight=weight)
    best = weighted.result_.chains[weighted.result_.best_chain].best
    counted = weight > 0
    residuals = y[counted] - best.network.predict(X[counted])[:, 0]
    assert best.rss[0] == pytest.approx(weight[counted] @ residuals**2, rel=1e-3)
    assert weighted.data_notes_.total_weight == weight.sum()


@pytest.mark.parametrize("basis", [GAUSSIAN, "sigmoids"])
def test_other_families(data, clean, basis):
    found = fit(*data, basis=basis)
    assert error(found, clean) < 0.6
    assert "passes over all rows" in found.result_.status


def test_two_outputs_with_a_linear_term_of_all_inputs(data):
    X, y = data
    Y = np.stack([y, 3.0 * X[:, 0] + np.abs(X[:, 1] - 0.5)], axis=1)
    found = fit(X, Y, basis="hinges", linear="all")
    residuals = Y - found.predict(X)
    assert residuals[:, 0].std() < 1.2
    assert residuals[:, 1].std() < 0.02
    assert (found.linear_coef_ != 0).all()


def test_gaps_and_categories(data):
    X, y = data
    X = np.column_stack([X, np.random.default_rng(1).integers(0, 4, len(y))])
    X[::7, 5] = np.nan
    y = y + 3.0 * (X[:, 6] == 2)
    found = fit(X, y, categorical_features=[6])
    assert np.sqrt(np.mean((found.predict(X) - y) ** 2)) < 1.1


@pytest.mark.parametrize("basis", ["hinges", GAUSSIAN])
def test_gaps_that_hardly_any_row_has_are_seen(data, basis):
    X, y = data
    X = X.copy()
    X[-40:, 0] = np.nan
    found = fit(X, y, basis=basis)
    assert np.isfinite(found.predict(X)).all()
    assert np.std(y[-40:] - found.predict(X[-40:])) < 2 * np.std(y)


def test_an_interrupted_fit_keeps_what_it_has(data):
    told = []

    def stop_in_a_pass(progress):
        told.append(progress.n_passes)
        return progress.n_passes > 0

    with pytest.warns(EarlyEndWarning, match="Stopped by the callback"):
        found = with_policy(AnnealedRegressor(**QUICK), **FEW).fit(*data, callback=stop_in_a_pass)
    assert np.isfinite(found.predict(data[0])).all()
    assert found.result_.ended_early
    assert "what it had found by then" in found.result_.status


def test_a_time_limit_ends_the_passes_too(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit(*data, max_time=0.01)
    assert "its time limit (max_time) was over" in found.result_.status
    assert np.isfinite(found.predict(data[0])).all()


def test_a_resumed_fit_is_the_same(data, model, tmp_path):
    checkpoint = tmp_path / "fit.checkpoint"
    fit(*data, fit_options={"checkpoint": checkpoint, "checkpoint_every": 0})
    again = fit(*data, fit_options={"resume": checkpoint}, random_state=7)
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))


def test_rows_that_repeat_are_not_taken_for_more_than_they_are():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((40, 1)), 50, axis=0)
    y = np.repeat(rng.standard_normal(40), 50)
    found = with_policy(AnnealedRegressor(**{**QUICK, "term_cost": 1}), **FEW).fit(X, y)
    assert found.n_terms_ < 40
