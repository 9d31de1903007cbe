import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

from tests.commands import QUICK_FIT, run, wing, write_rows


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures that a test leaves open: matplotlib warns of many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def rng():
    return np.random.default_rng(20001)


@pytest.fixture
def bumps(rng):
    """Small data with two inputs, two outputs and something to find."""
    X = rng.uniform(-2, 3, size=(80, 2))
    Y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], np.abs(X[:, 0] - X[:, 1])], axis=1)
    return X, Y + 0.1 * rng.standard_normal(Y.shape)


@pytest.fixture
def run_recipe(tmp_path, monkeypatch):
    """Run the code of a report as it is printed, beside a file of the rows; it returns the model that this makes."""

    def run_code(model, X, y, sample_weight=None):
        from saltus.report.recipe import recipe_code

        table = pd.DataFrame(X)
        table = table.rename(columns=lambda name: f"x{name}" if isinstance(name, int) else name)
        table[list(model.data_notes_.output_names)] = np.asarray(y).reshape(len(table), -1)
        if sample_weight is not None:
            table["sample_weight"] = sample_weight
        monkeypatch.chdir(tmp_path)
        if int(pd.__version__.partition(".")[0]) < 3:  # which reads the last digit otherwise, unless it is told
            monkeypatch.setattr(pd, "read_csv", partial(pd.read_csv, float_precision="round_trip"))
        table.to_csv("data.csv", index=False)
        namespace = {}
        exec(recipe_code(model), namespace)
        return namespace["model"]

    return run_code


@pytest.fixture(scope="session")
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
