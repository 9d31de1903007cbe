"""The truth has a uniform rank among draws of the posterior: k, terms, relevances, noise, width of the prior, function.

|z| < 5 fails by chance with probability 6e-7 for each of 140 statistics: the false-alarm rate of this file is 8e-5.
"""

import numpy as np
import pytest

from tests.statistical import sbc
from tests.statistical.planted import ACCEPTS_TOO_MUCH, worst_t_with_bugs

LIMIT, N_TRUTHS, N_EDITS = 5.0, 1500, 6
PRODUCTS, G, RIDGE, METRIC = "products, g given", "hinges and waves", "a ridge", "a learned metric"


@pytest.mark.slow
@pytest.mark.parametrize("case", sbc.CASES)
def test_the_truth_is_like_any_draw(case):
    assert np.abs(sbc.z_values(case, n_truths=N_TRUTHS)).max() < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("case", [G, RIDGE])
def test_the_truth_is_like_any_draw_where_several_proposals_are_scored_in_a_pass(case):
    assert np.abs(sbc.z_values(case, n_truths=N_TRUTHS, n_edits=N_EDITS)).max() < LIMIT


STEPPERS, SPAN, TARGET = "engine/drivers/steppers.py", "engine/problem/span.py", "engine/kernels/target.py"

# name: (case, file, [(text, replacement), ...])
BUGS = {
    "coefficients that are not shrunk": (
        PRODUCTS,
        STEPPERS,
        [("inverse @ (shrink * factor", "inverse @ (1.0 * factor")],
    ),
    "degrees of freedom of the linear term": (
        PRODUCTS,
        SPAN,
        [("return max(problem.n_total - problem.m_fixed + v0, 1.0)", "return problem.n_total + 12.0")],
    ),
    "g without its prior": (G, SPAN, [("return LOG_PRIOR_OF_GRID[:, None] + log_fit", "return log_fit")]),
    "a g that columns do not pay for": (G, SPAN, [("a_column=0.5 *", "a_column=0.0 *")]),
    "moves accepted too often": (RIDGE, TARGET, ACCEPTS_TOO_MUCH),
    "relevances that are switched on in one half": (
        METRIC,
        "families/radial/kernels.py",
        [("LOG_SMALLEST + (LOG_LARGEST - LOG_SMALLEST) * rng.random()", "LOG_SMALLEST * rng.random()")],
    ),
    "delta^2 of a lost column": (
        RIDGE,
        "engine/kernels/gibbs.py",
        [("shape = prior.a + 0.5 * m", "shape = prior.a + 0.5 * (m - 1)")],
    ),
}


@pytest.mark.planted
@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name, tmp_path):
    case, *bug = BUGS[name]
    assert worst_t_with_bugs(tmp_path, [bug], "sbc", [case, str(N_TRUTHS), "1"]) > LIMIT


@pytest.mark.planted
def test_proposals_that_are_mixed_up_are_caught(tmp_path):
    """Columns of all proposals of a pass are put where those of the first belong; a single proposal is right."""
    bug = ("engine/kernels/columns.py", [("columns.decoded[which, n_in],", "columns.decoded[0, n_in],")])
    assert worst_t_with_bugs(tmp_path, [bug], "sbc", [RIDGE, str(N_TRUTHS), str(N_EDITS)]) > LIMIT
