"""The chain samples what it should, and planted bugs are caught.

Every statistic is Student's t over independent chains. |t| < LIMIT fails by chance with probability below
1e-5 for each of the 35 + 9 + 12 statistics here: the false-alarm rate of this file is below 5e-4. Planted bugs are
expected to be beyond it by a wide margin, and the seeds are fixed.
"""

import numpy as np
import pytest

from tests.statistical import exact_posterior, flat_likelihood, flat_metric
from tests.statistical.planted import worst_t_with_bug

LIMIT = 4.7  # two-sided p = 1e-5 at 99 degrees of freedom


@pytest.mark.parametrize("d", [1, 2, 3])
def test_without_data_the_prior_comes_back(d):
    assert np.abs(flat_likelihood.t_values(d, n_chains=100, n_looks=200)).max() < LIMIT


def test_without_data_the_prior_of_own_widths_comes_back():
    assert np.abs(flat_likelihood.t_values(2, n_chains=100, n_looks=200, own_widths=True)).max() < LIMIT


def test_without_data_the_prior_of_a_learned_metric_comes_back():
    assert np.abs(flat_metric.t_values(n_chains=100, n_looks=400)).max() < LIMIT


@pytest.mark.parametrize("two_stage", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_posterior_of_k_agrees_with_quadrature(two_stage, temperature):
    assert np.abs(exact_posterior.t_values(two_stage, temperature, n_chains=100, n_steps=20_000)).max() < LIMIT


METRIC = ("flat_metric",)
FLAT, TEMPERED = ("flat_likelihood", "2"), ("exact_posterior", "tempering", "0.5")
OWN_WIDTHS = ("flat_likelihood", "2", "own-widths")
TWO_STAGE = ("exact_posterior", "two-stage", "0.5")

# name: (statistic that must notice, file, [(text, replacement), ...])
# Those that every run plants; the others are planted with `-m planted`, as each compiles a copy of the package.
ALWAYS = {"a lost Jacobian", "a pair that shrinks as it moves", "log_green tempered"}

BUGS = {
    "a lost Jacobian": (
        FLAT,
        "engine/kernels/moves.py",
        [("d * np.log(4.0 * split_scale)", "d * np.log(2.0)")],
    ),
    "k for k + 1": (FLAT, "engine/kernels/moves.py", [("-np.log(k + 1.0)", "-np.log(max(k, 1.0))")]),
    "the paper's own ratios": (
        FLAT,
        "engine/kernels/moves.py",
        [("d * np.log(4.0 * split_scale)", "np.log(split_scale)")],
    ),
    "a clamp at the edge of the box": (
        FLAT,
        "engine/kernels/moves.py",
        [("edits.incoming[which, 0, i] = value", "value = edits.incoming[which, 0, i] = min(max(value, 0.0), 1.0)")],
    ),
    "u in [0, 1]": (FLAT, "engine/kernels/moves.py", [("(2.0 * rng.random() - 1.0)", "rng.random()")]),
    "split without the condition on neighbours": (
        FLAT,
        "engine/kernels/moves.py",
        [("if distance < squared_gap:", "if distance < 0.0:")],
    ),
    "a pair that shrinks as it moves": (
        FLAT,
        "engine/kernels/moves.py",
        [
            # Such moves are a few in a hundred: make them many.
            ("PAIR_UPDATE_PROBABILITY = 0.25", "PAIR_UPDATE_PROBABILITY = 1.0"),
            ("high = centers[other, i] + shift", "high = 0.2 * low + 0.8 * (centers[other, i] + shift)"),
        ],
    ),
    "merge without mutual nearness": (FLAT, "engine/kernels/moves.py", [("if back != one:", "if back < 0:")]),
    "a null move turned into another": (
        FLAT,
        "engine/kernels/moves.py",
        [("if move == BIRTH:", "if move == BIRTH or (k == 0 and move == DEATH):")],
    ),
    "log_green tempered": (
        TEMPERED,
        "engine/kernels/chain.py",
        [("log_ratio / temperature + log_green", "(log_ratio + log_green) / temperature")],
    ),
    "a Jacobian without the width": (
        OWN_WIDTHS,
        "engine/kernels/moves.py",
        [("d * np.log(4.0 * split_scale)", "(d - 1) * np.log(4.0 * split_scale)")],
    ),
    "neighbours found by centres without widths": (
        OWN_WIDTHS,
        "engine/kernels/moves.py",
        [("for i in range(point.size):", "for i in range(point.size - 1):")],
    ),
    "inputs switched on with small relevances only": (
        METRIC,
        "engine/kernels/moves.py",
        [("LOG_SMALLEST + (LOG_LARGEST - LOG_SMALLEST) * rng.random()", "LOG_SMALLEST * rng.random()")],
    ),
    "a stretch that is not symmetric": (
        METRIC,
        "engine/kernels/moves.py",
        [("factor = np.exp(scale * rng.standard_normal())", "factor = 1.0 + scale * rng.random()")],
    ),
    "1/T for 1/T - 1": (TWO_STAGE, "engine/kernels/chain.py", [("(1.0 / temperature - 1.0)", "(1.0 / temperature)")]),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(bug, marks=() if bug in ALWAYS else pytest.mark.planted) for bug in BUGS]
)
def test_planted_bugs_are_caught(name, tmp_path):
    (script, *arguments), file, replacements = BUGS[name]
    assert worst_t_with_bug(tmp_path, file, replacements, script, arguments) > 2 * LIMIT
