"""The demonstrations, as a user meets them."""

import sys

import numpy as np
import pytest

from saltus.cli import main
from saltus.datasets import make_robot_arm
from tests.commands import QUICK, run


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
    assert (tmp_path / "saltus_demo.png").read_text("utf-8") == "precious"
    assert (tmp_path / "saltus_demo-2.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sinc", "--data", "x.csv"], "--data is of the demo robot-arm"),
        (["-o", "x.txt"], "does not end like that of a picture"),
    ],
)
def test_a_demo_that_cannot_be_is_named(arguments, message):
    code, _, err = run("demo", *arguments)
    assert code == 2
    assert message in err


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
    assert (tmp_path / "figure.svg").read_text("utf-8").count("<svg") == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path, "There is no file"),
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


def test_a_missing_matplotlib_is_named_before_the_work_begins(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "-o", str(tmp_path / "figure.png"), *QUICK]) == 2
    captured = capsys.readouterr()
    assert "pip install 'saltus[plot]'" in captured.err
    assert "MDL" not in captured.out


def test_a_picture_that_has_nowhere_to_go_is_named_before_the_work_begins(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "no" / "figure.png"), *QUICK]) == 2
    captured = capsys.readouterr()
    assert "there is no folder" in captured.err
    assert "MDL" not in captured.out
