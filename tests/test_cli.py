"""The command line, as a user meets it."""

import subprocess
import sys

import numpy as np
import pytest

import saltus
from saltus.cli import main
from saltus.datasets import make_robot_arm

QUICK = ["--iterations", "500", "--chains", "2"]


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
    for arguments in (["--version"], ["--help"], ["demo", "--help"]):
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
