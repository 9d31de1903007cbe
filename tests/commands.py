"""Commands as a test runs them, and a table to run them on."""

import csv
import io
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

from saltus.cli import main

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
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read_rows(text, **options):
    return list(csv.reader(io.StringIO(text), **options))
