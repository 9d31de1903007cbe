"""p(k) of a tiny problem, by quadrature over the centres and by the chain.

Run as a script it prints the worst |t| over k; a test runs it on copies with planted bugs.
"""

import sys

import numpy as np

from saltus import Radial
from saltus.engine.kernels.chain import run_block
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from tests.engine.designs import make_with, radial_of
from tests.problems import make_problem
from tests.reference import ReferenceChain

K_MAX, COST, BURN_IN = 2, 1.0, 500
SEED = 2  # of rows where every k has a share of the posterior, hot and cold


def make_tiny_design(name):
    """Make the design of a problem with one input and few rows."""
    problem = make_problem(name, SEED)
    radial = Radial("gaussian", width=0.3, metric="euclidean")
    return problem, make_with(problem.X, problem.Y, radial, COST * np.arange(K_MAX + 1), weight=problem.weight)


def quadrature(name, temperature, n_grid=80):
    """p(k) of pi^(1/T) on sets of centres: 1/k! times the integral over the cube."""
    problem, design = make_tiny_design(name)
    chain = ReferenceChain(
        X=design.box.to_unit(problem.X),
        Y=design.Y[: len(problem.X)] / np.sqrt(problem.weight)[:, None],
        to_metric=radial_of(design).to_metric,
        basis="gaussian",
        penalty=lambda k, _: COST * k,
        k_max=K_MAX,
        split_scale=0.1,
        walk_scale=0.1,
        weight=problem.weight,
    )
    grid = (np.arange(n_grid) + 0.5) / n_grid
    apart = [(a, b, 1.0) for i, a in enumerate(grid) for b in grid[:i]]
    # A cell on the diagonal is halved; two points of one half of it are a third of its side apart on average.
    together = [(a, a + 1 / (3 * n_grid), 0.5) for a in grid]
    cells = [
        [(chain.log_density(np.empty((0, 1))), 1.0)],
        [(chain.log_density(np.array([[a]])), 1.0) for a in grid],
        [(chain.log_density(np.array([[a], [b]])), volume) for a, b, volume in apart + together],
    ]
    shift = max(value for values in cells for value, _ in values)
    mass = np.array(
        [
            sum(volume * np.exp((value - shift) / temperature) for value, volume in values) / n_grid**k
            for k, values in enumerate(cells)
        ]
    )
    return mass / mass.sum()


def sampled(name, two_stage, temperature, *, n_chains, n_steps, seed=0):
    """Shares of time spent at each k, (n_chains, K_MAX + 1)."""
    _, design = make_tiny_design(name)
    tuning, temperatures = Tuning(0.1, 0.2, two_stage), np.full(n_steps, temperature)
    shares = []
    for generator in np.random.SeedSequence(seed).spawn(n_chains):
        rng = np.random.default_rng(generator)
        state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
        work, record = make_workspace(design.problem, state), start_record(state, n_steps)
        run_block(rng, design.problem, tuning, state, work, record, temperatures, n_steps, 0, 1)
        shares.append(np.bincount(record.trace_k[BURN_IN:], minlength=K_MAX + 1) / (n_steps - BURN_IN))
    return np.array(shares)


def t_values(name, two_stage, temperature, *, n_chains, n_steps):
    """Student's t of each p(k), over independent chains."""
    shares = sampled(name, two_stage, temperature, n_chains=n_chains, n_steps=n_steps)
    error = shares.std(axis=0, ddof=1) / np.sqrt(n_chains)
    expected = quadrature(name, temperature)
    assert expected.min() > 0.05, "every k must matter"
    return (shares.mean(axis=0) - expected) / error


if __name__ == "__main__":
    name, rule, temperature = sys.argv[1:]
    print(np.abs(t_values(name, rule == "two-stage", float(temperature), n_chains=40, n_steps=20_000)).max())
