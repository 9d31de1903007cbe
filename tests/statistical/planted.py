"""Copies of the package with a bug planted in them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import saltus

ROOT = Path(__file__).parents[2]


def worst_t_with_bug(tmp_path, file, replacements, script, arguments):
    """Plant a bug in a copy of saltus, run a script of this folder on it, and return the worst |t| that it prints."""
    package = tmp_path / "saltus"
    shutil.copytree(Path(saltus.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (package / file).read_text()
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
