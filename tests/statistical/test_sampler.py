"""The full-Bayes sampler leaves the joint prior of parameters and data as it is.

|t| < LIMIT fails by chance with probability below 5e-6 for each of 215 statistics, and fifteen others have a wider
limit: the false-alarm rate of this file is below 1e-3.
"""

import numpy as np
import pytest

from saltus.engine.kernels.gibbs import Prior, run_sample_block, start_hierarchy
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from tests.statistical import exact_posterior, flat_likelihood, geweke
from tests.statistical.planted import ACCEPTS_TOO_MUCH, worst_t_with_bugs

LIMIT = 4.85


OTHERS = [("a line", 1), ("two outputs", 1), ("constant and dependent inputs", 1)]


@pytest.mark.parametrize(
    ("name", "c"),
    [("a line", 2), ("two outputs", 2), *(pytest.param(*other, marks=pytest.mark.slow) for other in OTHERS)],
)
def test_geweke(name, c):
    assert np.abs(geweke.t_values(name, c, n_chains=100, n_rounds=150, n_prior=20_000)).max() < LIMIT


@pytest.mark.parametrize("name", [pytest.param("a line", marks=pytest.mark.slow), "two outputs"])
def test_geweke_with_a_learned_metric(name):
    assert np.abs(geweke.t_values(name, 1, n_chains=100, n_rounds=150, n_prior=20_000, learned=True)).max() < LIMIT


def test_geweke_with_own_widths():
    t = geweke.t_values("a line", 1, n_chains=100, n_rounds=150, n_prior=20_000, own_widths=True)
    assert np.abs(t).max() < LIMIT


@pytest.mark.slow
def test_geweke_with_several_families():
    t = geweke.t_values("two outputs", 1, n_chains=100, n_rounds=150, n_prior=20_000, mixed=True)
    assert np.abs(t).max() < LIMIT


@pytest.mark.parametrize(("name", "c"), [pytest.param("a line", 2, marks=pytest.mark.slow), ("two outputs", 1)])
def test_geweke_with_a_relative_ridge(name, c):
    t = geweke.t_values(name, c, n_chains=100, n_rounds=150, n_prior=20_000, relative=True)
    assert np.abs(t).max() < LIMIT


@pytest.mark.slow
def test_geweke_with_all_of_it_and_two_outputs():
    options = {"learned": True, "relative": True, "own_widths": True}
    t = geweke.t_values("a line", 2, n_chains=100, n_rounds=150, n_prior=20_000, **options)
    assert np.abs(t).max() < LIMIT


def fixed_prior(delta_squared, rate, n_total=1e7):
    """Hyperpriors so narrow that delta^2 and L are as good as given."""
    return Prior(v0=2.0, g0=0.5, a=n_total, b=n_total * delta_squared, e1=n_total * rate, e2=n_total)


def sampled_shares(design, prior, delta_squared, rate, n_chains=40, n_steps=20_000):
    """Share of time spent at each k, by chain: (n_chains, k_max + 1)."""
    tuning = Tuning(0.15, 0.2, True)
    shares = []
    for child in np.random.SeedSequence(1).spawn(n_chains):
        rng = np.random.default_rng(child)
        state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
        work, record = make_workspace(design.problem, state), start_record(state, 1)
        hierarchy = start_hierarchy(state, design.linear.R, np.full(design.Y.shape[1], delta_squared), rate)
        seen = []
        for step in range(0, n_steps, 20):
            run_sample_block(rng, design.problem, prior, tuning, state, work, hierarchy, record, 20, step, 10, True)
            seen.append(state.terms.k[0])
        shares.append(np.bincount(seen[20:], minlength=design.k_max + 1) / len(seen[20:]))
    return np.array(shares)


@pytest.mark.parametrize("name", ["nine rows", "nine weighted rows"])
def test_posterior_of_k_agrees_with_quadrature(name):
    """A tiny problem in one dimension, by quadrature over the centres: total variation below 0.02, and |t| < LIMIT."""
    delta_squared, rate, n_grid = 4.0, 2.0, 60
    _, design = exact_posterior.make_tiny_design(name)
    prior = fixed_prior(delta_squared, rate)

    def log_density(*centers):
        D = geweke.design_matrix(design, np.reshape(centers, (-1, 1)))
        W = D.T @ D + np.eye(D.shape[1]) / delta_squared
        S = np.einsum("nc,nc->c", design.Y, design.Y - D @ np.linalg.solve(W, D.T @ design.Y))
        value = len(centers) * np.log(rate) - 0.5 * D.shape[1] * np.log(delta_squared) * len(S)
        value -= 0.5 * np.linalg.slogdet(W)[1] * len(S)
        return value - 0.5 * (design.problem.n_total + prior.v0) * np.log(0.5 * (prior.g0 + S)).sum()

    grid = (np.arange(n_grid) + 0.5) / n_grid
    mass = np.array(
        [
            np.exp(log_density()),
            np.mean([np.exp(log_density(a)) for a in grid]),
            np.mean([np.exp(log_density(a, b)) for a in grid for b in grid]) / 2,
        ]
    )
    expected = mass / mass.sum()
    assert expected.min() > 0.05, "every k must matter"
    shares = sampled_shares(design, prior, delta_squared, rate)
    assert 0.5 * np.abs(shares.mean(axis=0) - expected).sum() < 0.02
    t = (shares.mean(axis=0) - expected) / (shares.std(axis=0, ddof=1) / np.sqrt(len(shares)))
    assert np.abs(t).max() < 6  # two-sided p = 5e-7 at 39 degrees of freedom


@pytest.mark.parametrize("width", [0.35, 10.0])
def test_without_data_the_prior_of_k_comes_back(width):
    """With N = 0 rows' worth of likelihood, and a ridge that nothing informs, k is Poisson, cut at k_max.

    So it is if terms are so wide that they are nearly linear, and each nearly in the span of the others.
    """
    rate = 3.0
    design = flat_likelihood.make_flat_design("weights", width=width)
    # S and |W| do not enter: the ridge is so narrow that W = I/delta^2, and g0 outweighs every S.
    narrow = 1e-12
    prior = Prior(v0=1.0, g0=1e12, a=1e7, b=1e7 * narrow, e1=1e7 * rate, e2=1e7)
    shares = sampled_shares(design, prior, narrow, rate)
    t = (shares.mean(axis=0) - flat_likelihood.PRIOR) / (shares.std(axis=0, ddof=1) / np.sqrt(len(shares)))
    assert np.abs(t).max() < 6


GIBBS, RIDGE = "engine/kernels/gibbs.py", "engine/kernels/ridge.py"

BUGS = {
    "the truncation of the Poisson forgotten": [
        ("if accept(log_ratio, 0.0, np.log(rng.random()), 0.0, 1.0, False):", "if True:")
    ],
    "a wrong Gibbs shape": [("shape = prior.a + 0.5 * m", "shape = prior.a + 0.5 * k")],
    "k! between labelled and unlabelled centres": [
        (
            "(edits.n_in[which] - edits.n_out[which]) * np.log(hierarchy.rate[0])",
            "(edits.n_in[which] - edits.n_out[which]) * (np.log(hierarchy.rate[0]) - np.log(max(state.terms.k[0] + "
            "max(edits.n_in[which] - edits.n_out[which], 0), 1.0)))",
        )
    ],
    "the prior's volume forgotten": [("+ 0.5 * np.log(ridge.scratch.volume[0])", "")],
}

RELATIVE_BUGS = {
    "columns less their linear part keep the length of that": [
        ("else R[i, j] / ridge.root[j]", "else R[i, j]"),
        ("root = np.sqrt(rest / squared) if ridge.relative else 1.0", "root = 1.0"),
        ("gram[2 * a] = squared", "gram[2 * a] = rest"),
    ],
    "a refresh forgets the length of what is left": [
        (
            "ridge.root[j] = np.sqrt(max(rest / (linear + rest), SMALLEST_SHARE))",
            "ridge.root[j] = np.sqrt(max(rest / (linear + rest), 0.5))",
        )
    ],
}


@pytest.mark.planted
@pytest.mark.parametrize("name", RELATIVE_BUGS)
def test_planted_bugs_of_a_relative_ridge_are_caught(name, tmp_path):
    worst = worst_t_with_bugs(tmp_path, [(RIDGE, RELATIVE_BUGS[name])], "geweke", ["a line", "2", "relative"])
    assert worst > 2 * LIMIT


@pytest.mark.planted
@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name, tmp_path):
    assert worst_t_with_bugs(tmp_path, [(GIBBS, BUGS[name])], "geweke", ["a line", "2"]) > 2 * LIMIT


@pytest.mark.planted
def test_a_bug_in_the_one_place_that_accepts_is_caught_here_too(tmp_path):
    """The tests of the annealed chain catch the same."""
    bugs = [("engine/kernels/target.py", ACCEPTS_TOO_MUCH)]
    assert worst_t_with_bugs(tmp_path, bugs, "geweke", ["a line", "2"]) > 2 * LIMIT
