"""How commands behave: help, exit codes, errors, and files that are never lost."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import saltus
from saltus import AnnealedRegressor, BayesianRegressor
from saltus.cli import COMMANDS, build_parser, fit, main
from saltus.engine.problem.criteria import CRITERIA
from saltus.estimators.chains import FEWEST_CHAINS, MOST_CHAINS
from saltus.estimators.sampling import USUAL_ITERATIONS
from saltus.families import Product, Radial, Ridge, make_family, resolve_basis
from saltus.families.options import (
    AUTO,
    DEFAULT_RADIAL_NAME,
    FAMILY_NAMES,
    MIXED,
    MIXED_OF_FEW_INPUTS,
    NAMES,
    OPTIONS,
    PRODUCT_NAMES,
    RADIAL_NAMES,
    RIDGE_NAMES,
)
from tests.commands import QUICK, QUICK_FIT, run, wing, write_rows


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
    monkeypatch.setattr("saltus.storage.files.load", never)
    monkeypatch.setattr(AnnealedRegressor, "fit", never)
    write_rows(tmp_path / "wing.csv", wing())
    (tmp_path / "wing.saltus").touch()
    (tmp_path / "taken").write_text("precious")
    code, _, err = run(*arguments)
    assert code == 2
    option = arguments[arguments.index("taken") - 1]
    assert f"taken exists. Give another name with {option}, or replace it with --force." in err
    assert (tmp_path / "taken").read_text("utf-8") == "precious"


def test_a_folder_that_cannot_be_written_is_named_before_the_work_begins(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    code, out, err = run("fit", folder / "wing.csv", "--target", "lift", "-o", tmp_path / "m.saltus")
    assert (code, out) == (2, "")
    assert f"you may not write into {tmp_path}. Give another with -o." in err


def test_an_input_that_is_not_there_is_named_first(folder, tmp_path):
    code, _, err = run("fit", tmp_path / "no" / "wing.csv", "--target", "lift")
    assert (code, err) == (2, f"saltus: There is no file {tmp_path / 'no' / 'wing.csv'}.\n")
    code, _, err = run("predict", folder / "wing.saltus", tmp_path / "no.csv", "-o", tmp_path / "out.csv")
    assert (code, err) == (2, f"saltus: There is no file {tmp_path / 'no.csv'}.\n")


def test_force_replaces_the_output_and_never_the_input(folder, tmp_path):
    data = write_rows(tmp_path / "t.csv", wing())
    before = data.read_bytes()
    code, _, err = run("predict", folder / "wing.saltus", data, "-o", data, "--force")
    assert code == 2
    assert "is to be read, and cannot be written as well" in err
    assert data.read_bytes() == before
    (tmp_path / "out.csv").write_text("old")
    assert run("predict", folder / "wing.saltus", data, "-o", tmp_path / "out.csv", "--force")[0] == 0
    assert (tmp_path / "out.csv").read_text("utf-8").startswith("lift\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "wing.csv", "--target", "lift", "-o", "taken", *QUICK_FIT],
        ["predict", "wing.saltus", "wing.csv", "-o", "taken"],
        ["report", "wing.saltus", "-o", "taken"],
        ["export", "wing.saltus", "--onnx", "taken"],
        ["demo", "friedman", "-o", "taken.png", *QUICK],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_file_is_written_whole_or_not_at_all(folder, tmp_path, monkeypatch, arguments):
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.chdir(tmp_path)
    taken = Path(next(argument for argument in arguments if argument.startswith("taken")))
    taken.write_text("precious")
    given = [folder / argument if argument.startswith("wing") else argument for argument in arguments]
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        code, _, err = run(*given, "--force")
    assert code == 1
    assert "the disk is full" in err
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [(taken.name, "precious")]


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
    assert model.read_text("utf-8") == "precious"
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
    assert "Interrupted: the model is made of what the fit had found by then" in err
    assert "Traceback" not in err
    assert "The model, fitted to 48 rows" in out
    assert saltus.load(tmp_path / "m.saltus").result_.status.startswith("The search stopped: Ctrl-C interrupted it.")


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

    monkeypatch.setattr("saltus.storage.files.load", fail)
    code, _, err = run("inspect", folder / "wing.saltus")
    assert code == 1
    assert (
        err
        == "saltus: unexpected failure: RuntimeError: out of luck. Run again with --debug to see where it came from.\n"
    )
    code, _, err = run("inspect", folder / "wing.saltus", "--debug")
    assert code == 1
    assert "Traceback" in err


def test_a_damaged_or_absent_model_is_named(folder, tmp_path):
    code, _, err = run("inspect", tmp_path / "no.saltus")
    assert (code, err) == (2, f"saltus: No such file or directory: {tmp_path / 'no.saltus'}\n")
    code, _, err = run("inspect", tmp_path)
    assert (code, err) == (2, f"saltus: {tmp_path} is not a file. Give the path of a model file.\n")
    code, _, err = run("predict", folder / "wing.csv", folder / "wing.saltus")
    assert code == 2
    assert "wing.csv is no model file, such as `saltus fit` writes. Where a table is given, too, the model comes" in err
    damaged = tmp_path / "half.saltus"
    damaged.write_bytes((folder / "wing.saltus").read_bytes()[:5000])
    code, _, err = run("inspect", damaged)
    assert code == 2
    assert "half.saltus is damaged" in err


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


def test_the_choices_are_those_of_the_library():
    for name in RADIAL_NAMES:
        assert make_family(name) == Radial(name)
    for name, (profile, max_inputs) in PRODUCT_NAMES.items():
        assert make_family(name) == Product(profile, max_inputs or 3)
    for name, (profile, max_inputs) in RIDGE_NAMES.items():
        assert make_family(name) == Ridge(profile, max_inputs or 4)
    assert set(NAMES) == {AUTO, *RADIAL_NAMES, *PRODUCT_NAMES, *RIDGE_NAMES}
    assert len({make_family(name) for name in FAMILY_NAMES}) == len(FAMILY_NAMES)
    assert resolve_basis(AUTO, 3) == resolve_basis(list(MIXED), 3)
    assert resolve_basis(AUTO, 2) == resolve_basis(list(MIXED_OF_FEW_INPUTS), 2)
    with pytest.raises(ValueError, match="must be one of"):
        make_family("quintic")
    for option in OPTIONS:
        families = [Radial(DEFAULT_RADIAL_NAME, **{option.name: choice}) for choice in option.choices]
        assert families[0] == Radial(DEFAULT_RADIAL_NAME), "the first choice is the default"
        assert len(set(families)) == len(option.choices) > 1
    assert {option.name for option in OPTIONS} == {"metric", "widths"}
    assert set(fit.CRITERIA) == set(CRITERIA)


def test_help_tells_the_defaults_of_the_library(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    annealed, bayesian = AnnealedRegressor(), BayesianRegressor()
    assert annealed.basis == bayesian.basis
    (family,) = resolve_basis(DEFAULT_RADIAL_NAME, 1).families
    for default in (annealed.basis, family.metric, family.widths, f"{annealed.criterion}; not with --bayes"):
        assert f"(default: {default})" in text
    assert annealed.n_chains == bayesian.n_chains == "auto"
    assert f"(default: {FEWEST_CHAINS}, or up to {MOST_CHAINS} for small tables)" in text
    assert f"; with --bayes {USUAL_ITERATIONS}, or" in text


def test_every_command_has_help_with_an_example_that_parses(capsys):
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        with pytest.raises(SystemExit) as exit_:
            main([name, "--help"])
        assert exit_.value.code == 0
        example = re.search(r"^example:\n +saltus (.*)$", capsys.readouterr().out, re.MULTILINE)[1]
        assert build_parser().parse_args(shlex.split(example)).command == name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dance"], "invalid choice: 'dance' (choose from"),
        (["demo", "--iterations", "0"], "--iterations: must be a whole number, 1 or more. Got '0'."),
        (["fit", "t.csv", "--targt", "y"], "saltus fit: error: there is no option --targt. Did you mean --target?"),
        (["fit", "t.csv", "--x=1"], "saltus fit: error: there is no option --x. `saltus fit --help` has the options."),
        (["inspect", "a", "b c"], "'b c' is one argument too many. `saltus inspect --help` has an example."),
        (["fit", "t.csv", "--test-size", "20"], "must be a share of the rows, from 0 to less than 1. Got '20'."),
    ],
)
def test_bad_usage_exits_with_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    err = capsys.readouterr().err
    assert "usage: saltus" in err
    assert message in err


def test_without_a_command_there_is_help():
    code, _, err = run()
    assert code == 2
    assert "a first session:" in err


def test_a_folder_is_no_table(folder, tmp_path):
    err = run("predict", folder / "wing.saltus", tmp_path)[2]
    assert err == f"saltus: {tmp_path} is a folder. Give the name of a file in it.\n"


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


def test_a_report_that_cannot_be_drawn_is_named_before_the_fit(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(AnnealedRegressor, "fit", None)
    arguments = ["--target", "lift", "-o", tmp_path / "m.saltus", "--report", tmp_path / "r.html"]
    code, _, err = run("fit", folder / "wing.csv", *arguments)
    assert code == 2
    assert "pip install 'saltus[plot]'" in err


def test_the_package_says_what_it_has():
    assert set(saltus.__all__) <= set(dir(saltus))
    for name in saltus.__all__:
        assert getattr(saltus, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Annealed'"):
        saltus.Annealed  # noqa: B018


def test_an_option_of_another_family_is_refused(tmp_path):
    table = write_rows(tmp_path / "wing.csv", wing())
    code, _, err = run("fit", table, "--target", "lift", "--basis", "hinges", "--metric", "euclidean", *QUICK_FIT)
    assert code == 2
    assert "'hinges' has no option 'metric'. Its options are max_inputs, extrapolate." in err


@pytest.mark.parametrize("encoding", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}])
def test_names_that_the_system_cannot_write_end_no_command(tmp_path, encoding):
    table = write_rows(tmp_path / "t.csv", [[x / 40, x % 7] for x in range(40)], ["Länge", "температура"])
    model = tmp_path / "m.saltus"
    assert run("fit", table, "--target", "температура", "-o", model, *QUICK_FIT)[0] == 0
    for arguments in (["inspect", model], ["predict", model, table]):
        done = subprocess.run(
            [sys.executable, "-m", "saltus", *map(str, arguments)],
            env={**os.environ, **encoding},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "температура" in done.stdout.decode("utf-8")
    in_ascii = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "saltus", "inspect", str(model)], env=in_ascii, capture_output=True)
    assert done.returncode == 0
    assert b"L?nge" in done.stdout
