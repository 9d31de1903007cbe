"""Chains of the posterior, and the blocks that they run in."""

import numpy as np
import pytest

from saltus import BayesianRegressor
from tests.equality import same
from tests.policies import with_policy


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_rows", [60, 3000])  # one proposal at a time, and several
def test_a_sampler_is_the_same_however_its_blocks_fall(data, n_rows):
    X, y = (np.resize(values, (n_rows, *values.shape[1:])) for values in data)
    X = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    model = BayesianRegressor("gaussian", n_iter=777, n_warmup=500, n_draws=3, k_max=40, n_chains=1, random_state=0)
    found = []
    for block_seconds in (0.0, 1e9):  # as short as can be, and four times as long as the last
        found.append(with_policy(model, block_seconds=block_seconds).fit(X, y).chains_)
    assert same(*found)
    assert found[0][0].moves["stretch"].accepted > 0
