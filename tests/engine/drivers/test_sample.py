"""Chains of the posterior, and the blocks that they run in."""

import tracemalloc

import numpy as np
import pytest

from saltus import BayesianRegressor
from saltus.engine.drivers import sample
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


@pytest.mark.parametrize(("n_warmup", "between", "n_total"), [(7, 3, 40), (0, 1, 5), (25_000, 700, 46_000), (5, 9, 14)])
def test_a_chain_stops_where_it_is_drawn_from_and_where_its_factor_is_built_anew(n_warmup, between, n_total):
    halts = {*range(between, n_warmup, between), *range(n_warmup, n_total + 1, between)} - {0}
    rebuilds = set(range(10_000, n_total, 10_000))
    stops, done = [], 0
    while (done := sample.next_stop(done, n_warmup, between, n_total)) is not None:
        stops.append(done)
    assert stops == sorted(halts | rebuilds)
    assert [i for i in stops if sample.is_drawn_at(i, n_warmup, between)] == sorted(halts)
    assert [i for i in stops if sample.is_rebuilt_at(i, n_total)] == sorted(rebuilds)


def test_iterations_without_end_take_no_memory():
    tracemalloc.start()
    assert sample.next_stop(10**13, 10**14, 10**9, 10**15) == 10**13 + 10_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000
