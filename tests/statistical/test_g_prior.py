"""Chains under a g-prior have the posterior they should.

|t| < 6 at 39 degrees of freedom fails by chance with probability 5e-7 for each of a dozen statistics.
"""

import numpy as np
import pytest

from saltus.engine.drivers.steppers import GStepper, Walk
from saltus.engine.kernels.chain import run_block
from saltus.engine.kernels.state import NEVER, Tuning, make_workspace, start_record, start_state
from saltus.engine.problem.span import GPrior, log_prior_of_size, span_criterion
from tests.statistical import flat_likelihood
from tests.statistical.exact_g import BUMPS, WAVES, make_tiny_design, probabilities, values_of_g

LIMIT = 6.0
N_CHAINS, N_STEPS, BETWEEN_LOOKS = 40, 24_000, 20


def sampled_shares(design, fixed):
    """Share of time spent at each k, by chain, and the mean of ln g."""
    shares, log_g = [], []
    for child in np.random.SeedSequence(1).spawn(N_CHAINS):
        rng = np.random.default_rng(child)
        stepper = GStepper(design, GPrior.of(design, 0.0, 0.0, fixed))
        problem = stepper.design.problem
        state = start_state(problem, design.linear.Q, design.Y, design.mixture.starting_shared)
        work, record = make_workspace(problem, state), start_record(state, 1)
        walk = Walk(rng, Tuning(0.15, 0.2, False), state, work, record)
        sizes, scales = [], []
        for done in range(0, N_STEPS, BETWEEN_LOOKS):
            stepper.run(walk, done, done + BETWEEN_LOOKS, afresh=False)
            sizes.append(int(state.terms.k[0]))
            scales.append(float(np.log(stepper.g[0])))
        shares.append(np.bincount(sizes[20:], minlength=design.k_max + 1) / len(sizes[20:]))
        log_g.append(np.mean(scales[20:]))
    return np.array(shares), np.array(log_g)


def t_values(sampled, expected):
    return (sampled.mean(axis=0) - expected) / (sampled.std(axis=0, ddof=1) / np.sqrt(len(sampled)))


@pytest.mark.parametrize(
    ("name", "fixed", "basis"),
    # Two waves fit some nine rows exactly, and all mass is there if g is free to be infinite.
    [
        ("nine rows", 20.0, BUMPS),
        ("nine weighted rows", None, BUMPS),
        ("nine rows", 20.0, WAVES),
        ("nine weighted rows", 5.0, WAVES),
    ],
)
def test_posterior_of_k_and_g_agrees_with_quadrature(name, fixed, basis):
    """Over the centres or frequencies, and over g where it is not given. Waves have two columns each."""
    design = make_tiny_design(name, basis)
    mass = probabilities(design, fixed)
    expected = mass.sum(axis=1)
    assert expected.min() > 0.02, "every k must matter"
    shares, log_g = sampled_shares(design, fixed)
    assert np.abs(t_values(shares, expected)).max() < LIMIT
    assert 0.5 * np.abs(shares.mean(axis=0) - expected).sum() < 0.02
    if fixed is None:
        assert abs(t_values(log_g, mass.sum(axis=0) @ np.log(values_of_g(design, fixed)))) < LIMIT


@pytest.mark.parametrize("counts_orders", [False, True])
def test_without_data_the_prior_of_k_comes_back(counts_orders):
    """It is geometric, cut at k_max; whether its k! are in the criterion, or counted by the chain."""
    design, k_max = flat_likelihood.make_flat_design("weights"), flat_likelihood.K_MAX
    criterion = span_criterion(k_max, 4, 0)
    if counts_orders:
        criterion = criterion._replace(by_size=0.5 * np.arange(k_max + 1))
    problem, tuning = design.problem._replace(criterion=criterion), Tuning(0.15, 0.1, False, NEVER, counts_orders)
    shares = []
    for child in np.random.SeedSequence(2).spawn(N_CHAINS):
        rng = np.random.default_rng(child)
        state = start_state(problem, design.linear.Q, design.Y, design.mixture.starting_shared)
        work, record = make_workspace(problem, state), start_record(state, N_STEPS)
        run_block(rng, problem, tuning, state, work, record, np.ones(N_STEPS), N_STEPS, 0, 1)
        shares.append(np.bincount(record.trace_k[500:], minlength=k_max + 1) / (N_STEPS - 500))
    expected = np.exp(-0.5 * np.arange(k_max + 1))
    assert np.abs(t_values(np.array(shares), expected / expected.sum())).max() < LIMIT


def test_the_prior_of_k_is_geometric_in_the_measure_of_sets():
    k = np.arange(6)
    orders = np.array([1, 1, 2, 6, 24, 120])
    np.testing.assert_allclose(np.exp(log_prior_of_size(5)), orders * np.exp(-0.5 * k))
