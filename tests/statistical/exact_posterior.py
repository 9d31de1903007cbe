"""p(k) of a tiny problem, by quadrature over the centres and by the chain.

Run as a script it prints the worst |t| over k; a test runs it on copies with planted bugs.
"""

import sys

import numpy as np

from saltus.engine.kernels.chain import Tuning, run_block, start_record, start_state
from saltus.engine.problem.design import Box, FixedPart, make_design
from saltus.families import Radial
from tests.reference import ReferenceChain

K_MAX, PENALTY, BURN_IN = 2, 1.0, 500


def make_tiny_design():
    rng = np.random.default_rng(8)
    X = np.sort(rng.random((9, 1)), axis=0)
    Y = np.hstack([np.sin(4 * X), np.cos(5 * X)]) + 0.8 * rng.standard_normal((9, 2))
    weight = np.ones(len(X))
    box = Box.around(X, 0.1)
    fixed = FixedPart.of(box.to_unit(X), weight)
    basis = Radial("gaussian", width=0.3)
    penalty = PENALTY * np.arange(K_MAX + 1)
    return X, make_design(X, Y, weight, box=box, fixed=fixed, basis=basis, metric="euclidean", penalty=penalty)


def quadrature(temperature, n_grid=80):
    """p(k) of pi^(1/T) on sets of centres: 1/k! times the integral over the cube."""
    X, design = make_tiny_design()
    chain = ReferenceChain(
        X=design.box.to_unit(X),
        Y=design.Y[: len(X)],
        to_metric=design.target.to_metric,
        basis="gaussian",
        penalty=design.target.penalty,
        split_scale=0.1,
        walk_scale=0.1,
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


def sampled(two_stage, temperature, *, n_chains, n_steps, seed=0):
    """Shares of time spent at each k, (n_chains, K_MAX + 1)."""
    _, design = make_tiny_design()
    shares = []
    for generator in np.random.SeedSequence(seed).spawn(n_chains):
        state = start_state(design.target, design.fixed.Q, design.Y)
        record = start_record(state, n_steps)
        run_block(
            np.random.default_rng(generator),
            design.target,
            Tuning(0.1, 0.2, two_stage),
            state,
            record,
            np.full(n_steps, temperature),
            n_steps,
            0,
            1,
        )
        shares.append(np.bincount(record.trace_k[BURN_IN:], minlength=K_MAX + 1) / (n_steps - BURN_IN))
    return np.array(shares)


def t_values(two_stage, temperature, *, n_chains, n_steps):
    """Student's t of each p(k), over independent chains."""
    shares = sampled(two_stage, temperature, n_chains=n_chains, n_steps=n_steps)
    error = shares.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return (shares.mean(axis=0) - quadrature(temperature)) / error


if __name__ == "__main__":
    print(np.abs(t_values(sys.argv[1] == "two-stage", float(sys.argv[2]), n_chains=40, n_steps=20_000)).max())
