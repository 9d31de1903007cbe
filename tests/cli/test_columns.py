"""Columns of all sorts, on the command line: what is made of them, and what is said of those that cannot be used."""

import numpy as np
import pandas as pd
import pytest

from saltus import AnnealedRegressor
from tests.commands import QUICK_FIT, read_rows, run, write_rows

N = 40
TOWNS = ["Oslo", "Rome"] * (N // 2)


@pytest.fixture
def frame(rng):
    return pd.DataFrame({"x": rng.random(N), "town": TOWNS, "y": rng.random(N)})


def fit(path, *arguments):
    return run("fit", path, "--target", "y", "-o", path.with_suffix(".saltus"), "--force", *QUICK_FIT, *arguments)


def predict(model, data):
    code, out, err = run("predict", model, data)
    assert code == 0, err
    return [row[0] for row in read_rows(out)[1:]], err


def as_csv(frame, path):
    frame.to_csv(path, index=False)
    return path


def as_parquet(frame, path):
    frame.to_parquet(path)
    return path


def test_a_target_of_text_is_no_number_and_classification_is_not_offered(frame, tmp_path):
    code, _, err = fit(as_csv(frame.assign(y=TOWNS), tmp_path / "t.csv"))
    assert code == 2
    assert "'y' is not a column of numbers: it is text, such as 'Oslo' in line 2. A model predicts numbers." in err
    assert "saltus does not offer classification yet" in err


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [0, 1],
            "y is either 0 or 1, and is predicted as a number, the probability of 1: saltus does not offer",
        ),
        ([2, 5], "y is either 2 or 5, and is predicted as a number: saltus does not offer classification yet."),
        ([True, False], "y is either 0 or 1, and is predicted as a number"),
        ([0, 1, 2, 3], ""),
    ],
)
def test_a_target_of_two_values_is_predicted_as_a_number(frame, tmp_path, values, said):
    code, out, err = fit(as_csv(frame.assign(y=values * (N // len(values))), tmp_path / "t.csv"))
    assert code == 0, err
    assert said in " ".join(out.split())
    assert bool(said) == ("y is either" in out)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [([], "it has no others"), (["--drop", "x", "town"], "the others are left out by --drop")],
)
def test_a_table_without_inputs_is_refused(frame, tmp_path, arguments, why):
    data = as_csv(frame if arguments else frame[["y"]], tmp_path / "t.csv")
    code, _, err = fit(data, *arguments)
    assert code == 2
    assert f"has no column to predict y from: {why}." in err


@pytest.mark.parametrize("names", [["a,b"], ["a", "b"]])
def test_codes_that_are_named_with_a_comma_between_keep_their_zeros(frame, tmp_path, names):
    codes = np.resize(["01", "1", "2"], N)
    code, out, err = fit(as_csv(frame.assign(a=codes, b=codes), tmp_path / "t.csv"), "--category", *names)
    assert code == 0, err
    assert "Categories: town (2 levels), a (3 levels) and b (3 levels)." in out


def test_lists_in_parquet_are_left_out_or_refused(frame, tmp_path):
    data = as_parquet(frame.assign(points=[[1, 2]] * N, pair=[{"a": 1}] * N), tmp_path / "t.parquet")
    code, out, err = fit(data)
    assert code == 0, err
    assert "Left out: points (it is list values, such as '[1, 2]' in row 1)." in " ".join(out.split())
    assert predict(data.with_suffix(".saltus"), data)[0]
    code, _, err = fit(data, "--input", "points")
    assert code == 2
    assert "'points' cannot be an input: it is list values, such as '[1, 2]' in row 1." in err
    code, _, err = run("fit", data, "--target", "points", *QUICK_FIT)
    assert code == 2
    assert "'points' is not a column of numbers: it is list values" in err
    code, _, err = run(
        "predict", data.with_suffix(".saltus"), as_parquet(frame.assign(town=[[1]] * N), tmp_path / "u.pq")
    )
    assert code == 2
    assert "'town' cannot be an input: it is list values" in err


def test_dates_with_gaps_are_predicted_and_unreadable_ones_are_said_once(frame, tmp_path):
    days = pd.Series(pd.date_range("2024-01-01", periods=N, freq="37h"))
    when = days.dt.strftime("%Y-%m-%d %H:%M")
    when[3:6] = ["", "NA", "n/a"]
    data = as_csv(frame.assign(when=when), tmp_path / "t.csv")
    code, out, err = fit(data)
    assert code == 0, err
    assert "Dates: when." in out
    assert "Values are missing in when (3)" in out
    predicted, err = predict(tmp_path / "t.saltus", as_csv(frame.assign(when="soon"), tmp_path / "new.csv"))
    assert np.isfinite(np.array(predicted, dtype=float)).all()
    assert err.count("The column 'when' holds 'soon' in the first of 40 rows") == 1


@pytest.mark.parametrize("names", [None, [5, 7, 9]])
def test_a_model_of_columns_without_names_finds_them_by_their_numbers(frame, tmp_path, names):
    days = np.datetime64("2020-01-01") + 31 * np.arange(N)
    table = pd.DataFrame({"when": days.astype(str), "x": frame["x"], "town": TOWNS})
    X = table.to_numpy(dtype=object) if names is None else table.set_axis(names, axis=1)
    model = AnnealedRegressor(n_iter=200, n_chains=2, random_state=0).fit(X, frame["y"])
    model.save(tmp_path / "m.saltus")
    shown = table.set_axis(names or ["x0", "x1", "x2"], axis=1).iloc[:, ::-1]
    predicted, _ = predict(tmp_path / "m.saltus", as_csv(shown, tmp_path / "new.csv"))
    np.testing.assert_array_equal(np.array(predicted, dtype=float), model.predict(X))


def test_a_model_of_typed_columns_takes_a_file_of_text(frame, tmp_path):
    """Dates come as text from CSV, and codes with gaps as 1.0."""
    days = pd.Series(pd.date_range("2020-01-01", periods=N, freq="9D"))
    X = pd.DataFrame({"when": days, "code": np.resize([1.0, 2.0, np.nan], N), "x": frame["x"]})
    y = X["code"].fillna(5) + frame["x"]
    model = AnnealedRegressor(n_iter=500, n_chains=2, random_state=0, categorical_features=["code"]).fit(X, y)
    model.save(tmp_path / "m.saltus")
    predicted, err = predict(tmp_path / "m.saltus", as_csv(X, tmp_path / "new.csv"))
    np.testing.assert_allclose(np.array(predicted, dtype=float), model.predict(X), rtol=1e-12)
    assert "levels in" not in err


def test_two_rows_and_ten_inputs(tmp_path):
    rows = np.random.default_rng(0).normal(size=(2, 11)).tolist()
    code, out, err = fit(write_rows(tmp_path / "t.csv", rows, [*(f"x{j}" for j in range(10)), "y"]))
    assert code == 0, err
    assert "The model is fitted to all 2 rows" in out
    # As in Python.
    names, values = [*(f"x{j}" for j in range(10)), "y"], np.array(rows)
    X, y = pd.DataFrame(values[:, :10], columns=names[:10]), values[:, 10]
    model = AnnealedRegressor(n_iter=100, n_chains=2, random_state=0).fit(X, y)
    predicted, _ = predict(tmp_path / "t.saltus", tmp_path / "t.csv")
    np.testing.assert_array_equal(np.array(predicted, dtype=float), model.predict(X))


@pytest.mark.parametrize("names", [["x", "town"], ["x,town"], ["x, town"]], ids=["with blanks", "commas", "both"])
def test_several_inputs_are_named_with_blanks_or_commas(frame, tmp_path, names):
    data = as_csv(frame.assign(other=frame["x"] ** 2), tmp_path / "t.csv")
    code, out, err = fit(data, "--input", *names)
    assert code == 0, err
    assert "y from 2 inputs: x and town." in out


def test_the_mistake_that_was_made_first_is_told_first(frame, tmp_path):
    data = as_csv(frame, tmp_path / "t.csv")
    (tmp_path / "taken.saltus").write_text("a model")
    code, out, err = run("fit", data, "--target", "yy", "-o", tmp_path / "taken.saltus")
    assert (code, out) == (2, "")
    assert "has no column 'yy'. Did you mean 'y'?" in err
    assert "exists" not in err
