"""``saltus fit`` for a folder of Parquet files."""

import numpy as np
import pandas as pd
import pytest

import saltus
from tests.commands import QUICK_FIT, run

pytest.importorskip("dask.dataframe")


@pytest.fixture
def big(tmp_path):
    """A folder with three files."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "big"
    folder.mkdir()
    for i in range(3):
        X = rng.random((200, 2))
        table = pd.DataFrame(X, columns=["angle", "load"])
        table["town"] = np.where(X[:, 1] > 0.5, "Oslo", "Rome")
        table["lift"] = np.abs(X[:, 0] - 0.5) + 0.01 * rng.standard_normal(200)
        table.to_parquet(folder / f"part{i}.parquet")
    return folder


def test_a_folder_is_fitted_part_by_part(big, tmp_path):
    arguments = ["--target", "lift", "--basis", "hinges", "-o", tmp_path / "m.saltus", "--report", tmp_path / "m.html"]
    code, out, err = run("fit", big, *arguments, *QUICK_FIT)
    assert code == 0, err
    assert "600 rows in 3 parts, 4 columns." in " ".join(out.split())
    assert "held out to test the model" in out
    model = saltus.load(tmp_path / "m.saltus")
    assert list(model.feature_names_in_) == ["angle", "load", "town"]
    table = pd.read_parquet(big / "part0.parquet")
    assert np.std(model.predict(table[["angle", "load", "town"]]) - table["lift"]) < 0.05
    assert (tmp_path / "m.html").stat().st_size > 1000
    code, out, err = run("predict", tmp_path / "m.saltus", big / "part1.parquet")
    assert code == 0, err
    assert len(out.splitlines()) == 201


def test_the_same_seed_holds_out_the_same_rows(big, tmp_path):
    def fit(name, *more):
        arguments = ["--target", "lift", "--basis", "hinges", "-o", tmp_path / name, *more]
        code, out, err = run("fit", big, *arguments, *QUICK_FIT)
        assert code == 0, err
        return out.partition("Scores")[2].replace(name, "")

    assert fit("a.saltus") == fit("b.saltus")
    assert "none are held out" in run("fit", big, "--target", "lift", "--test-size", "0", *QUICK_FIT)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Which column is to be predicted"),
        (["--target", "lft"], "has no column 'lft'. It has: angle, load, town, lift."),
        (["--target", "lift", "--drop", "weight"], "has no column 'weight'"),
        (["--target", "lift", "--bayes"], "--bayes takes rows in memory"),
    ],
)
def test_mistakes_are_told(big, tmp_path, arguments, message):
    code, _, err = run("fit", big, *arguments, "-o", tmp_path / "m.saltus")
    assert code != 0
    assert message in err


def test_a_folder_without_parquet_is_refused(tmp_path):
    code, _, err = run("fit", tmp_path, "--target", "y", "-o", tmp_path / "m.saltus")
    assert code != 0
    assert "without Parquet files" in err
