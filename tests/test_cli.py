"""The command line, as a user meets it."""

import csv
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import saltus
from saltus import AnnealedRegressor, BayesianRegressor
from saltus.bases import RADIAL_NAMES
from saltus.cli import COMMANDS, build_parser, fit, main
from saltus.cli.matching import match_rows
from saltus.cli.pace import LEAST_ITERATIONS
from saltus.criteria import CRITERIA
from saltus.datasets import make_robot_arm
from saltus.metrics import METRICS
from saltus.tables import read_table

PAGE = Path(__file__).parents[1] / "docs" / "command_line.md"
QUICK = ["--iterations", "500", "--chains", "2"]
QUICK_FIT = ["--iterations", "100", "--chains", "2", "--jobs", "1"]
HEADER = ["run", "angle", "load", "broken", "constant", "lift", "drag", "rarely"]


def run(*arguments):
    """Run a command; return its exit code, standard output and standard error."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def wing(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    angle, load = rng.uniform(-3, 3, (2, n_rows))
    lift, drag = np.sin(angle) + 0.1 * rng.standard_normal(n_rows), load + angle**2
    rows = [
        [f"r{i}", a, b, "", 7, y, z, ""] for i, (a, b, y, z) in enumerate(zip(angle, load, lift, drag, strict=True))
    ]
    rows[3][2] = "NA"
    rows[4][1] = "inf"
    rows[0][-1], rows[1][-1] = 1.0, 2.0
    return rows


def write_rows(path, rows, header=HEADER):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read_rows(text, **options):
    return list(csv.reader(io.StringIO(text), **options))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a model and a report of it, a Bayesian model, and what was said of them."""
    folder = tmp_path_factory.mktemp("session")
    data = write_rows(folder / "wing.csv", wing())
    arguments = ["--target", "lift", "--drop", "drag", "-o", folder / "wing.saltus", "--report", folder / "wing.html"]
    code, out, err = run("fit", data, *arguments, *QUICK_FIT)
    assert code == 0, err
    (folder / "out.txt").write_text(out)
    (folder / "err.txt").write_text(err)
    arguments = ["--bayes", "--target", "drag", "--target", "lift", "--test-size", "0", "-o", folder / "bayes.saltus"]
    code, out, err = run("fit", data, *arguments, *QUICK_FIT)
    assert code == 0, err
    (folder / "bayes_out.txt").write_text(out)
    (folder / "bayes_err.txt").write_text(err)
    return folder


def test_fit_says_what_it_takes_and_what_it_leaves_out(folder):
    out = (folder / "out.txt").read_text()
    for text in (
        "60 rows, 8 columns",
        "lift from 2 inputs: angle and load.",
        "Left out: run (text, such as 'r0' in line 2).",
        "Left out: broken (empty).",
        "Left out: constant (7 in every row).",
        "Left out: rarely (missing in 97% of the rows).",
        "2 of 60 rows were dropped, as a value is missing or infinite: angle (1) and load (1).",
        "fitted to 46 rows; 12, drawn by seed 0, are held out",
    ):
        assert text in out


def test_fit_shows_progress_and_ends_with_a_summary(folder):
    assert "100%" in (folder / "err.txt").read_text()
    out = (folder / "out.txt").read_text()
    assert str(saltus.load(folder / "wing.saltus").summary()) in out
    assert f"The model, fitted to 46 rows: {folder / 'wing.saltus'}" in out


def test_scores_are_those_of_rows_that_were_and_were_not_fitted(folder):
    model = saltus.load(folder / "wing.saltus")
    del model.feature_names_in_  # X has none
    complete = np.array([row[1:3] + row[5:6] for i, row in enumerate(wing()) if i not in (3, 4)], dtype=float)
    held_out = np.zeros(58, dtype=bool)
    held_out[np.random.default_rng(0).permutation(58)[:12]] = True
    np.testing.assert_allclose(model.data_notes_.inputs.mean, complete[~held_out, :2].mean(axis=0))
    for name, rows in (("fitted", complete[~held_out]), ("held out", complete[held_out])):
        error = rows[:, 2] - model.predict(rows[:, :2])
        line = rf"{name} +{len(rows)} +lift +{1 - np.mean(error**2) / rows[:, 2].var():.4f} +(\S+)\n"
        rmse = re.search(line, (folder / "out.txt").read_text())[1]
        assert float(rmse) == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-3)


def test_the_model_knows_its_columns_and_not_how_it_was_watched(folder):
    model = saltus.load(folder / "wing.saltus")
    assert model.feature_names_in_.tolist() == ["angle", "load"]
    assert model.data_notes_.output_names == ("lift",)
    assert model.verbose == 0
    assert (type(model), model.random_state, model.n_iter) == (AnnealedRegressor, 0, 100)


def test_the_report_says_what_was_left_out(folder):
    page = (folder / "wing.html").read_text()
    assert "held-out rows (12)" in page
    assert "Left out: constant (7 in every row)." in page


def test_a_bayesian_fit_takes_several_targets(folder):
    model = saltus.load(folder / "bayes.saltus")
    assert isinstance(model, BayesianRegressor)
    assert model.data_notes_.output_names == ("drag", "lift")
    assert model.metric == "learned"
    out = (folder / "bayes_out.txt").read_text()
    assert "The model is fitted to all 58 complete rows; none are held out" in out
    assert "in 90 % band" in out


def test_warnings_are_sentences(folder):
    err = (folder / "bayes_err.txt").read_text()
    assert re.search(r"^Warning: Few effective draws of .* Raise n_draws", err, re.MULTILINE)
    assert "Here, --iterations is n_iter, now 100;" in err
    assert "ConvergenceWarning" not in err
    assert ".py:" not in err


def test_inputs_can_be_chosen(folder, tmp_path):
    arguments = ["--target", "lift", "--input", "load", "-o", tmp_path / "m.saltus"]
    code, out, _ = run("fit", folder / "wing.csv", *arguments, *QUICK_FIT)
    assert code == 0
    assert "lift from 1 input: load." in out
    assert "Left out" not in out


def test_inputs_that_depend_on_others_are_named(tmp_path):
    data = write_rows(tmp_path / "t.csv", [[x, 2 * x, x**2] for x in range(30)], ["a", "twice", "y"])
    _, _, err = run("fit", data, "--target", "y", "-o", tmp_path / "m.saltus", *QUICK_FIT)
    assert "Warning: Not in the linear term, as they depend on other inputs: twice." in err


def test_numbers_that_may_stand_for_missing_ones_are_pointed_out(tmp_path):
    data = write_rows(tmp_path / "t.csv", [[x if x % 6 else -999, x**2] for x in range(40)], ["a", "y"])
    _, out, _ = run("fit", data, "--target", "y", "-o", tmp_path / "m.saltus", *QUICK_FIT)
    assert "a is -999 in 7 rows" in out
    _, out, _ = run("fit", data, "--target", "y", "--missing", "-999", "-o", tmp_path / "n.saltus", *QUICK_FIT)
    assert "7 of 40 rows were dropped, as a value is missing: a (7)." in out


def test_a_column_that_counts_the_rows_is_pointed_out(tmp_path):
    data = write_rows(tmp_path / "t.csv", [[i, i**2 % 7, i % 5] for i in range(40)], ["run id", "a", "y"])
    _, out, _ = run("fit", data, "--target", "y", "-o", tmp_path / "m.saltus", *QUICK_FIT)
    assert "run id counts the rows. If it means nothing: --drop 'run id'." in out
    assert "a counts" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Which column is to be predicted? Say so with --target."),
        (["--target", "Lift"], "has no column 'Lift'. Did you mean 'lift'?"),
        (["--target", "run"], "'run' is not a column of numbers: it is text, such as 'r0' in line 2"),
        (["--target", "constant"], "'constant' is 7 in every row: there is nothing to predict"),
        (["--target", "lift", "--target", "lift"], "--target 'lift' is given twice"),
        (["--target", "lift", "--input", "lift"], "'lift' is the target, and cannot be an input"),
        (["--target", "lift", "--input", "load", "--drop", "load"], "'load' is given with both --input and --drop"),
        (["--target", "lift", "--input", "run"], "'run' is not a column of numbers"),
        (["--target", "lift", "--drop", "laod"], "no column 'laod'. Did you mean 'load'?"),
        (["--target", "lift", "--input", "constant"], "has no column to predict lift from. constant: 7 in every row."),
        (["--target", "lift", "--input", "rarely"], "to 1 input needs at least 5 complete rows; there are 1"),
        (["--target", "lift", "--bayes", "--criterion", "aic"], "--bayes averages over all sizes"),
        (["--target", "lift", "--report", "no/report.html"], "there is no folder"),
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


def test_no_complete_row_is_named(tmp_path):
    rows = [[x, "", x] if x % 2 else ["", x, x] for x in range(40)]
    code, _, err = run("fit", write_rows(tmp_path / "t.csv", rows, ["a", "b", "y"]), "--target", "y")
    assert code == 2
    assert "No row" in err
    assert "a (20) and b (20)" in err


def test_predict_lines_up_with_the_rows(folder, tmp_path):
    rows = wing(20, seed=1)
    new = write_rows(tmp_path / "new.csv", [[row[2], row[0], row[1]] for row in rows], ["load", "note", "angle"])
    code, _, err = run("predict", folder / "wing.saltus", new, "-o", tmp_path / "out.csv")
    assert code == 0
    assert "Not used by the model: note." in err
    assert "No prediction, as a value is missing or infinite: 2 of 20 rows; angle (1) and load (1)." in err
    header, *cells = read_rows((tmp_path / "out.csv").read_text())
    assert header == ["lift"]
    # A row without a prediction is a line of its own; the csv module writes it as "".
    assert [cell for (cell,) in cells[3:5]] == ["", ""]
    model = saltus.load(folder / "wing.saltus")
    complete = [i for i in range(20) if i not in (3, 4)]
    X = np.array([[float(rows[i][1]), float(rows[i][2])] for i in complete])
    del model.feature_names_in_  # X has none
    np.testing.assert_array_equal([float(cells[i][0]) for i in complete], model.predict(X))


def test_predict_writes_intervals_and_keeps_columns_if_asked(folder):
    code, out, _ = run("predict", folder / "bayes.saltus", folder / "wing.csv", "--interval", "0.8", "--keep")
    assert code == 0
    header, *cells = read_rows(out)
    assert header == [*HEADER, "drag_predicted", "drag_low", "drag_high", "lift_predicted", "lift_low", "lift_high"]
    assert [row[0] for row in cells] == [f"r{i}" for i in range(60)]
    drag, low, high, lift, *_ = np.array([row[8:] for i, row in enumerate(cells) if i not in (3, 4)], dtype=float).T
    assert ((low < drag) & (drag < high)).all()
    model = saltus.load(folder / "bayes.saltus")
    X = np.array([row[1:3] for i, row in enumerate(wing()) if i not in (3, 4)], dtype=float)
    del model.feature_names_in_  # X has none
    np.testing.assert_array_equal(np.stack([drag, lift], axis=1), model.predict(X))
    np.testing.assert_array_equal(low, model.predict_interval(X, 0.8)[0][:, 0])


def test_predict_writes_as_the_table_is_written(folder, tmp_path):
    (tmp_path / "new.csv").write_text("angle;load\n0,5;1,5\n;2\n", encoding="utf-8")
    code, out, err = run("predict", folder / "wing.saltus", tmp_path / "new.csv", "--keep")
    assert code == 0
    assert "Decimals come after a comma." in err
    assert re.fullmatch(r"angle;load;lift\n0,5;1,5;-?\d+,\d+\n;2;\n", out)


def test_rows_beyond_what_the_model_has_seen_are_counted(folder, tmp_path):
    new = write_rows(tmp_path / "new.csv", [[0, 0], [99, 0], [99, -99]], ["angle", "load"])
    _, _, err = run("predict", folder / "wing.saltus", new)
    assert "where predictions are guesses: 2 of 3 rows; angle (2) and load (1)." in err


@pytest.mark.parametrize(
    ("header", "arguments", "message"),
    [
        (["angel", "load"], [], "lacks angle, which the model predicts from. Did you mean 'angel'?"),
        (["angle", "load"], ["--interval", "0.9"], "Fit it with --bayes"),
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
    AnnealedRegressor(n_iter=10, n_chains=1).fit(rng.random((20, 2)), rng.random(20)).save(tmp_path / "m.saltus")
    new = write_rows(tmp_path / "new.csv", [[1, 2], [3, 4]], ["a", "b"])
    _, _, err = run("predict", tmp_path / "m.saltus", new)
    assert "lacks x0 and x1, which the model predicts from. The model was fitted without names" in err


def test_inspect_tells_the_summary_the_data_and_the_code(folder):
    code, out, _ = run("inspect", folder / "wing.saltus")
    assert code == 0
    for text in (
        "Convergence",
        "Fitted to 46 rows, which are not in the file",
        "angle",
        "AnnealedRegressor(n_iter=100",
    ):
        assert text in out


def test_report_scores_the_rows_it_is_given(folder, tmp_path):
    code, _, err = run("report", folder / "wing.saltus", folder / "wing.csv", "-o", tmp_path / "r.html", "--title", "W")
    assert code == 0
    assert "2 of 60 rows were left out, as a value is missing or infinite." in err
    page = (tmp_path / "r.html").read_text()
    assert "rows given (58)" in page
    assert "<title>W" in page


def test_report_does_without_outputs(folder, tmp_path):
    new = write_rows(tmp_path / "new.csv", [[1, 2], [2, "NA"], [3, 4]], ["load", "angle"])
    rows, said = match_rows(read_table(new), saltus.load(folder / "wing.saltus"))
    np.testing.assert_array_equal(rows["X"], [[2, 1], [4, 3]])
    assert "y" not in rows
    assert "lacks lift, so that predictions are not scored" in " ".join(said)


def test_report_does_without_rows(folder, tmp_path):
    code, _, err = run("report", folder / "wing.saltus", "-o", tmp_path / "r.html")
    assert (code, err) == (0, f"The report: {tmp_path / 'r.html'}\n")
    assert "rows given" not in (tmp_path / "r.html").read_text()


def test_export_writes_an_onnx_model(folder, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    code, out, _ = run("export", folder / "bayes.saltus", "--onnx", tmp_path / "m.onnx", "--float32")
    assert code == 0
    assert "Input X: angle, load, in this order." in out
    assert "Output mean and std: drag, lift." in out
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert session.get_inputs()[0].type == "tensor(float)"


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "wing.csv", "--target", "lift", "-o", "taken"],
        ["fit", "wing.csv", "--target", "lift", "-o", "free", "--report", "taken"],
        ["predict", "wing.saltus", "wing.csv", "-o", "taken"],
        ["report", "wing.saltus", "wing.csv", "-o", "taken"],
        ["export", "wing.saltus", "--onnx", "taken"],
        ["demo", "-o", "taken"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_nothing_is_overwritten_and_that_is_known_before_the_work_begins(folder, tmp_path, monkeypatch, arguments):
    def never(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("saltus.files.load", never)
    monkeypatch.setattr("saltus.tables.read_table", never)
    monkeypatch.setattr(AnnealedRegressor, "fit", never)
    (tmp_path / "taken").write_text("precious")
    code, _, err = run(*arguments)
    assert code == 2
    assert "taken exists. Give another name with -o, or replace it with --force." in err
    assert (tmp_path / "taken").read_text() == "precious"


def test_force_replaces_the_output_and_never_the_input(folder, tmp_path):
    data = write_rows(tmp_path / "t.csv", wing())
    before = data.read_bytes()
    code, _, err = run("predict", folder / "wing.saltus", data, "-o", data, "--force")
    assert code == 2
    assert "is to be read, and cannot be written as well" in err
    assert data.read_bytes() == before
    (tmp_path / "out.csv").write_text("old")
    assert run("predict", folder / "wing.saltus", data, "-o", tmp_path / "out.csv", "--force")[0] == 0
    assert (tmp_path / "out.csv").read_text().startswith("lift\n")


def test_a_file_that_appears_during_the_fit_stays(folder, tmp_path, monkeypatch):
    model = tmp_path / "m.saltus"
    real_fit = AnnealedRegressor.fit

    def slow_fit(self, X, y):
        model.write_text("precious")
        return real_fit(self, X, y)

    monkeypatch.setattr(AnnealedRegressor, "fit", slow_fit)
    code, out, err = run("fit", folder / "wing.csv", "--target", "lift", "-o", model, *QUICK_FIT)
    assert code == 0
    assert "was written by someone else meanwhile, and stays" in err
    assert model.read_text() == "precious"
    assert "m-2.saltus" in out
    saltus.load(tmp_path / "m-2.saltus")


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process on Windows")
def test_ctrl_c_ends_a_long_fit_which_is_then_told_and_written(folder, tmp_path):
    ours, theirs = os.openpty()  # the line of progress is live on a terminal only
    command = [sys.executable, "-m", "saltus", "fit", folder / "wing.csv", "--target", "lift", "-o"]
    command = [*command, tmp_path / "m.saltus", "--iterations", "1000000000"]
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # even if this process does not
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, **heard) as process:
        try:
            while b"k = " not in os.read(ours, 1000):
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    err = os.read(ours, 10000).decode()
    assert "Interrupted: the model is made of what there was by then" in err
    assert "Traceback" not in err
    assert "The model, fitted to 46 rows" in out
    assert saltus.load(tmp_path / "m.saltus").result_.status.startswith("Interrupted")


def test_an_interrupt_before_there_is_a_model_is_a_sentence(folder, tmp_path, monkeypatch):
    def interrupted_fit(self, X, y):
        raise KeyboardInterrupt("There is nothing yet.")

    monkeypatch.setattr(AnnealedRegressor, "fit", interrupted_fit)
    code, _, err = run("fit", folder / "wing.csv", "--target", "lift", "-o", tmp_path / "m.saltus")
    assert code == 130
    assert err.endswith("\nsaltus: interrupted. There is nothing yet.\n")
    assert not (tmp_path / "m.saltus").exists()


def test_an_unexpected_failure_is_a_sentence_unless_debugged(folder, monkeypatch):
    def fail(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("saltus.files.load", fail)
    code, _, err = run("inspect", folder / "wing.saltus")
    assert code == 1
    assert err == "saltus: unexpected failure: RuntimeError: out of luck. With --debug it shows where.\n"
    code, _, err = run("inspect", folder / "wing.saltus", "--debug")
    assert code == 1
    assert "Traceback" in err


def test_a_damaged_or_absent_model_is_named(folder, tmp_path):
    code, _, err = run("inspect", tmp_path / "no.saltus")
    assert (code, err) == (2, f"saltus: No such file or directory: {tmp_path / 'no.saltus'}\n")
    code, _, err = run("inspect", folder / "wing.csv")
    assert code == 2
    assert "no model file" in err


def test_a_reader_that_has_seen_enough_is_no_error():
    script = (
        "import argparse, sys\n"
        "from saltus.cli.console import run_command\n"
        "sys.stdin.read()\n"
        "sys.exit(run_command(lambda options: print('y' * 10**6), argparse.Namespace(debug=False)))\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_time_limit_shortens_a_bayesian_fit(folder, tmp_path):
    arguments = ["--target", "lift", "--bayes", "--time", "0.01", "--chains", "1", "-o", tmp_path / "m.saltus"]
    code, _, err = run("fit", folder / "wing.csv", *arguments)
    assert code == 0
    assert f"After a trial: {LEAST_ITERATIONS} iterations of each chain" in err
    assert saltus.load(tmp_path / "m.saltus").n_iter == LEAST_ITERATIONS


def test_the_choices_are_those_of_the_library():
    assert set(fit.BASES) == set(RADIAL_NAMES)
    assert set(fit.METRICS) == set(METRICS)
    assert set(fit.CRITERIA) == set(CRITERIA)


def test_help_tells_the_defaults_of_the_library(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    annealed, bayesian = AnnealedRegressor(), BayesianRegressor()
    assert annealed.basis == bayesian.basis
    assert annealed.metric == bayesian.metric
    for default in (annealed.basis, annealed.metric, f"{annealed.criterion}; none with --bayes"):
        assert f"(default: {default})" in text
    assert f"default: {annealed.n_chains}, or {bayesian.n_chains} with --bayes" in text
    assert f"or {bayesian.n_iter} with --bayes)" in text


def test_every_command_has_help_with_an_example_that_parses(capsys):
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        with pytest.raises(SystemExit) as exit_:
            main([name, "--help"])
        assert exit_.value.code == 0
        example = re.search(r"^example:\n +saltus (.*)$", capsys.readouterr().out, re.MULTILINE)[1]
        assert build_parser().parse_args(shlex.split(example)).command == name


@pytest.mark.parametrize("name", ["sinc", "friedman"])
def test_other_demos_print_and_draw(tmp_path, name):
    code, out, err = run("demo", name, "-o", tmp_path / "picture.png", "--iterations", "300", "--chains", "2")
    assert code == 0, err
    assert {"sinc": "90 % intervals hold", "friedman": "moves y by"}[name] in out
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_demo_takes_another_name_for_its_picture_rather_than_overwrite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saltus_demo.png").write_text("precious")
    assert run("demo", *QUICK)[0] == 0
    assert (tmp_path / "saltus_demo.png").read_text() == "precious"
    assert (tmp_path / "saltus_demo-2.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["sinc", "--data", "x.csv"], "--data is of the demo robot-arm"), (["-o", "x.txt"], "does not end as a picture")],
)
def test_a_demo_that_cannot_be_is_named(arguments, message):
    code, _, err = run("demo", *arguments)
    assert code == 2
    assert message in err


def test_the_page_on_the_command_line_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    n_commands = 0
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(PAGE), "exec"), {})
        for line in block.splitlines() if language == "bash" else ():
            arguments = shlex.split(line)[1:]
            code, _, err = run(*arguments, *{"fit": QUICK_FIT, "demo": QUICK}.get(arguments[0], []))
            assert code == 0, (line, err)
            n_commands += 1
    assert n_commands >= 6


def write_csv(path, header="x1,x2,y1,y2", n_rows=600):
    table = np.hstack(make_robot_arm(n_rows, random_state=9))
    np.savetxt(path, table, delimiter=",", header=header, comments="")
    return path


def test_demo_prints_the_table_and_draws_the_figure(tmp_path, capsys):
    picture = tmp_path / "figure.png"
    assert main(["demo", "-o", str(picture), *QUICK]) == 0
    captured = capsys.readouterr()
    for text in ("MDL", "AIC", "0.00512", "0.00520", "12", "27", "the noise", str(picture)):
        assert text in captured.out
    assert "100%" in captured.err
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_takes_data(tmp_path, capsys):
    data = write_csv(tmp_path / "arm.csv")
    assert main(["demo", "--data", str(data), "-o", str(tmp_path / "figure.svg"), *QUICK]) == 0
    assert "arm.csv" in capsys.readouterr().out
    assert (tmp_path / "figure.svg").read_text().count("<svg") == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path, "No such file"),
        (lambda path: write_csv(path, header="a,x2,y1,y2"), "has no column x1"),
        (lambda path: write_csv(path, n_rows=300), "has 300 rows; the experiment needs at least 400"),
        (lambda path: path.write_text("x1,x2,y1,y2\n1,2,3,four\n"), "line 2: could not convert"),
        (lambda path: path.write_text("x1,x2,y1,y2\n1,2,3\n"), "line 2: could not convert string to float: 'nothing'"),
        (lambda path: path.write_bytes(b"\x89PNG\xff\x00"), "arm.csv is not a CSV file"),
        (lambda path: path.write_text(""), "has no column"),
    ],
)
def test_bad_data_is_named_without_a_traceback(tmp_path, capsys, make, message):
    make(tmp_path / "arm.csv")
    assert main(["demo", "--data", str(tmp_path / "arm.csv"), *QUICK]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("arguments", [[], ["dance"], ["demo", "--iterations", "0"], ["demo", "--chains", "x"]])
def test_bad_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: saltus" in capsys.readouterr().err


def test_help_and_version_import_nothing_heavy():
    script = (
        "import sys\n"
        "from saltus.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'scipy', 'numba', 'sklearn', 'matplotlib') if name in sys.modules])\n"
    )
    for arguments in (["--version"], ["--help"], ["fit", "--help"], ["predict", "--help"], ["demo", "--help"]):
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.endswith("[]\n")
    assert saltus.__version__ in subprocess.run(
        [sys.executable, "-c", script, "--version"], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip


def test_a_missing_matplotlib_is_named_before_the_work_begins(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "-o", str(tmp_path / "figure.png"), *QUICK]) == 2
    captured = capsys.readouterr()
    assert "pip install saltus[plot]" in captured.err
    assert "MDL" not in captured.out


def test_a_report_that_cannot_be_drawn_is_named_before_the_fit(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(AnnealedRegressor, "fit", None)
    arguments = ["--target", "lift", "-o", tmp_path / "m.saltus", "--report", tmp_path / "r.html"]
    code, _, err = run("fit", folder / "wing.csv", *arguments)
    assert code == 2
    assert "pip install saltus[plot]" in err


def test_a_picture_that_has_nowhere_to_go_is_named_before_the_work_begins(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "no" / "figure.png"), *QUICK]) == 2
    captured = capsys.readouterr()
    assert "there is no folder" in captured.err
    assert "MDL" not in captured.out


def test_the_package_says_what_it_has():
    assert set(saltus.__all__) <= set(dir(saltus))
    for name in saltus.__all__:
        assert getattr(saltus, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Annealed'"):
        saltus.Annealed  # noqa: B018
