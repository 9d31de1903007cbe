"""Data and arguments that no model can be made of: a sentence each, and masked cells are missing."""

import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel

from saltus import AnnealedRegressor, BayesianRegressor, MissingTargetWarning
from saltus.demo import PAPER_PRIORS
from saltus.engine.drivers import anneal
from tests.equality import same
from tests.paper import paper

QUICK = {"n_iter": 500, "n_chains": 2, "random_state": 0}

# Where long doubles are doubles, there is no such number.
HUGE = np.longdouble("1e400") if np.finfo(np.longdouble).maxexp > 1024 else None


@pytest.fixture
def data(rng):
    X = rng.random((30, 2))
    return X, np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(30)


@pytest.fixture(autouse=True)
def no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def fit(X, y, **options):
    return paper(**{**QUICK, **options}).fit(X, y)


@pytest.mark.parametrize("estimator", [AnnealedRegressor, BayesianRegressor])
@pytest.mark.parametrize("weight", [1e308, 1e150, 1e15])
def test_weights_that_are_no_counts(data, estimator, weight):
    X, y = data
    with pytest.raises(ValueError, match=r"sum over 30 rows must not be above 1e\+15. Got a weight of .* Divide all"):
        estimator(random_state=0).fit(X, y, sample_weight=np.full(30, weight))


def test_weights_that_are_no_numbers(data):
    for weight in (pd.date_range("2020", periods=30), ["a"] * 30):
        with pytest.raises(ValueError, match=r"sample_weight must be numbers. Got '"):
            AnnealedRegressor("gaussian", **QUICK).fit(*data, sample_weight=weight)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange("2020-01-01", "2020-01-31", dtype="datetime64[D]"), r"y holds dates, such as '2020-01-01'"),
        (pd.date_range("2020", periods=30, tz="UTC"), r"y holds dates, such as '2020-01-01 00:00:00\+00:00'"),
        (np.arange(30).astype("m8[s]"), r"y holds spans of time, such as '0 seconds'"),
    ],
)
def test_times_as_targets(data, y, message):
    with pytest.raises(ValueError, match=f"{message}.*Count the time from a date of your choice"):
        fit(data[0], y)


def test_masked_cells_are_missing(data):
    X, y = data
    hidden_X, hidden_y = np.zeros(X.shape, dtype=bool), np.zeros(30, dtype=bool)
    hidden_X[3, 0], hidden_y[5] = True, True
    masked_X = np.ma.array(np.where(hidden_X, 1e300, X), mask=hidden_X)
    masked_y = np.ma.array(np.where(hidden_y, 1e300, y), mask=hidden_y)
    with pytest.warns(MissingTargetWarning):
        expected = fit(np.where(hidden_X, np.nan, X), np.where(hidden_y, np.nan, y))
    for inputs in (masked_X, list(masked_X), [masked_X[0], *masked_X[1:]]):
        with pytest.warns(MissingTargetWarning):
            assert same(fit(inputs, masked_y).networks_, expected.networks_)
        assert same(expected.predict(inputs), expected.predict(np.where(hidden_X, np.nan, X)))


def test_rows_without_a_target_have_no_part_in_a_score(data):
    X, y = data
    model = fit(X, y)
    hidden = np.arange(30) < 3
    spoiled = np.ma.array(np.where(hidden, 1e9, y), mask=hidden)
    for targets in (spoiled, np.where(hidden, np.nan, y)):
        with pytest.warns(MissingTargetWarning):
            assert model.score(X, targets) == model.score(X[3:], y[3:])
    with pytest.raises(ValueError, match=r"sample_weight is masked"):
        model.score(X, y, np.ma.array(np.ones(30), mask=hidden))
    with pytest.raises(ValueError, match=r"y holds text, such as 'a'"):
        model.score(X, ["a"] * 30)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a": [1.0, 2.0]}, r"X is a dict, and has to be a table. .*pandas.DataFrame\(X\)"),
        ((row for row in np.ones((30, 2))), r"X is a generator, .* Pass list\(X\)"),
        ({1.0, 2.0}, r"X is a set, .* Pass list\(X\)"),
        (None, "X is None. Pass a table"),
        ("data.csv", "X is text, 'data.csv'. Pass a table"),
    ],
)
def test_what_is_no_table(data, X, message):
    with pytest.raises(TypeError, match=message):
        fit(X, data[1])


def test_what_is_no_target(data):
    with pytest.raises(TypeError, match=r"y is a set, .* in the order of the rows"):
        fit(data[0], set(data[1]))
    with pytest.raises(ValueError, match=r"y is a data frame without columns"):
        fit(data[0], pd.DataFrame(index=range(30)))


def test_two_columns_of_one_name(data):
    X, y = data
    with pytest.raises(ValueError, match=r"X has two columns named 'a'. Rename one."):
        fit(pd.DataFrame(X, columns=["a", "a"]), y)


@pytest.mark.skipif(HUGE is None, reason="long doubles are doubles here")
def test_numbers_beyond_double_precision(data):
    X, y = data
    with pytest.raises(ValueError, match=r"infinity"):
        fit(X * HUGE, y)
    with pytest.raises(ValueError, match=r"infinity"):
        fit(X, y * HUGE)
    assert same(fit(X.astype(np.longdouble), y.astype(np.longdouble)).networks_, fit(X, y).networks_)


@pytest.mark.parametrize("estimator", [AnnealedRegressor, BayesianRegressor])
@pytest.mark.parametrize(
    "option", [{"n_iter": 10**16}, {"n_iter": 10**30}, {"n_chains": 10**9}, {"n_jobs": 0}, {"k_max": -1}]
)
def test_counts_beyond_reason(data, estimator, option):
    (name,) = option
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {estimator.__name__} must be .* Got"):
        estimator(**option).fit(*data)


@pytest.mark.parametrize("name", ["noise_shape", "noise_scale", "ridge_shape", "ridge_scale", "rate_shape", "g"])
def test_priors_beyond_reason(data, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of BayesianRegressor must be .* Got"):
        BayesianRegressor(**{name: 1e300}).fit(*data)


def test_a_term_that_costs_more_than_memory(data):
    with pytest.raises(ValueError, match=r"The 'term_cost' parameter of AnnealedRegressor must be .* Got"):
        fit(*data, term_cost=10**9)


def test_no_more_threads_than_chains(data, monkeypatch):
    asked = []
    monkeypatch.setattr(anneal, "Parallel", lambda n_jobs, **options: asked.append(n_jobs) or Parallel(n_jobs=1))
    fit(*data, n_jobs=10**6)
    assert asked == [QUICK["n_chains"]]


def test_callbacks_that_cannot_be_called(data):
    with pytest.raises(TypeError, match=r"callback must be a function of one argument, .* Got 3"):
        paper(**QUICK).fit(*data, callback=3)


def test_arguments_of_methods(data):
    model = fit(*data)
    for chain in ("a", 0.5, -1):
        with pytest.raises(ValueError, match=r"chain must be between 0 and 1. Got"):
            next(model.staged_predict(data[0], chain=chain))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_arguments_of_methods_of_a_posterior(data):
    X, y = data
    model = BayesianRegressor(**PAPER_PRIORS, n_iter=300, n_draws=10, n_chains=1, random_state=0).fit(X, y)
    for coverage in ("a", None, [0.5, 0.9], np.nan, 1):
        with pytest.raises(ValueError, match=r"coverage must be between 0 and 1. Got"):
            model.predict_interval(X, coverage)
    for n_samples in (-1, 0, 1.5, "a"):
        with pytest.raises(ValueError, match=r"n_samples must be a whole number, 1 or more. Got"):
            model.sample_y(X, n_samples)
    with pytest.raises(ValueError, match=r"n_draws must be a whole number, 1 or more. Got"):
        model.sample_prior(X, n_draws=1.5)


@pytest.mark.parametrize("init", [[["a", "b"]], [[1.0, 2.0], [3.0]], {}])
def test_starts_that_are_no_points(data, init):
    with pytest.raises(ValueError, match=r"[Tt]he 'init' parameter|init must be an array of shape \(k, 2\), .* Got"):
        fit(*data, init=init)


def test_lists_of_different_lengths_name_no_categories(data):
    with pytest.raises(ValueError, match=r"categorical_features must be 'from_dtype', None, or a list"):
        fit(*data, categorical_features=[[0], [0, 1]])


def test_infinity_of_both_signs(data):
    X, y = data
    both = np.array([np.inf, -np.inf])
    model = fit(X, y)
    for spoil in (lambda: fit(np.vstack([X[:-2], both, both]), y), lambda: fit(X, np.r_[y[:-2], both])):
        with pytest.raises(ValueError, match="contains infinity"):
            spoil()
    with pytest.raises(ValueError, match="contains infinity"):
        model.predict(both[None])
