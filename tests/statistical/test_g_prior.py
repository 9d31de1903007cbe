"""Chains under a g-prior have the posterior they should.

|t| < 6 at 39 degrees of freedom fails by chance with probability 5e-7 for each of a dozen statistics.
"""

import numpy as np
import pytest

from saltus import Radial, Ridge
from saltus.engine.drivers.steppers import GStepper, Walk
from saltus.engine.kernels.chain import run_block
from saltus.engine.kernels.state import NEVER, Tuning, make_workspace, start_record, start_state
from saltus.engine.problem.span import GRID, LOG_PRIOR_OF_GRID, GPrior, log_prior_of_size, span_criterion
from saltus.families.terms import TermSet
from tests.engine.designs import make_with
from tests.problems import make_problem
from tests.statistical import exact_posterior, flat_likelihood

LIMIT = 6.0
N_CHAINS, N_STEPS, BETWEEN_LOOKS = 40, 24_000, 20


def make_tiny_design(name, k_max, basis):
    """Make the design of a problem with one input and few rows."""
    problem = make_problem(name, exact_posterior.SEED)
    return make_with(problem.X, problem.Y[:, :1], basis, span_criterion(k_max, 3, 0), weight=problem.weight)


def terms_with(design, parameters):
    """Make terms with one parameter each: the place of a bump, or the frequency of a wave in the only input."""
    k = len(parameters)
    choices = np.tile(np.array([[1, 0]]), (k, 1))[:, : design.mixture.n_choices]
    shared = design.mixture.starting_shared
    return TermSet(np.zeros(k, dtype=np.int64), choices, np.reshape(parameters, (-1, 1)), shared)


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


BUMPS, WAVES = Radial("gaussian", width=0.3, metric="euclidean"), Ridge("wave")


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
    k_max, n_grid = 2, 60
    design = make_tiny_design(name, k_max, basis)
    N, m_fixed, Q, y = design.problem.n_total, design.problem.m_fixed, design.linear.Q, design.Y[:, 0]
    rest = y - Q @ (Q.T @ y)
    tss = rest @ rest
    g = np.array([fixed]) if fixed else N * GRID
    log_prior_of_g = np.zeros(1) if fixed else LOG_PRIOR_OF_GRID

    def masses(*parameters):
        """p(y | terms, g) p(g) p(k), for every g."""
        k, n_columns, rss = len(parameters), 0, tss
        if parameters:
            new = design.columns(terms_with(design, parameters))
            new = np.linalg.qr(new - Q @ (Q.T @ new))[0]
            n_columns, rss = new.shape[1], tss - ((new.T @ y) ** 2).sum()
        log_fit = -0.5 * n_columns * np.log1p(g) - 0.5 * (N - m_fixed) * np.log((tss + g * rss) / (1 + g))
        # In the measure of sets: exp(-k/2) for each of the k! orders.
        return np.exp(log_fit + log_prior_of_g - 0.5 * k)

    grid = (np.arange(n_grid) + 0.5) / n_grid
    pairs = [masses(a, b) for i, a in enumerate(grid) for b in grid[:i]]
    together = [masses(a, a + 1 / (3 * n_grid)) for a in grid]
    mass = np.array(
        [
            masses(),
            np.mean([masses(a) for a in grid], axis=0),
            (2.0 * np.sum(pairs, axis=0) + np.sum(together, axis=0)) / n_grid**2,
        ]
    )
    mass /= mass.sum()
    expected = mass.sum(axis=1)
    assert expected.min() > 0.02, "every k must matter"
    shares, log_g = sampled_shares(design, fixed)
    assert np.abs(t_values(shares, expected)).max() < LIMIT
    assert 0.5 * np.abs(shares.mean(axis=0) - expected).sum() < 0.02
    if fixed is None:
        assert abs(t_values(log_g, mass.sum(axis=0) @ np.log(g))) < LIMIT


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
