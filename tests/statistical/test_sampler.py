"""DESIGN section 6, steps 5 and 6: the full-Bayes sampler leaves the joint prior of parameters and data as it is.

|t| < LIMIT fails by chance with probability below 5e-6 for each of 70 statistics: the false-alarm rate of this file is
below 4e-4.
"""

import numpy as np
import pytest

from tests.statistical import geweke
from tests.statistical.planted import worst_t_with_bug

LIMIT = 4.85


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("c", [1, 2])
def test_geweke(d, c):
    t = geweke.t_values(d, c, n_chains=100, n_rounds=150, n_prior=40_000)
    assert len(t) == 7 + 7 * c
    assert np.abs(t).max() < LIMIT


BUGS = {
    "the truncation of the Poisson forgotten": [("if np.log(rng.random()) < log_ratio:", "if True:")],
    "a wrong Gibbs shape": [("shape = prior.a + 0.5 * m", "shape = prior.a + 0.5 * k")],
    "k! between labelled and unlabelled centres": [
        (
            "log_ratio = (n_in - n_out) * np.log(hierarchy.rate[0])",
            "log_ratio = (n_in - n_out) * (np.log(hierarchy.rate[0]) - np.log(max(k, k + n_in - n_out, 1.0)))",
        )
    ],
    "the prior's volume forgotten": [("+ 0.5 * np.log(ridge.scratch.volume[0])", "")],
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name, tmp_path):
    assert worst_t_with_bug(tmp_path, "engine/sample.py", BUGS[name], "geweke", ["1", "2"]) > 2 * LIMIT
