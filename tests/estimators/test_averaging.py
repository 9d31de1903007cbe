"""Networks that predict together."""

import numpy as np
import pytest

from saltus import AnnealedRegressor
from saltus.engine.drivers.chain import N_DRAWS
from saltus.engine.search.policy import DEFAULT_POLICY

LONG = DEFAULT_POLICY.fewest_iterations_to_sample


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    return X, np.abs(X[:, 0] - 0.4) + X[:, 1] + 0.05 * rng.standard_normal(120)


def test_networks_drawn_at_temperature_one_predict_with_the_best(data):
    model = AnnealedRegressor("hinges", n_iter=LONG, n_chains=3, random_state=0).fit(*data)
    networks, log_posterior = [], []
    for chain in model.result_.chains:
        drawn = [snapshot for snapshot in chain.snapshots if snapshot.predicts]
        assert len(drawn) == N_DRAWS
        temperatures = np.interp([each.iteration for each in drawn], chain.trace.iteration, chain.trace.temperature)
        assert temperatures == pytest.approx(1.0)
        assert chain.trace.temperature[-1] < 0.1, "the rest is cooled"
        networks += [chain.best.network, *(snapshot.network for snapshot in drawn)]
        log_posterior += [chain.best.log_posterior, *(snapshot.log_posterior for snapshot in drawn)]
    # By the mean squared error that the criterion expects: twice log pi for each of 120 rows is minus its logarithm.
    weights = np.exp(np.array(log_posterior) - max(log_posterior)) ** (2 / 120)
    mean = np.average([network.predict(data[0])[:, 0] for network in networks], axis=0, weights=weights)
    assert model.predict(data[0]) == pytest.approx(mean)
    assert 0 < np.ptp(model.weights_) < 0.5 * model.weights_.max(), "with noise, all weigh about the same"


@pytest.mark.parametrize("options", [{"n_iter": LONG - 1}, {"n_iter": LONG, "schedule": "linear"}])
def test_short_rounds_and_schedules_of_ones_own_only_cool(data, options):
    model = AnnealedRegressor("hinges", n_chains=3, random_state=0, **options).fit(*data)
    assert {network.n_terms for network in model.networks_} == {chain.best.n_terms for chain in model.result_.chains}
    assert len(model.networks_) <= 3


def test_networks_that_are_the_same_count_together():
    rng = np.random.default_rng(0)
    X, y = rng.random((100, 5)), rng.standard_normal(100)
    model = AnnealedRegressor("auto", n_chains=3, random_state=0).fit(X, y)
    assert [network.n_terms for network in model.networks_] == [0]
    assert model.weights_ == pytest.approx([1.0])
