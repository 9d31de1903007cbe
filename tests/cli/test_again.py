"""The code in the report of `saltus fit` does again what the command did."""

import ast
import html
import re

import numpy as np
import pandas as pd
import pytest

import saltus
from saltus.cli import build_parser
from saltus.cli.again import fitting_code


def test_the_code_of_a_report_runs_as_it_is_printed(folder, tmp_path, monkeypatch):
    page = (folder / "wing.html").read_text()
    code = html.unescape(re.search(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)[1])
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(code, namespace)
    again, model = namespace["model"], saltus.load(folder / "wing.saltus")
    assert again.get_params(deep=False) == model.get_params(deep=False)
    X = pd.DataFrame({"angle": np.linspace(-3, 3, 20), "load": np.linspace(2, -2, 20)})
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--target", "a b", "c", "--bayes", "--seed", "3"], ["--target=a b", "--target=c", "--bayes", "--seed=3"]),
        (
            ["--target=-y", "--drop", "d", "--missing=-9", "--test-size", "0", "-o", "m.saltus", "--time", "60"],
            ["--target=-y", "--drop=d", "--test-size=0.0", "--time=60.0", "--missing=-9"],
        ),
    ],
)
def test_the_code_gives_the_options_again(given, expected):
    options = build_parser().parse_args(["fit", "t.csv", *given])
    call = re.search(r"^main\((.*?)\)$", fitting_code(options), re.DOTALL | re.MULTILINE)[1]
    assert ast.literal_eval(call) == ["fit", "t.csv", *expected, "-o", "t-again.saltus", "--force"]
