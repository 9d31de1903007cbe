"""A chain with no data must return its prior: Poisson(3) cut at k_max for k, uniform centres.

Run as a script it prints the worst |t| over the statistics; a test runs it on copies with planted bugs.
"""

import sys
from math import factorial

import numpy as np

from saltus import Radial
from saltus.engine.kernels.chain import run_block
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.search.starts import set_terms
from tests.engine.designs import make_with, terms_at, without_likelihood
from tests.problems import make_problem

K_MAX, MEAN, SPLIT_SCALE = 8, 3.0, 0.15
STEPS_BETWEEN_LOOKS = 20
NEAR, EDGE = 0.1, 0.01

PRIOR = np.array([MEAN**k / factorial(k) for k in range(K_MAX + 1)])
PRIOR /= PRIOR.sum()


def make_flat_design(name, *, own_widths=False, width=None):
    """Make the design of a problem, without its likelihood."""
    problem = make_problem(name, n_rows=2000 if own_widths else 150)
    # Narrow enough for near-collinear columns, which are refused, to be rare; wide enough to be seen.
    if width is None:
        width = 0.07 if own_widths else 0.17 * np.linalg.matrix_rank(problem.X - problem.X.mean(axis=0))
    radial = Radial("gaussian", width, metric="standardized", widths="own" if own_widths else "shared")
    penalty = -np.arange(K_MAX + 1) * np.log(MEAN)
    design = make_with(problem.X, problem.Y, radial, penalty, weight=problem.weight, margin=0.0, ridge=True)
    return without_likelihood(design)


def statistics(parameters):
    """Functions of a state, whose means under the prior are `expected_statistics`."""
    k = len(parameters)
    x = parameters[:, -1]
    difference = (parameters[:, None] - parameters[None])[np.triu_indices(k, 1)]
    near = np.abs(difference).max(axis=1, initial=0.0) < NEAR
    slant = [np.sign(difference[near, 0] * difference[near, 1]).sum()] if parameters.shape[1] > 1 else []
    return [
        *slant,
        k,
        k**2,
        k == 0,
        k == K_MAX,
        (x - 0.5).sum(),
        ((x - 0.5) ** 2).sum(),
        ((x < EDGE) | (x > 1 - EDGE)).sum(),
        near.sum(),
    ]


def expected_statistics(p):
    k = np.arange(K_MAX + 1)
    mean_k, mean_pairs = PRIOR @ k, PRIOR @ (k * (k - 1) / 2)
    near = (1 - (1 - NEAR) ** 2) ** p
    slant = [0.0] if p > 1 else []
    return np.array(
        [
            *slant,
            mean_k,
            PRIOR @ k**2,
            PRIOR[0],
            PRIOR[K_MAX],
            0.0,
            mean_k / 12,
            mean_k * 2 * EDGE,
            mean_pairs * near,
        ]
    )


def t_values(name, *, n_chains, n_looks, seed=0, own_widths=False):
    """Student's t of each statistic, over independent chains that start from exact draws of the prior."""
    design = make_flat_design(name, own_widths=own_widths)
    p = design.mixture.n_parameters
    tuning, temperature = Tuning(SPLIT_SCALE, 0.1, True), np.ones(STEPS_BETWEEN_LOOKS)
    means = []
    for generator in np.random.SeedSequence([seed, p]).spawn(n_chains):
        rng = np.random.default_rng(generator)
        state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
        set_terms(design, state, terms_at(design, rng.random((rng.choice(K_MAX + 1, p=PRIOR), p))))
        work, record = make_workspace(design.problem, state), start_record(state, n_looks * STEPS_BETWEEN_LOOKS)
        seen = []
        for look in range(n_looks):
            first = look * STEPS_BETWEEN_LOOKS
            run_block(rng, design.problem, tuning, state, work, record, temperature, STEPS_BETWEEN_LOOKS, first, 1)
            seen.append(statistics(state.terms.parameters[: state.terms.k[0]]))
        assert (record.counts[:5, 2] > 0).all(), "every move must have been accepted"
        means.append(np.mean(seen, axis=0))
    means = np.array(means)
    error = means.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return (means.mean(axis=0) - expected_statistics(p)) / error


if __name__ == "__main__":
    print(np.abs(t_values(sys.argv[1], n_chains=100, n_looks=500, own_widths="own-widths" in sys.argv)).max())
