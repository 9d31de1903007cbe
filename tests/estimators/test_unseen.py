"""Levels and gaps that training rows did not have are warned of when they are to be predicted."""

import warnings

import numpy as np
import pandas as pd
import pytest

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, Radial, UnseenValuesWarning

N = 200
SHORT = {"n_iter": 1000, "n_chains": 2, "random_state": 0}
MODELS = (AnnealedRegressor, BayesianRegressor)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make_table():
    rng = np.random.default_rng(0)
    town = rng.choice(["Oslo", "Rome", "Lima"], N, p=[0.5, 0.3, 0.2])
    town[:2] = ["Bonn", "Turin"]  # rare
    table = pd.DataFrame(
        {
            "town": town,
            "heating": rng.choice(["gas", "oil"], N, p=[0.7, 0.3]),
            "area": rng.uniform(20, 150, N),
            "cellar": np.where(np.arange(N) % 5 == 0, np.nan, rng.uniform(0, 50, N)),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 800, N), unit="D"),
            "constant": 1.0,
        }
    )
    y = 3.0 * table["area"] + 40.0 * (town == "Rome") + table["cellar"].fillna(-20.0) + rng.standard_normal(N)
    return table, y


@pytest.fixture(scope="module")
def fitted():
    table, y = make_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {each: each(**SHORT).fit(table, y) for each in MODELS}


def said_of(model, table, method="predict"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(model, method)(table)
    assert {each.filename for each in caught} <= {__file__}
    return [str(each.message) for each in caught if each.category is UnseenValuesWarning]


@pytest.mark.parametrize("regressor", MODELS)
def test_what_training_rows_had_is_not_warned_of(regressor, fitted):
    table, _ = make_table()
    assert said_of(fitted[regressor], table) == []  # rare levels, gaps in "cellar"
    assert said_of(fitted[regressor], table.assign(constant=np.nan)) == []  # which is not used


@pytest.mark.parametrize("regressor", MODELS)
def test_one_warning_names_columns_levels_and_what_they_count_as(regressor, fitted):
    table = make_table()[0][:6].copy()
    table.loc[:3, "town"] = ["Cairo", "Ulm", "Paris", "Accra"]
    table["heating"] = ["gas", "wood", "oil", None, "gas", None]
    table.loc[[1, 4], "area"] = None
    table.loc[2, "sold"] = None
    (said,) = said_of(fitted[regressor], table)
    assert (
        "The column 'town' has levels in 4 rows that no training row has, such as 'Cairo', 'Ulm', 'Paris': these rows "
        "count as '(other)'."
    ) in said
    assert "The column 'heating' has levels in 1 row that no training row has, such as 'wood': these rows" in said
    assert (
        "The column 'heating' has no value in 2 rows, and every training row has one: these rows count as 'gas'."
        in said
    )
    mean = fitted[regressor].data_notes_.inputs.mean[0]
    assert (
        f"The column 'area' has no value in 2 rows, and every training row has one: these rows count as {mean:.4g},"
        in said
    )
    assert (
        "The column 'sold' has no value in 1 row, and every training row has one: these rows count as the mean" in said
    )
    assert "cellar" not in said
    assert ("Prediction intervals of such rows are no wider for it" in said) == (regressor is BayesianRegressor)


@pytest.mark.parametrize("regressor", MODELS)
def test_such_rows_count_as_what_the_warning_says(regressor, fitted):
    model, table = fitted[regressor], make_table()[0][:20]
    notes = model.data_notes_.inputs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenValuesWarning)
        for odd, usual in (
            ({"area": None}, {"area": notes.mean[notes.names.index("area")]}),
            ({"heating": "wood"}, {"heating": "gas"}),
            ({"heating": None}, {"heating": "gas"}),
            ({"town": "Cairo"}, {"town": "Turin"}),
        ):
            predicted = model.predict(table.assign(**odd))
            np.testing.assert_allclose(predicted, model.predict(table.assign(**usual)), rtol=1e-9, err_msg=str(odd))


@pytest.mark.parametrize("basis", ["auto", "gaussian", Radial("cubic", metric="mahalanobis"), "waves", "polynomials"])
def test_gaps_in_an_array_of_numbers_are_warned_of(basis):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    X[:10, 1] = np.nan
    model = AnnealedRegressor(basis, n_iter=300, n_chains=1, random_state=0).fit(X, np.sin(X[:, 0]))
    assert said_of(model, X) == []
    gaps = np.where(np.arange(100)[:, None] < 3, np.nan, X)
    (said,) = said_of(model, gaps)
    assert said.startswith("The column 'x0' has no value in 3 rows, and every training row has one: these rows count")
    assert "x1" not in said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenValuesWarning)
        with_mean = np.where(np.isnan(gaps) & [True, False], X[:, 0].mean(), gaps)
        np.testing.assert_allclose(model.predict(gaps), model.predict(with_mean), rtol=1e-9)


def test_intervals_are_no_wider_where_a_value_is_missing_that_never_was(fitted):
    model, table = fitted[BayesianRegressor], make_table()[0][:20]
    (said,) = said_of(model, table.assign(area=None), "predict_interval")
    assert said.endswith("Prediction intervals of such rows are no wider for it, and may be too narrow.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenValuesWarning)
        low, high = model.predict_interval(table.assign(area=None), 0.9)
    assert np.mean(high - low) < 0.1 * 3.0 * make_table()[0]["area"].std()  # what not knowing the area costs


def test_the_warning_can_be_filtered(fitted):
    table = make_table()[0].assign(town="Cairo")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnseenValuesWarning)
        fitted[AnnealedRegressor].predict(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenValuesWarning)
        with pytest.raises(UnseenValuesWarning, match="'Cairo'"):
            fitted[AnnealedRegressor].predict(table)


def test_files_know_rare_levels_again(fitted, tmp_path):
    fitted[AnnealedRegressor].save(tmp_path / "m.saltus")
    again = saltus.load(tmp_path / "m.saltus")
    assert said_of(again, make_table()[0]) == []
    assert b"Turin" not in (tmp_path / "m.saltus").read_bytes()
    assert len(said_of(again, make_table()[0].assign(town="Cairo"))) == 1
