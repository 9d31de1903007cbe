"""Copies of the package with a bug planted in them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import saltus

ROOT = Path(__file__).parents[2]

# In the one place that accepts, for chains of both estimators: what log_green says is forgotten where it speaks against
# a proposal.
ACCEPTS_TOO_MUCH = [
    ("by_kernel = log_uniform < log_ratio + log_green", "by_kernel = log_uniform < log_ratio + max(log_green, 0.0)"),
    (
        "return log_uniform < log_ratio / temperature + log_green",
        "return log_uniform < log_ratio + max(log_green, 0.0)",
    ),
]


def worst_t_with_bugs(tmp_path, bugs, script, arguments):
    """Plant bugs in a copy of saltus, run a script of this folder on it, and return the worst |t| that it prints.

    `bugs` are pairs of a file and its (text, replacement).
    """
    package = tmp_path / "saltus"
    shutil.copytree(Path(saltus.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, replacements in bugs:
        source = (package / file).read_text("utf-8")
        for text, replacement in replacements:
            assert text in source
            source = source.replace(text, replacement)
        (package / file).write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", f"tests.statistical.{script}", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)
