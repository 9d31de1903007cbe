"""A chain with a learned metric and no data must return its prior.

k is Poisson(2) cut at k_max, each set of inputs is as likely as another (but the empty one where there are basis
functions, which would all be constant), and the logarithms of the relevances that are not 0 are uniform. Run as a
script it prints the worst |t|; a test runs it on copies with planted bugs.
"""

from math import factorial

import numpy as np

from saltus.engine.kernels.chain import Tuning, run_learned_block, start_record, start_state
from saltus.engine.problem.design import Box, FixedPart, make_design
from saltus.engine.search.starts import place_centers
from saltus.families import Radial

D, K_MAX, MEAN = 2, 4, 2.0
STEPS_BETWEEN_LOOKS = 20
HALF_RANGE = np.log(100.0)

SIZES = np.arange(K_MAX + 1)
N_SETS = np.where(SIZES == 0, 2**D, 2**D - 1)
PRIOR = np.array([MEAN**k / factorial(k) for k in SIZES]) * N_SETS
PRIOR /= PRIOR.sum()


def make_flat_design():
    X = np.random.default_rng(0).random((80, D))
    weight = np.ones(len(X))
    box = Box.around(X, 0.0)
    fixed = FixedPart.of(box.to_unit(X), weight)
    penalty = np.tile(-SIZES[:, None] * np.log(MEAN), (1, D + 1))
    # r has no scale of its own, so that no relevance makes columns depend on each other.
    design = make_design(
        X, X[:, :1], weight, box=box, fixed=fixed, basis=Radial("linear"), metric="learned", penalty=penalty
    )
    object.__setattr__(design, "target", design.target._replace(n_total=0.0))
    return design


def statistics(k, centers, relevance):
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
        ((centers[:, 0] - 0.5) ** 2).sum(),
    ]


def expected_statistics():
    n_on = D * 2 ** (D - 1) / N_SETS  # given k
    mean_on = PRIOR @ n_on
    return np.array(
        [
            PRIOR @ SIZES,
            PRIOR[0],
            mean_on,
            mean_on / D,
            PRIOR[0] * n_on[0],
            0.0,
            mean_on * HALF_RANGE**2 / 3,
            mean_on * 0.1,
            PRIOR @ SIZES / 12,
        ]
    )


def t_values(*, n_chains, n_looks, seed=0):
    """Student's t of each statistic, over independent chains that start from exact draws of the prior."""
    design = make_flat_design()
    means = []
    for generator in np.random.SeedSequence([seed]).spawn(n_chains):
        rng = np.random.default_rng(generator)
        k = rng.choice(K_MAX + 1, p=PRIOR)
        on = rng.random(D) < 0.5
        while k > 0 and not on.any():
            on = rng.random(D) < 0.5
        relevance = np.where(on, np.exp(rng.uniform(-HALF_RANGE, HALF_RANGE, D)), 0.0)
        state = start_state(design.target, design.fixed.Q, design.Y)
        place_centers(design, state, rng.random((k, D)), relevance)
        record = start_record(state, n_looks * STEPS_BETWEEN_LOOKS)
        tuning = Tuning(0.15, 0.1, True, steps_between_metric_moves=4)
        seen = []
        for look in range(n_looks):
            first = look * STEPS_BETWEEN_LOOKS
            temperature = np.ones(STEPS_BETWEEN_LOOKS)
            run_learned_block(rng, design.target, tuning, state, record, temperature, STEPS_BETWEEN_LOOKS, first, 1)
            seen.append(statistics(state.k[0], state.centers[: state.k[0]], state.relevance))
        assert (record.counts[:, 2] > 0).all(), "every move must have been accepted"
        means.append(np.mean(seen, axis=0))
    means = np.array(means)
    error = means.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return (means.mean(axis=0) - expected_statistics()) / error


if __name__ == "__main__":
    print(np.abs(t_values(n_chains=100, n_looks=400)).max())
