"""Tables as they come, through all that a model does: text, categories, dates, gaps, numbers in disguise."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, Radial, UnreadableValuesWarning, WildValuesWarning
from saltus.inspection.doubts import is_converged
from saltus.inspection.formula import Formula
from saltus.report import render_report
from tests.equality import same

N = 300
MODELS = (AnnealedRegressor, BayesianRegressor)
SHORT = {"n_iter": 4000, "n_chains": 2, "random_state": 0}


def make_table(seed=0, n=N):
    """A table of all sorts of columns, and y, whose noise has a standard deviation of 0.1."""
    rng = np.random.default_rng(seed)
    town, x, when = rng.choice(["Oslo", "Rome", "Lima"], n), rng.normal(size=n), rng.integers(0, 1200, n)
    tested = rng.random(n) < 0.6
    table = pd.DataFrame(
        {
            "town": town,
            "x": np.where(rng.random(n) < 0.1, np.nan, x),
            "price": [f"${value:,.2f}" for value in rng.uniform(500, 5000, n)],
            "when": pd.Timestamp("2019-01-01") + pd.to_timedelta(when, unit="D"),
            "grade": pd.Categorical(rng.choice(list("abc"), n)),
            "test": np.where(tested, rng.normal(size=n), np.nan),
            "row": np.arange(n),
        }
    )
    season = np.cos(2 * np.pi * (table["when"].dt.day_of_year - 1) / 365.25)
    y = 2.0 * (town == "Rome") + np.where(np.isnan(table["x"]), 0.0, x) + season + 1.5 * tested
    return table, np.asarray(y + 0.1 * rng.standard_normal(n))


@pytest.fixture(scope="module")
def fitted():
    table, y = make_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of chains that are short
        return {each: each(**SHORT).fit(table, y) for each in MODELS}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("regressor", MODELS)
def test_all_sorts_of_columns_are_used(regressor, fitted):
    model = fitted[regressor]
    assert model.feature_names_in_.tolist() == ["town", "x", "price", "when", "grade", "test", "row"]
    assert model.data_notes_.left_out == {"row": "it numbers the rows; give it another name to keep it"}
    assert model.data_notes_.input_names[-3:] == ("town", "when.weekday", "grade")
    new, truth = make_table(seed=1)
    error = model.predict(new) - truth
    assert np.sqrt(np.mean(error**2)) < 0.16
    said = " ".join(model.summary().split())
    assert "Left out: row (it numbers the rows; give it another name to keep it)." in said


@pytest.mark.parametrize("regressor", MODELS)
def test_every_row_is_predicted_whatever_is_missing(regressor, fitted):
    table, _ = make_table(seed=2, n=20)
    nothing = table.astype(object)
    nothing.loc[:, :] = None
    assert np.isfinite(fitted[regressor].predict(nothing)).all()
    for name in table:
        some = table.astype({name: object})
        some.loc[::2, name] = None
        assert np.isfinite(fitted[regressor].predict(some)).all()
    unseen = table.assign(town="Cairo", grade="z")
    assert np.isfinite(fitted[regressor].predict(unseen)).all()


@pytest.mark.parametrize("regressor", MODELS)
def test_the_library_of_the_table_does_not_matter(regressor, fitted):
    table, _ = make_table(seed=3, n=30)
    predicted = fitted[regressor].predict(table)
    np.testing.assert_array_equal(fitted[regressor].predict(pl.from_pandas(table)), predicted)
    as_objects = table.astype(object).where(table.notna(), None)
    np.testing.assert_array_equal(fitted[regressor].predict(as_objects), predicted)


def test_columns_are_known_by_their_names(fitted):
    table, _ = make_table(n=5)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted[AnnealedRegressor].predict(table.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match=r"feature names|features"):
        fitted[AnnealedRegressor].predict(table.drop(columns="row"))


def test_text_that_cannot_be_read_is_missing_and_said_to_be(fitted):
    table, _ = make_table(n=5)
    odd = table.assign(price=["$1.00", "a lot", None, "$2.00", "much"])
    with pytest.warns(UnreadableValuesWarning, match="'price' holds 'a lot' in the first of 2 rows"):
        predicted = fitted[AnnealedRegressor].predict(odd)
    missing = table.assign(price=["$1.00", None, None, "$2.00", None])
    np.testing.assert_array_equal(predicted, fitted[AnnealedRegressor].predict(missing))


@pytest.mark.parametrize("regressor", MODELS)
def test_files_keep_how_tables_are_read(regressor, fitted, tmp_path):
    table, _ = make_table(seed=4, n=40)
    fitted[regressor].save(tmp_path / "m.saltus")
    again = saltus.load(tmp_path / "m.saltus")
    assert same(again._reader, fitted[regressor]._reader)
    np.testing.assert_array_equal(again.predict(table), fitted[regressor].predict(table))


@pytest.mark.parametrize("regressor", MODELS)
def test_onnx_takes_what_encode_makes(regressor, fitted):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, (table, _) = fitted[regressor], make_table(seed=5, n=40)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    inputs = model.encode(table)
    assert inputs.shape == (40, len(model.data_notes_.input_names))
    np.testing.assert_allclose(session.run(None, {"X": inputs})[0], model.predict(table), rtol=1e-9, atol=1e-9)


def test_a_pipeline_that_reads_text_is_refused_by_onnx(fitted):
    pytest.importorskip("skl2onnx")
    with pytest.raises(RuntimeError, match="reads text, categories or dates, which ONNX has no nodes for"):
        saltus.onnx.export._part("pipeline").convert(make_pipeline(fitted[AnnealedRegressor]), np.dtype(np.float64))


@pytest.mark.parametrize("regressor", MODELS)
def test_the_formula_is_the_network(regressor, fitted):
    network, (table, _) = fitted[regressor]._single_network, make_table(seed=6, n=40)
    inputs = fitted[regressor].encode(table)
    np.testing.assert_allclose(Formula.of(network).predict(inputs), network.predict(inputs), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("regressor", MODELS)
def test_reports_and_pictures(regressor, fitted):
    pytest.importorskip("matplotlib")
    table, y = make_table()
    new, truth = make_table(seed=7, n=50)
    page = render_report(fitted[regressor], table, y, X_test=new, y_test=truth)
    assert "rows of the fit (300)" in page
    assert ("town is" in page) == is_converged(fitted[regressor])
    assert fitted[regressor].plot(table, y) is not None


def test_a_fit_goes_on_from_a_checkpoint(tmp_path):
    table, y = make_table(n=60)
    whole = AnnealedRegressor(**SHORT).fit(table, y, checkpoint=tmp_path / "c.saltus", checkpoint_every=0)
    again = AnnealedRegressor(**SHORT).fit(table, y, resume=tmp_path / "c.saltus")
    assert same(again.networks_, whole.networks_)


def test_weights_are_rows():
    table, y = make_table(n=60)
    table = table.drop(columns="row")  # which would number the rows no more
    weight = np.random.default_rng(0).integers(1, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    weighted = AnnealedRegressor(**SHORT).fit(table, y, sample_weight=weight)
    repeated = AnnealedRegressor(**SHORT).fit(table.iloc[rows], y[rows])
    assert same(weighted._reader.readers, repeated._reader.readers)
    np.testing.assert_allclose(weighted.predict(table), repeated.predict(table), rtol=1e-6, atol=1e-6)


def test_in_a_pipeline_and_a_column_transformer():
    table, y = make_table()
    scaled = ColumnTransformer(
        [("scale", StandardScaler(), ["x"])], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    pipeline = make_pipeline(scaled, AnnealedRegressor(**SHORT)).fit(table, y)
    new, truth = make_table(seed=1)
    assert np.sqrt(np.mean((pipeline.predict(new) - truth) ** 2)) < 0.2
    assert "town" in pipeline[-1].data_notes_.input_names


def test_codes_may_be_categories(rng):
    code = rng.integers(0, 4, N).astype(float)
    y = np.array([0.0, 3.0, 1.0, 2.0])[code.astype(int)] + 0.1 * rng.standard_normal(N)
    model = AnnealedRegressor(categorical_features=[0], **SHORT).fit(np.column_stack([code, rng.random(N)]), y)
    assert model.data_notes_.inputs.levels == ((), ("0", "1", "2", "3"))
    np.testing.assert_allclose(model.predict([[0, 0.5], [1, 0.5], [2, 0.5], [3, 0.5]]), [0, 3, 1, 2], atol=0.1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("regressor", MODELS)
@pytest.mark.parametrize("tells", [True, False], ids=["gaps that tell", "gaps at random"])
def test_gaps_cost_no_more_than_they_must(rng, regressor, tells):
    """Where gaps are a sign, they are as good as a value; where they are not, the other rows are fitted as well."""
    x, z = rng.normal(size=(2, 600))
    is_gap = x > 0.8 if tells else rng.random(600) < 0.3
    y = np.where(is_gap, 2.0, np.sin(2 * x)) + z if tells else np.where(is_gap, 0.0, np.sin(2 * x)) + z
    X = np.column_stack([np.where(is_gap, np.nan, x), z])
    model = regressor(random_state=0).fit(X[:300], y[:300] + 0.1 * rng.standard_normal(300))
    error = model.predict(X[300:]) - y[300:]
    assert np.sqrt(np.mean(error**2)) < 0.06


@pytest.mark.parametrize("regressor", MODELS)
def test_a_wild_value_is_warned_of_and_does_no_harm(rng, regressor):
    X = rng.uniform(-2, 2, (300, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(300)
    X[7, 0] = 1e6
    with pytest.warns(WildValuesWarning, match=r"The input 'x0' is 1e\+06 in one row, far from its other values"):
        model = regressor(random_state=0).fit(X, y)
    new = rng.uniform(-2, 2, (200, 2))
    assert np.sqrt(np.mean((model.predict(new) - np.sin(2 * new[:, 0]) - new[:, 1]) ** 2)) < 0.06
    assert model.predict([[1e6, 0.0]]) == model.predict([[X[np.arange(300) != 7, 0].max(), 0.0]])
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    new[0, 0] = 1e6
    np.testing.assert_allclose(session.run(None, {"X": new})[0], model.predict(new), rtol=1e-9, atol=1e-9)


def test_two_rows_and_ten_inputs():
    X = np.random.default_rng(0).normal(size=(2, 10))
    for regressor in MODELS:
        model = regressor(**SHORT).fit(X, [1.0, 2.0])
        assert np.isfinite(model.predict(X)).all()


def test_a_prior_is_drawn_for_a_table():
    table, _ = make_table(n=30)
    draws = BayesianRegressor().sample_prior(table, n_draws=5)
    assert all(np.isfinite(draw.predict(table)).all() for draw in draws)


@pytest.mark.parametrize("basis", ["gaussian", "steps", "ridges", "waves"])
def test_every_family_takes_tables(basis):
    table, y = make_table(n=150)
    model = AnnealedRegressor(basis, **SHORT).fit(table, y)
    assert np.isfinite(model.predict(table)).all()
    assert model.score(table, y) > 0.5


@pytest.mark.parametrize("regressor", MODELS)
def test_dates_with_gaps_and_weekdays(regressor):
    table, y = make_table(n=80)
    table.loc[::7, "when"] = pd.NaT
    model = regressor(**SHORT).fit(table, y)
    assert np.isfinite(model.predict(table)).all()
    levels = dict(zip(model.data_notes_.input_names, model.data_notes_.inputs.levels, strict=True))
    assert levels["when.weekday"][-1] == "(missing)"


def test_infinity_in_text_and_objects():
    table, y = make_table(n=40)
    model = AnnealedRegressor(**SHORT).fit(table, y)
    for name, cell in (("price", "inf"), ("price", "-Infinity"), ("x", np.inf), ("x", 10**400)):
        spoiled = table.astype({name: object})
        spoiled.loc[3, name] = cell
        with pytest.raises(
            ValueError, match=f"contains infinity in its column {name!r}. Correct it, or make it missing"
        ):
            model.predict(spoiled)
        if name == "x" or cell != "inf":
            continue
        numbers = pd.DataFrame({"price": ["1.5", "2.5", "inf", "3"] * 10, "x": y})
        with pytest.raises(ValueError, match="contains infinity in its column 'price'"):
            AnnealedRegressor(**SHORT).fit(numbers, y)


def test_dates_by_type_are_read_from_text_too(fitted):
    table, _ = make_table(seed=8, n=20)
    as_text = table.assign(when=table["when"].astype(str))
    model = fitted[AnnealedRegressor]
    np.testing.assert_array_equal(model.predict(as_text), model.predict(table))


def test_chains_of_a_posterior_do_not_start_with_sets_that_explain_noise(rng):
    """The best of all sets of 60 levels explains so much of any noise that a start would have 25 terms of them."""
    table = pd.DataFrame({"meter": rng.choice([f"M{j}" for j in range(60)], 1000), "x": rng.uniform(-2, 2, 1000)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesianRegressor(random_state=0, n_iter=1, n_warmup=1, n_draws=1).fit(table, rng.standard_normal(1000))
    assert model.posterior_k_ == {0: 1.0}


def test_sets_of_many_levels_do_not_hide_other_candidates():
    """Candidates pay for their sets: otherwise these promise most, cannot come in, and growth ends after five terms."""
    rng, n = np.random.default_rng(0), 4000
    part = rng.integers(900, size=n)
    table = pd.DataFrame({"part": [f"P{j}" for j in part], "x": rng.uniform(-2, 2, n), "z": rng.uniform(-2, 2, n)})
    truth = 0.7 * rng.standard_normal(900)[part] + np.sin(2 * table["x"]) * (table["z"] > 0)
    model = AnnealedRegressor(random_state=0, n_chains=2).fit(table, truth + 0.3 * rng.standard_normal(n))
    assert np.sqrt(np.mean((model.predict(table) - truth) ** 2)) < 0.33


def test_a_table_of_numbers_has_columns_that_say_nothing(rng):
    x = rng.normal(size=60)
    table = pd.DataFrame({"x": x, "row id": np.arange(60), "k": 1.0, "e": np.nan})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AnnealedRegressor(**SHORT).fit(table, 2 * x + 0.1 * rng.standard_normal(60))
        plain = AnnealedRegressor(**SHORT).fit(table.drop(columns="row id"), x)
    reasons = {"k": "it is 1 in every row", "e": "all of its values are missing"}
    assert model.data_notes_.left_out == {"row id": "it numbers the rows; give it another name to keep it", **reasons}
    assert model.data_notes_.input_names == ("x",)
    assert plain.data_notes_.left_out == reasons
    assert plain.linear_coef_.shape == (3,)


def test_warnings_name_the_line_that_calls(rng):
    table, y = make_table(n=30)
    y = np.where(np.arange(30) == 3, np.nan, y)
    table.loc[4, "x"] = 1e9
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AnnealedRegressor(**SHORT).fit(table, y)
        model.predict(table.assign(price="a lot"))
    named = {each.category.__name__: each.filename for each in caught}
    assert {"MissingTargetWarning", "WildValuesWarning", "UnreadableValuesWarning"} <= set(named)
    assert set(named.values()) == {__file__}


@pytest.mark.parametrize("metric", ["learned", "standardized", "mahalanobis"])
def test_distances_leave_out_what_is_missing(rng, metric):
    X = rng.normal(size=(400, 3)) @ [[1, 0.6, 0], [0, 1, 0.3], [0, 0, 1]]
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.2 * X[:, 2] ** 2
    X[rng.random(X.shape) < 0.1] = np.nan
    model = AnnealedRegressor(Radial("gaussian", metric=metric), **SHORT).fit(X[:300], f[:300])
    assert model.score(X[300:], f[300:]) > 0.75
