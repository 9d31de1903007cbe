"""From a table to a model, predictions and a page, on the command line."""

import itertools
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, Radial
from saltus.cli.matching import match_rows
from saltus.cli.modelling import MOST_DRAWS, _count_draws
from saltus.cli.tables import read_table
from tests.commands import HEADER, QUICK, QUICK_FIT, read_rows, run, wing, write_rows

ROOT = Path(__file__).parents[2]


def numbers_of_wing(n_rows=60, seed=0):
    """The table of the wing as numbers: angle, load and lift, NaN where a value is missing or infinite."""
    frame = pd.DataFrame([[*row[1:3], row[5]] for row in wing(n_rows, seed)])
    numbers = frame.apply(pd.to_numeric, errors="coerce").to_numpy()
    return np.where(np.isfinite(numbers), numbers, np.nan)


def test_fit_says_what_it_takes_and_what_it_leaves_out(folder):
    out = (folder / "out.txt").read_text("utf-8")
    for text in (
        "60 rows, 8 columns",
        "lift from 2 inputs: angle and load.",
        "Left out: run (nearly every row has a value of its own, such as 'r0').",
        "Left out: broken (all of its values are missing).",
        "Left out: constant (it is 7 in every row).",
        "Left out: rarely (it has a value in 2 of 60 rows).",
        "Every row has a target.",
        "Values are missing in angle (1) and load (1); the rows are used all the same.",
        "fitted to 48 rows; 12, drawn by seed 0, are held out",
    ):
        assert text in out


def test_fit_shows_progress_and_ends_with_a_summary(folder):
    assert "100%" in (folder / "err.txt").read_text("utf-8")
    out = (folder / "out.txt").read_text("utf-8")
    assert str(saltus.load(folder / "wing.saltus").summary()) in out
    assert f"The model, fitted to 48 rows: {folder / 'wing.saltus'}" in out


def test_scores_are_those_of_rows_that_were_and_were_not_fitted(folder):
    model = saltus.load(folder / "wing.saltus")
    del model.feature_names_in_  # X has none
    table = numbers_of_wing()
    held_out = np.zeros(60, dtype=bool)
    held_out[np.random.default_rng(0).permutation(60)[:12]] = True
    np.testing.assert_allclose(model.data_notes_.inputs.mean, np.nanmean(table[~held_out, :2], axis=0))
    for name, rows in (("fitted", table[~held_out]), ("held out", table[held_out])):
        error = rows[:, 2] - model.predict(rows[:, :2])
        line = rf"{name} +{len(rows)} +lift +{1 - np.mean(error**2) / rows[:, 2].var():.4f} +(\S+)\n"
        rmse = re.search(line, (folder / "out.txt").read_text("utf-8"))[1]
        assert float(rmse) == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-3)


def test_the_model_knows_its_columns_and_not_how_it_was_watched(folder):
    model = saltus.load(folder / "wing.saltus")
    assert model.feature_names_in_.tolist() == ["angle", "load"]
    assert model.data_notes_.output_names == ("lift",)
    assert model.verbose == 0
    assert (type(model), model.random_state, model.n_iter) == (AnnealedRegressor, 0, 100)


def test_the_report_says_what_was_left_out(folder):
    page = (folder / "wing.html").read_text("utf-8")
    assert "held-out rows (12)" in page
    assert "rows of the fit (48)" in page
    assert "Left out: constant (it is 7 in every row)." in page
    assert f"Made by: saltus fit {folder / 'wing.csv'} --target lift --drop drag -o " in page


def test_a_bayesian_fit_takes_several_targets(folder):
    model = saltus.load(folder / "bayes.saltus")
    assert isinstance(model, BayesianRegressor)
    assert model.data_notes_.output_names == ("drag", "lift")
    assert model.basis == "auto"
    out = (folder / "bayes_out.txt").read_text("utf-8")
    assert "The model is fitted to all 60 rows; none are held out" in out
    assert "in 90 % band" in out


def test_warnings_are_sentences(folder):
    err = (folder / "bayes_err.txt").read_text("utf-8")
    assert "\nWarning: The chains have not converged, see Convergence below. A longer fit may help: --iter" in err
    assert err.count("Warning") == 1
    assert "ConvergenceWarning" not in err
    assert ".py:" not in err


def test_options_reach_the_model(folder, tmp_path):
    search = [
        "--basis",
        "cubic",
        "--metric",
        "euclidean",
        "--widths",
        "shared",
        "--criterion",
        "2.5",
        "--time",
        "60",
        "--seed",
        "7",
    ]
    arguments = ["--target", "lift", "-o", tmp_path / "m.saltus", *search, *QUICK_FIT]
    assert run("fit", folder / "wing.csv", *arguments)[0] == 0
    given = {"basis": Radial("cubic", metric="euclidean", widths="shared"), "criterion": 2.5, "max_time": 60}
    given["random_state"] = 7
    wanted = {**AnnealedRegressor("gaussian").get_params(), **given, "n_iter": 100, "n_chains": 2, "n_jobs": 1}
    assert saltus.load(tmp_path / "m.saltus").get_params() == wanted


def test_parquet_is_fitted_and_predicted_as_csv_is(folder, tmp_path):
    frame = pd.read_csv(folder / "wing.csv")
    frame.to_parquet(tmp_path / "wing.parquet")
    arguments = ["--target", "lift", "--drop", "drag", "-o", tmp_path / "m.saltus"]
    code, out, err = run("fit", tmp_path / "wing.parquet", *arguments, *QUICK_FIT)
    assert code == 0, err
    assert "lift from 2 inputs: angle and load." in out
    of_parquet = run("predict", tmp_path / "m.saltus", tmp_path / "wing.parquet")[1]
    of_csv = run("predict", folder / "wing.saltus", folder / "wing.csv")[1]
    assert of_parquet == of_csv


def test_inputs_can_be_chosen(folder, tmp_path):
    arguments = ["--target", "lift", "--input", "load", "-o", tmp_path / "m.saltus"]
    code, out, _ = run("fit", folder / "wing.csv", *arguments, *QUICK_FIT)
    assert code == 0
    assert "lift from 1 input: load." in out
    assert "Left out" not in out


def test_codes_are_categories_by_request(tmp_path):
    rows = [[f"{j % 3:02}", j % 7, [5, 1, 3][j % 3] + 0.01 * (j % 5)] for j in range(60)]
    data = write_rows(tmp_path / "t.csv", rows, ["code", "x", "y"])
    arguments = ["--target", "y", "--category", "code", "-o", tmp_path / "m.saltus"]
    code, out, err = run("fit", data, *arguments, *QUICK_FIT)
    assert code == 0, err
    assert "Categories: code (3 levels)." in out
    model = saltus.load(tmp_path / "m.saltus")
    assert model.categorical_features == ["code"]
    _, out, _ = run("inspect", tmp_path / "m.saltus")
    assert "00 " in out
    assert "categorical_features=" in out
    predicted = run("predict", tmp_path / "m.saltus", data)[1].split()[1:4]
    np.testing.assert_allclose([float(each) for each in predicted], [5, 1, 3], atol=0.1)


def test_inputs_that_depend_on_others_are_named(tmp_path):
    rows = [[x, 2 * x, x**2 % 7, x**2 % 7] for x in range(30)]  # y is exact: the coefficient of a is 0
    data = write_rows(tmp_path / "t.csv", rows, ["a", "twice", "b", "y"])
    _, _, err = run("fit", data, "--target", "y", "-o", tmp_path / "m.saltus", "--basis", "gaussian", *QUICK_FIT)
    assert "Warning: Not in the linear term, as they depend on other inputs: twice." in err


def test_numbers_that_may_stand_for_missing_ones_are_pointed_out(tmp_path):
    data = write_rows(tmp_path / "t.csv", [[x if x % 6 else -999, x**2] for x in range(40)], ["a", "y"])
    _, out, _ = run("fit", data, "--target", "y", "-o", tmp_path / "m.saltus", *QUICK_FIT)
    assert "a is -999 in 7 rows" in out
    _, out, _ = run("fit", data, "--target", "y", "--missing", "-999", "-o", tmp_path / "n.saltus", *QUICK_FIT)
    assert "Values are missing in a (7); the rows are used all the same." in out


def test_a_copy_of_the_target_is_pointed_out(tmp_path):
    rows = [[x**2 % 7, 5 - 0.1 * y, y, y + 1e-3 * x] for x in range(40) for y in [x**2 % 11]]
    data = write_rows(tmp_path / "t.csv", rows, ["a", "y in %", "y", "nearly"])
    _, out, _ = run("fit", data, "--target", "y", "-o", tmp_path / "m.saltus", *QUICK_FIT)
    assert "y in % is y itself, or in other units. If it is not known beforehand: --drop 'y in %'." in out
    assert "nearly is" not in out


def test_a_column_that_counts_the_rows_is_pointed_out(tmp_path):
    data = write_rows(tmp_path / "t.csv", [[i, i, i**2 % 7, i % 5] for i in range(40)], ["run id", "the day", "a", "y"])
    _, out, _ = run("fit", data, "--target", "y", "-o", tmp_path / "m.saltus", *QUICK_FIT)
    assert "Left out: run id (it numbers the rows; give it another name to keep it)." in out
    assert "the day counts the rows. If it means nothing: --drop 'the day'." in out
    assert "a counts" not in out
    _, out, _ = run("fit", data, "--target", "y", "--input", "run id", "-o", tmp_path / "n.saltus", *QUICK_FIT)
    assert "y from 1 input: run id." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No column to predict is given. Name one with --target:"),
        (["--target", "Lift"], "has no column 'Lift'. Did you mean 'lift'?"),
        (["--target", "run"], "'run' is not a column of numbers: it is text, such as 'r0' in line 2"),
        (["--target", "constant"], "'constant' is 7 in every row: there is nothing to predict"),
        (["--target", "lift", "--target", "lift"], "--target 'lift' is given twice"),
        (["--target", "lift", "--input", "lift"], "'lift' is the target, and cannot be an input"),
        (["--target", "lift", "--input", "load", "--drop", "load"], "'load' is given with both --input and --drop"),
        (["--target", "lift", "--input", "run"], "from. run: nearly every row has a value of its own, such as 'r0'."),
        (["--target", "lift", "--drop", "laod"], "no column 'laod'. Did you mean 'load'?"),
        (
            ["--target", "lift", "--input", "constant"],
            "no column to predict lift from. constant: it is 7 in every row.",
        ),
        (["--target", "lift", "--input", "rarely"], "from. rarely: it has a value in 2 of 60 rows."),
        (
            ["--target", "lift", "--test-size", "0.99"],
            "at least 2 rows; there are 1, and 59 held out. Lower --test-size.",
        ),
        (["--target", "lift", "--bayes", "--criterion", "aic"], "--bayes averages over networks of all sizes"),
        (["--target", "lift", "--report", "no/report.html"], "there is no folder"),
        (["--target", "lift", "--report", "r.pdf"], "A report is HTML, and r.pdf would be taken for something else."),
        (["--target", "lift", "-o", "x.html", "--report", "x.html"], "cannot both go to x.html"),
    ],
)
def test_what_cannot_be_fitted_is_named(folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("fit", folder / "wing.csv", *([] if "-o" in arguments else ["-o", "m.saltus"]), *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2]], "t.csv has 1 row with y, and a fit needs 2 or more. Every row has a target.\n"),
        (
            [[1, 2], [3, ""]],
            "t.csv has 1 row with y, and a fit needs 2 or more. 1 of 2 row was dropped, as the target is",
        ),
        ([[x * 1e200, x] for x in range(9)], "The column 'a' of t.csv holds values as large as 8e+200, whose squares"),
        ([[x, x * 1e-200] for x in range(9)], "The column 'y' of t.csv holds nothing larger than 8e-200, whose squ"),
    ],
)
def test_rows_that_cannot_be_fitted_are_named_before_the_work_begins(tmp_path, monkeypatch, rows, message):
    monkeypatch.chdir(tmp_path)
    write_rows(Path("t.csv"), rows, ["a", "y"])
    code, out, err = run("fit", "t.csv", "--target", "y")
    assert (code, out) == (2, "")
    assert message in err


def test_rows_need_not_be_complete(tmp_path):
    rows = [[x, "", x] if x % 2 else ["", x, x] for x in range(40)]
    table = write_rows(tmp_path / "t.csv", rows, ["a", "b", "y"])
    code, out, err = run("fit", table, "--target", "y", "-o", tmp_path / "m.saltus", *QUICK_FIT)
    assert code == 0, err
    assert "Values are missing in a (20) and b (20); the rows are used all the same." in out


def test_predict_lines_up_with_the_rows(folder, tmp_path):
    rows = wing(20, seed=1)
    new = write_rows(tmp_path / "new.csv", [[row[2], row[0], row[1]] for row in rows], ["load", "note", "angle"])
    code, _, err = run("predict", folder / "wing.saltus", new, "-o", tmp_path / "out.csv")
    assert code == 0
    assert "Not used by the model: note." in err
    assert "missing or infinite in 2 of 20 rows, which are predicted all the same: angle (1) and load (1)." in err
    header, *cells = read_rows((tmp_path / "out.csv").read_text("utf-8"))
    assert header == ["lift"]
    model = saltus.load(folder / "wing.saltus")
    del model.feature_names_in_  # X has none
    np.testing.assert_array_equal([float(cell) for (cell,) in cells], model.predict(numbers_of_wing(20, 1)[:, :2]))


def test_predict_writes_intervals_and_keeps_columns_if_asked(folder):
    code, out, _ = run("predict", folder / "bayes.saltus", folder / "wing.csv", "--interval", "0.8", "--keep")
    assert code == 0
    header, *cells = read_rows(out)
    assert header == [*HEADER, "drag_predicted", "drag_low", "drag_high", "lift_predicted", "lift_low", "lift_high"]
    assert [row[0] for row in cells] == [f"r{i}" for i in range(60)]
    drag, low, high, lift, *_ = np.array([row[8:] for row in cells], dtype=float).T
    assert ((low < drag) & (drag < high)).all()
    model = saltus.load(folder / "bayes.saltus")
    X = numbers_of_wing()[:, :2]
    del model.feature_names_in_  # X has none
    np.testing.assert_array_equal(np.stack([drag, lift], axis=1), model.predict(X))
    np.testing.assert_array_equal(low, model.predict_interval(X, 0.8)[0][:, 0])


def test_predict_writes_as_the_table_is_written(folder, tmp_path):
    (tmp_path / "new.csv").write_text("angle;load\n0,5;1,5\n;2\n", encoding="utf-8")
    code, out, err = run("predict", folder / "wing.saltus", tmp_path / "new.csv", "--keep")
    assert code == 0
    assert "Decimals come after a comma." in err
    assert re.fullmatch(r"angle;load;lift\n0,5;1,5;-?\d+,\d+\n;2;-?\d+,\d+\n", out)


def test_rows_beyond_what_the_model_has_seen_are_counted(folder, tmp_path):
    new = write_rows(tmp_path / "new.csv", [[0, 0], [99, 0], [99, -99]], ["angle", "load"])
    _, _, err = run("predict", folder / "wing.saltus", new)
    assert "where predictions are guesses: 2 of 3 rows; angle (2) and load (1)." in err


@pytest.mark.parametrize(
    ("header", "arguments", "message"),
    [
        (["angel", "load"], [], "lacks angle, which the model predicts from. Did you mean 'angel'?"),
        (["angle", "load"], ["--interval", "0.9"], "Fit it again with --bayes"),
        (["angle", "load"], ["-o", "out.parquet"], "Predictions are written as CSV"),
    ],
)
def test_what_cannot_be_predicted_is_named(folder, tmp_path, monkeypatch, header, arguments, message):
    monkeypatch.chdir(tmp_path)
    new = write_rows(tmp_path / "new.csv", [[1, 2], [3, 4]], header)
    code, out, err = run("predict", folder / "wing.saltus", new, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_model_without_names_says_so(tmp_path):
    rng = np.random.default_rng(0)
    AnnealedRegressor("gaussian", n_iter=10, n_chains=1).fit(rng.random((20, 2)), rng.random(20)).save(
        tmp_path / "m.saltus"
    )
    new = write_rows(tmp_path / "new.csv", [[1, 2], [3, 4]], ["a", "b"])
    _, _, err = run("predict", tmp_path / "m.saltus", new)
    assert "lacks x0 and x1, which the model predicts from. The model was fitted without names" in err


def test_inspect_tells_the_summary_the_data_and_the_code(folder):
    code, out, _ = run("inspect", folder / "wing.saltus")
    assert code == 0
    for text in (
        "Convergence",
        "Fitted to 48 rows; the file does not hold the rows",
        "angle",
        "AnnealedRegressor(n_iter=100",
    ):
        assert text in out


def test_report_scores_the_rows_it_is_given(folder, tmp_path):
    code, _, err = run("report", folder / "wing.saltus", folder / "wing.csv", "-o", tmp_path / "r.html", "--title", "W")
    assert code == 0
    assert f"Rows from {folder / 'wing.csv'}: 60." in err
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "rows given (60)" in page
    assert "<title>W" in page


def test_report_does_without_outputs(folder, tmp_path):
    new = write_rows(tmp_path / "new.csv", [[1, 2], [2, "NA"], [3, 4]], ["load", "angle"])
    rows, said = match_rows(read_table(new), saltus.load(folder / "wing.saltus"))
    np.testing.assert_array_equal(np.array(rows["X"]), [[2, 1], [None, 2], [4, 3]])
    assert "y" not in rows
    assert "lacks lift, so that predictions are not scored" in " ".join(said)


def test_report_does_without_rows(folder, tmp_path):
    code, _, err = run("report", folder / "wing.saltus", "-o", tmp_path / "r.html")
    assert (code, err) == (0, f"The report: {tmp_path / 'r.html'}\n")
    assert "rows given" not in (tmp_path / "r.html").read_text("utf-8")


def test_export_writes_an_onnx_model(folder, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    code, out, _ = run("export", folder / "bayes.saltus", "--onnx", tmp_path / "m.onnx", "--float32")
    assert code == 0
    assert "Input X: angle, load, in this order." in out
    assert "Output mean and std: drag, lift." in out
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert session.get_inputs()[0].type == "tensor(float)"


def test_a_longer_bayesian_fit_keeps_more_draws():
    kept = [_count_draws(n_iter) for n_iter in (100, 20_000, 40_000, 10**6)]
    assert kept == [125, 125, 250, MOST_DRAWS]


def test_a_time_limit_shortens_a_bayesian_fit(folder, tmp_path, monkeypatch):
    # The clock goes on by 100 s when it is looked at.
    monkeypatch.setattr("saltus.engine.drivers.sample.monotonic", itertools.count(step=100).__next__)
    arguments = ["--target", "lift", "--bayes", "--iterations", "2000000", "-o", tmp_path / "m.saltus"]
    code, out, err = run("fit", folder / "wing.csv", *arguments, "--time", "3000", "--chains", "2", "--jobs", "1")
    assert code == 0, err
    model = saltus.load(tmp_path / "m.saltus")
    assert model.max_time == 3000
    assert len(model.chains_) == 2
    assert "Stopped by --time after 3000 s" in " ".join(out.split())
    assert "A longer fit may help: --time 12000." in err


def test_a_time_limit_in_warm_up_is_said(folder, tmp_path):
    arguments = ["--target", "lift", "--bayes", "--time", "0.0001", "--chains", "1", "--iterations", "1000000"]
    code, out, err = run("fit", folder / "wing.csv", *arguments, "-o", tmp_path / "m.saltus")
    assert code == 0
    assert "Stopped by max_time after 0.0001 s" in err
    assert "unconverged states" in out


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


def run_commands_of(page):
    """Run the commands that a page shows, but with few iterations; return how many there are."""
    lines = [shlex.split(line) for block in blocks(page, "bash") for line in block.splitlines()]
    commands = [arguments for program, *arguments in lines if program == "saltus"]
    for arguments in commands:
        code, _, err = run(*arguments, *{"fit": QUICK_FIT, "demo": QUICK}.get(arguments[0], []))
        assert code == 0, (arguments, err)
    return len(commands)


def test_the_page_on_the_command_line_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks("docs/command_line.md", "python"):
        exec(block, {})
    assert run_commands_of("docs/command_line.md") >= 6


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(Path("data.csv"), [[x, x**2 % 7] for x in range(40)], ["x", "y"])
    write_rows(Path("new.csv"), [[1], [2]], ["x"])
    assert run_commands_of("README.md") == 2
    assert Path("report.html").exists()
    assert Path("predictions.csv").read_text("utf-8").startswith("y\n")
