"""What a family that a fit does not have would need is not compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

# Everything that a descent asks of the families of a fit, and what it compiles.
DESCEND = """
import sys

import numba.core.event
import numpy as np

from saltus.engine.search.landscape import Landscape
from tests.engine.designs import make_with
from tests.families.user.families import Turns

rng = np.random.default_rng(0)
X = rng.random((40, 2))
basis = Turns() if sys.argv[1] == "a user's" else sys.argv[1]
design = make_with(X, rng.random((40, 1)), basis, np.zeros(4))
terms = design.mixture.draw(rng, 2)
with numba.core.event.install_recorder("numba:compile") as recorder:
    Landscape.of(design).value_and_gradient(terms)
print(*{event.data["dispatcher"].__name__ for _, event in recorder.buffer if event.is_start})
"""

OF_RADIAL = {"squared_distances", "weigh_by_slope", "apply_profile_and_slope"}
OF_PRODUCTS, OF_RIDGES = {"set_slope", "multiply_by_profile"}, {"project", "set_direction", "replace_by_profile"}
OF_WAVES, OF_LINES, OF_USERS = {"project_wave", "replace_by_wave"}, {"multiply_by_slope"}, {"count_in_use"}


@pytest.mark.parametrize(
    ("basis", "needed"),
    [
        ("gaussian", OF_RADIAL),
        pytest.param("hinges", OF_PRODUCTS | OF_LINES, marks=pytest.mark.slow),
        pytest.param("ridges", OF_RIDGES | OF_LINES, marks=pytest.mark.slow),
        pytest.param("a user's", OF_USERS, marks=pytest.mark.slow),
        pytest.param("waves", OF_WAVES | OF_LINES, marks=pytest.mark.slow),
    ],
)
def test_only_the_families_of_a_fit_are_compiled(tmp_path, basis, needed):
    done = subprocess.run(
        [sys.executable, "-c", DESCEND, basis],
        cwd=REPOSITORY,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "SALTUS_COMPILES_FOR_ANOTHER": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    compiled = set(done.stdout.split())
    assert needed <= compiled
    assert not (OF_RADIAL | OF_PRODUCTS | OF_RIDGES | OF_WAVES | OF_LINES | OF_USERS) - needed & compiled
