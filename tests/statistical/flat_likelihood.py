"""A chain with no data must return its prior: Poisson(3) cut at k_max for k, uniform centres.

Run as a script it prints the worst |t| over the statistics; a test runs it on copies with planted bugs.
"""

import sys
from math import factorial

import numpy as np

from saltus.engine.kernels.chain import Tuning, run_block, start_record, start_state
from saltus.engine.problem.design import Box, FixedPart, make_design
from saltus.engine.search.starts import place_centers
from saltus.families import Radial

K_MAX, MEAN, SPLIT_SCALE = 8, 3.0, 0.15
STEPS_BETWEEN_LOOKS = 20
NEAR, EDGE = 0.1, 0.01

PRIOR = np.array([MEAN**k / factorial(k) for k in range(K_MAX + 1)])
PRIOR /= PRIOR.sum()


def make_flat_design(d, *, own_widths=False):
    """Centres have d coordinates, the last of them that of their width if it is their own."""
    d -= own_widths
    X = np.random.default_rng(d).random((2000 if own_widths else 150, d))
    weight = np.ones(len(X))
    box = Box.around(X, 0.0)
    fixed = FixedPart.of(box.to_unit(X), weight)
    penalty = -np.arange(K_MAX + 1) * np.log(MEAN)
    # Narrow enough for near-collinear columns, which are refused, to be rare; wide enough to be seen.
    basis = Radial("gaussian", width=0.02 if own_widths else 0.05 * d)
    design = make_design(
        X,
        X[:, :1],
        weight,
        box=box,
        fixed=fixed,
        basis=basis,
        metric="euclidean",
        penalty=penalty,
        own_widths=own_widths,
    )
    object.__setattr__(design, "target", design.target._replace(n_total=0.0))
    return design


def statistics(centers):
    """Functions of a state, whose means under the prior are `expected_statistics`."""
    k = len(centers)
    x = centers[:, -1]
    difference = (centers[:, None] - centers[None])[np.triu_indices(k, 1)]
    near = np.abs(difference).max(axis=1, initial=0.0) < NEAR
    slant = [np.sign(difference[near, 0] * difference[near, 1]).sum()] if centers.shape[1] > 1 else []
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


def expected_statistics(d):
    k = np.arange(K_MAX + 1)
    mean_k, mean_pairs = PRIOR @ k, PRIOR @ (k * (k - 1) / 2)
    near = (1 - (1 - NEAR) ** 2) ** d
    slant = [0.0] if d > 1 else []
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


def t_values(d, *, n_chains, n_looks, seed=0, own_widths=False):
    """Student's t of each statistic, over independent chains that start from exact draws of the prior."""
    design = make_flat_design(d, own_widths=own_widths)
    means = []
    for generator in np.random.SeedSequence([seed, d]).spawn(n_chains):
        rng = np.random.default_rng(generator)
        state = start_state(design.target, design.fixed.Q, design.Y)
        place_centers(design, state, rng.random((rng.choice(K_MAX + 1, p=PRIOR), d)))
        record = start_record(state, n_looks * STEPS_BETWEEN_LOOKS)
        temperature = np.ones(STEPS_BETWEEN_LOOKS)
        seen = []
        for look in range(n_looks):
            run_block(
                rng,
                design.target,
                Tuning(SPLIT_SCALE, 0.1, True),
                state,
                record,
                temperature,
                STEPS_BETWEEN_LOOKS,
                look * STEPS_BETWEEN_LOOKS,
                1,
            )
            seen.append(statistics(state.centers[: state.k[0]]))
        assert (record.counts[:5, 2] > 0).all(), "every move must have been accepted"
        means.append(np.mean(seen, axis=0))
    means = np.array(means)
    error = means.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return (means.mean(axis=0) - expected_statistics(d)) / error


if __name__ == "__main__":
    print(np.abs(t_values(int(sys.argv[1]), n_chains=100, n_looks=500, own_widths="own-widths" in sys.argv)).max())
