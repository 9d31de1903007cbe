"""The chain samples what it should, and planted bugs are caught.

Every statistic is Student's t over independent chains. |t| < LIMIT fails by chance with probability below
1e-5 for each of the 44 + 18 + 24 + 220 statistics here: the false-alarm rate of this file is below 4e-3. Planted bugs
are expected to be beyond it by a wide margin, and the seeds are fixed.
"""

import numpy as np
import pytest

from tests.statistical import exact_posterior, flat_likelihood, flat_metric, flat_mixture
from tests.statistical.planted import ACCEPTS_TOO_MUCH, worst_t_with_bugs

LIMIT = 4.7  # two-sided p = 1e-5 at 99 degrees of freedom


@pytest.mark.parametrize("name", ["a line", "weights", "three inputs", "constant and dependent inputs"])
def test_without_data_the_prior_comes_back(name):
    assert np.abs(flat_likelihood.t_values(name, n_chains=100, n_looks=200)).max() < LIMIT


def test_without_data_the_prior_of_own_widths_comes_back():
    assert np.abs(flat_likelihood.t_values("a line", n_chains=100, n_looks=200, own_widths=True)).max() < LIMIT


@pytest.mark.parametrize("name", ["weights", "three inputs"])
def test_without_data_the_prior_of_a_learned_metric_comes_back(name):
    assert np.abs(flat_metric.t_values(name, n_chains=100, n_looks=400)).max() < LIMIT


UNEVEN = [pytest.param(f"uneven {kind}", marks=pytest.mark.slow) for kind in ("products", "ridges", "waves", "user's")]


TABLES = ("an uneven table", "a table and others", "a table and ridges")
OTHERS = [pytest.param(case, marks=pytest.mark.slow) for case in ("polynomials", "user's and others", *TABLES)]


@pytest.mark.parametrize("case", ["all", "waves and others", "a table", *OTHERS, *UNEVEN])
def test_without_data_the_prior_of_families_that_choose_inputs_comes_back(case):
    assert np.abs(flat_mixture.t_values(case, n_chains=100, n_looks=100)).max() < LIMIT


@pytest.mark.parametrize("name", ["nine rows", "nine weighted rows"])
@pytest.mark.parametrize("two_stage", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_posterior_of_k_agrees_with_quadrature(name, two_stage, temperature):
    t = exact_posterior.t_values(name, two_stage, temperature, n_chains=100, n_steps=20_000)
    assert np.abs(t).max() < LIMIT


METRIC = ("flat_metric", "weights")
FLAT, TEMPERED = ("flat_likelihood", "weights"), ("exact_posterior", "nine rows", "tempering", "0.5")
OWN_WIDTHS = ("flat_likelihood", "a line", "own-widths")
TWO_STAGE = ("exact_posterior", "nine rows", "two-stage", "0.5")
MOVES, PAIRS, SHARED = "engine/kernels/moves.py", "families/radial/moves.py", "families/radial/kernels.py"
TARGET = "engine/kernels/target.py"
USEFUL, DRAWS = "families/useful.py", "families/choosing_kernels.py"
PRODUCT, RIDGE, WAVE, USER = (f"families/{name}/kernels.py" for name in ("product", "ridge", "wave", "user"))

# Of updates, none that draw a term afresh or move pairs.
MANY_CHANGES = [
    ("PAIR_UPDATE_PROBABILITY = 0.25", "PAIR_UPDATE_PROBABILITY = 0.0"),
    ("FRESH_UPDATE_PROBABILITY = 0.25", "FRESH_UPDATE_PROBABILITY = 0.0"),
]

# Splits and merges are a few in a hundred, too: as many of all moves as the paper has.
MANY_PAIRS = (MOVES, [("SPLITS_AND_MERGES = 0.05", "SPLITS_AND_MERGES = 0.4")])

# name: (statistic that must notice, file, [(text, replacement), ...], and the same for other files)
BUGS = {
    "a lost Jacobian": (FLAT, PAIRS, [("p * np.log(4.0 * split_scale)", "p * np.log(2.0)")], MANY_PAIRS),
    "k for k + 1": (FLAT, MOVES, [("-np.log(k + 1.0)", "-np.log(max(k, 1.0))")]),
    "the paper's own ratios": (FLAT, PAIRS, [("p * np.log(4.0 * split_scale)", "np.log(split_scale)")], MANY_PAIRS),
    "a clamp at the edge of the box": (
        FLAT,
        PAIRS,
        [("edits.incoming[which, 0, i] = value", "value = edits.incoming[which, 0, i] = min(max(value, 0.0), 1.0)")],
    ),
    "u in [0, 1]": (FLAT, PAIRS, [("(2.0 * rng.random() - 1.0)", "rng.random()")], MANY_PAIRS),
    "split without the condition on neighbours": (
        FLAT,
        PAIRS,
        [("if distance < squared_gap:", "if distance < 0.0:")],
        MANY_PAIRS,
    ),
    "a pair that shrinks as it moves": (
        FLAT,
        PAIRS,
        [("high = parameters[other, i] + shift", "high = 0.2 * low + 0.8 * (parameters[other, i] + shift)")],
        # Such moves are a few in a hundred: make them many.
        (MOVES, [("PAIR_UPDATE_PROBABILITY = 0.25", "PAIR_UPDATE_PROBABILITY = 1.0")]),
    ),
    "merge without mutual nearness": (FLAT, PAIRS, [("if back != one:", "if back < 0:")], MANY_PAIRS),
    "a null move turned into another": (
        FLAT,
        MOVES,
        [("if move == BIRTH:", "if move == BIRTH or (terms.k[0] == 0 and move == DEATH):")],
    ),
    "log_green tempered": (
        TEMPERED,
        TARGET,
        [("log_ratio / temperature + log_green", "(log_ratio + log_green) / temperature")],
    ),
    "a Jacobian without the width": (
        OWN_WIDTHS,
        PAIRS,
        [("p * np.log(4.0 * split_scale)", "(p - 1) * np.log(4.0 * split_scale)")],
        MANY_PAIRS,
    ),
    "neighbours found by centres without widths": (
        OWN_WIDTHS,
        PAIRS,
        [("distance = 0.0\n            for i in range(p):", "distance = 0.0\n            for i in range(p - 1):")],
        MANY_PAIRS,
    ),
    "inputs switched on with small relevances only": (
        METRIC,
        SHARED,
        [("LOG_SMALLEST + (LOG_LARGEST - LOG_SMALLEST) * rng.random()", "LOG_SMALLEST * rng.random()")],
    ),
    "a stretch that is not symmetric": (
        METRIC,
        SHARED,
        [("factor = np.exp(scale * rng.standard_normal())", "factor = 1.0 + scale * rng.random()")],
    ),
    "a split that does not know its family is one of several": (
        ("flat_mixture", "all"),
        PAIRS,
        [("log_density_and_jacobian + log_weight", "log_density_and_jacobian"),
         ("log_density_and_jacobian - log_weight", "log_density_and_jacobian")],
        MANY_PAIRS,
    ),
    "products that grow and shrink as if all sizes were alike": (
        ("flat_mixture", "uneven products"),
        PRODUCT,
        [("return True, data.log_pi[family, g - 2] - data.log_pi[family, g - 1]", "return True, 0.0"),
         ("return True, data.log_pi[family, g] - data.log_pi[family, g - 1]", "return True, 0.0"),
         # Such moves are a few in a hundred: make them many, and below walks.
         ("way = pick(rng, N_WAYS)", "way = GROW + pick(rng, 2)")],
        (MOVES, MANY_CHANGES),
    ),
    "ridges that grow and shrink as if all sizes were alike": (
        ("flat_mixture", "uneven ridges"),
        RIDGE,
        [("return True, data.log_pi[family, g - 2] - data.log_pi[family, g - 1]", "return True, 0.0"),
         ("data.log_pi[family, g] - data.log_pi[family, g - 1] if way == GROW else 0.0", "0.0"),
         ("way = pick(rng, N_WAYS)", "way = GROW + pick(rng, 2)")],
        (MOVES, MANY_CHANGES),
    ),
    "a user's terms that grow and shrink as if all sizes were alike": (
        ("flat_mixture", "uneven user's"),
        USER,
        [("return True, data.log_pi[family, g - 2] - data.log_pi[family, g - 1]", "return True, 0.0"),
         ("return True, data.log_pi[family, g] - data.log_pi[family, g - 1]", "return True, 0.0"),
         ("way = pick(rng, N_WAYS)", "way = GROW + pick(rng, 2)")],
        (MOVES, MANY_CHANGES),
    ),
    "a user's terms that count for one parameter less": (
        ("flat_mixture", "user's and others"),
        USER,
        [("data.counts[family, choices[SIZE] - 1]", "data.counts[family, choices[SIZE] - 1] - 1")],
    ),
    "a phase that is put back to its end": (
        ("flat_mixture", "uneven user's"),
        USER,
        [("value -= np.floor(value)", "value = min(max(value, 0.0), 1.0)"),
         ("way = pick(rng, N_WAYS)", "way = WALK")],
        (MOVES, MANY_CHANGES),
    ),
    "a direction that counts for all its inputs": (
        ("flat_mixture", "ridges"),
        RIDGE,
        [("choices[SIZE] - 1)", "choices[SIZE])")],
    ),
    "births and deaths that forget how waves are drawn": (
        ("flat_mixture", "waves"),
        MOVES,
        [("log_selection + log_nu_over_q_of_incoming(families, n_useful, edits, which)", "log_selection"),
         ("log_selection - log_nu_over_q_of(families, terms, j, n_useful, edits)", "log_selection")],
    ),
    "births among useful inputs that are taken for births among all": (
        ("flat_mixture", "uneven products"),
        USEFUL,
        [("return -np.log(1.0 - SHARE_OF_USEFUL + SHARE_OF_USEFUL * relative)", "return 0.0")],
    ),
    "useful inputs that are counted as if they could be taken twice": (
        ("flat_mixture", "ridges"),
        USEFUL,
        [("/ (n_used - i)", "/ n_used")],
    ),
    "useful inputs that include those of the term itself": (
        ("flat_mixture", "uneven products"),
        "families/registry.py",
        [("if j != left_out and geometry != RADIAL:", "if geometry != RADIAL:")],
    ),
    "a fresh wave that forgets how it was drawn": (
        ("flat_mixture", "waves"),
        MOVES,
        [("return True, log_density\n", "return True, 0.0\n")],
    ),
    "a periodogram that forgets how probable one input is": (
        ("flat_mixture", "waves"),
        WAVE,
        [(" / data.inputs.shares[family, 0]", "")],
    ),
    "1 / k! taken twice": (
        ("flat_mixture", "waves"),
        MOVES,
        [("log_selection = -np.log(k + 1.0)", "log_selection = -2.0 * np.log(k + 1.0)"),
         ("log_selection = np.log(float(k))", "log_selection = 2.0 * np.log(float(k))")],
    ),
    "waves whose cosine alone is counted": (
        ("flat_mixture", "waves"),
        TARGET,
        [("n_parameters = n_columns * n_outputs", "n_parameters = k * n_outputs")],
    ),
    "a wave that walks past its fastest and is put back": (
        ("flat_mixture", "waves"),
        WAVE,
        [("inside = inside and 0.0 <= parameters[i] <= 1.0", "parameters[i] = min(max(parameters[i], 0.0), 1.0)")],
    ),
    "a position that walks past its end and is put back": (
        ("flat_mixture", "products"),
        PRODUCT,
        [("factor + i] = value", "factor + i] = min(max(value, 0.0), 1.0)"),
         ("inside = inside and 0.0 <= value <= 1.0", "pass"),
         ("way = pick(rng, N_WAYS)", "way = WALK")],
        (MOVES, MANY_CHANGES),
    ),
    "an input that is taken twice": (
        ("flat_mixture", "products"),
        DRAWS,
        [("if chosen[f * stride] <= found:", "if chosen[f * stride] < found:")],
    ),
    "sets of levels that only grow": (
        ("flat_mixture", "a table"),
        PRODUCT,
        [("^= 1 << (level", "|= 1 << (level"),
         ("one = pick(rng, 2 * g)", "one = 2 * g"),
         ("way = pick(rng, N_WAYS)", "way = WALK")],
        (MOVES, MANY_CHANGES),
    ),
    "sets of levels that count for a threshold": (
        ("flat_mixture", "an uneven table"),
        PRODUCT,
        [("n_parameters += int(np.ceil(SHARE_OF_BEST_SET * (n_levels - 1))) - 1", "n_parameters += 1")],
    ),
    "factors that turn to 1 at gaps and not back": (
        ("flat_mixture", "a table"),
        PRODUCT,
        [("choices[turned] = 1 - choices[turned]", "choices[turned] = 1"),
         ("way = pick(rng, N_WAYS)", "way = TURN")],
        (MOVES, MANY_CHANGES),
    ),
    "gaps that are looked for twice as often": (
        ("flat_mixture", "a table"),
        DRAWS,
        [("data.n_profiles[family] + data.has_gaps[at])", "data.n_profiles[family] + 2 * data.has_gaps[at])")],
    ),
    "useful inputs of ridges that include categories": (
        ("flat_mixture", "a table and ridges"),
        RIDGE,
        [("for i in range(data.n_numbers):\n        n_used", "for i in range(is_used.size):\n        n_used")],
    ),
    "1/T for 1/T - 1": (TWO_STAGE, TARGET, [("(1.0 / temperature - 1.0)", "(1.0 / temperature)")]),
    "every proposal accepted that log_green favours": (FLAT, TARGET, ACCEPTS_TOO_MUCH),
}  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name, tmp_path):
    (script, *arguments), file, replacements, *more = BUGS[name]
    bugs = [(file, replacements), *more]
    assert worst_t_with_bugs(tmp_path, bugs, script, arguments) > 2 * LIMIT
