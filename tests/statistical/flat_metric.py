"""A chain with a learned metric and no data must return its prior.

k is Poisson(2) cut at k_max, each set of inputs is as likely as another (but the empty one where there are terms,
which would all be constant), and the logarithms of the relevances that are not 0 are uniform. Run as a
script it prints the worst |t|; a test runs it on copies with planted bugs.
"""

import sys
from math import factorial

import numpy as np

from saltus import Radial
from saltus.engine.kernels.chain import run_block_with_shared_moves
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.search.starts import set_terms
from tests.engine.designs import make_with, terms_at, without_likelihood
from tests.problems import make_problem

K_MAX, MEAN = 4, 2.0
STEPS_BETWEEN_LOOKS = 20
HALF_RANGE = np.log(100.0)

SIZES = np.arange(K_MAX + 1)


def make_flat_design(name):
    problem = make_problem(name, n_rows=80)
    # r has no scale of its own, so that no relevance makes columns depend on each other.
    radial, penalty = Radial("linear", metric="learned"), -SIZES * np.log(MEAN)
    return without_likelihood(make_with(problem.X, problem.Y, radial, penalty, weight=problem.weight, margin=0.0))


def count_sets(d):
    """Count the sets of inputs that may be switched on, given k."""
    return np.where(SIZES == 0, 2**d, 2**d - 1)


def prior_of_size(d):
    mass = np.array([MEAN**k / factorial(k) for k in SIZES]) * count_sets(d)
    return mass / mass.sum()


def statistics(k, parameters, relevance):
    on = relevance > 0
    logs = np.log(relevance[on])
    return [
        k,
        k == 0,
        on.sum(),
        on[0],
        on.sum() * (k == 0),
        logs.sum(),
        (logs**2).sum(),
        (logs > 0.8 * HALF_RANGE).sum(),
        ((parameters[:, 0] - 0.5) ** 2).sum(),
    ]


def expected_statistics(d):
    prior = prior_of_size(d)
    n_on = d * 2 ** (d - 1) / count_sets(d)  # given k
    mean_on = prior @ n_on
    return np.array(
        [
            prior @ SIZES,
            prior[0],
            mean_on,
            mean_on / d,
            prior[0] * n_on[0],
            0.0,
            mean_on * HALF_RANGE**2 / 3,
            mean_on * 0.1,
            prior @ SIZES / 12,
        ]
    )


def draw_from_prior(rng, d):
    """Draw k, and which inputs are on, and their relevances."""
    k = rng.choice(K_MAX + 1, p=prior_of_size(d))
    on = rng.random(d) < 0.5
    while k > 0 and not on.any():
        on = rng.random(d) < 0.5
    return k, np.where(on, np.exp(rng.uniform(-HALF_RANGE, HALF_RANGE, d)), 0.0)


def t_values(name, *, n_chains, n_looks, seed=0):
    """Student's t of each statistic, over independent chains that start from exact draws of the prior."""
    design = make_flat_design(name)
    d = design.mixture.n_parameters
    tuning = Tuning(0.15, 0.1, True, steps_between_shared_moves=4)
    temperature = np.ones(STEPS_BETWEEN_LOOKS)
    means = []
    for generator in np.random.SeedSequence([seed]).spawn(n_chains):
        rng = np.random.default_rng(generator)
        k, relevance = draw_from_prior(rng, d)
        state = start_state(design.problem, design.linear.Q, design.Y, relevance)
        set_terms(design, state, terms_at(design, rng.random((k, d)), relevance))
        work, record = make_workspace(design.problem, state), start_record(state, n_looks * STEPS_BETWEEN_LOOKS)
        seen = []
        for look in range(n_looks):
            first = look * STEPS_BETWEEN_LOOKS
            run_block_with_shared_moves(
                rng, design.problem, tuning, state, work, record, temperature, STEPS_BETWEEN_LOOKS, first, 1
            )
            terms = state.terms
            seen.append(statistics(terms.k[0], terms.parameters[: terms.k[0]], terms.shared))
        assert (record.counts[:, 2] > 0).all(), "every move must have been accepted"
        means.append(np.mean(seen, axis=0))
    means = np.array(means)
    error = means.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return (means.mean(axis=0) - expected_statistics(d)) / error


if __name__ == "__main__":
    print(np.abs(t_values(sys.argv[1], n_chains=100, n_looks=400)).max())
