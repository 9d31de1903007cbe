"""Hops are made where the search has time, and go on from where they were."""

from itertools import pairwise

import numpy as np
import pytest

from saltus import AnnealedRegressor, EarlyEndWarning, Radial
from saltus.engine.drivers import hopping
from saltus.engine.search.hops import hop
from tests.engine.designs import make
from tests.equality import same
from tests.policies import with_policy


@pytest.fixture
def data(rng):
    X = rng.random((80, 3))
    return X, np.sin(6 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(80)


ONE_WIDTH = Radial("gaussian", widths="shared")


def in_short_rounds(basis="gaussian", **options):
    """Make a model that searches in rounds of 1000 iterations."""
    return with_policy(AnnealedRegressor(basis, random_state=0, **options), iterations_a_round=1000)


@pytest.fixture
def hops(monkeypatch):
    """Count the hops of fits."""
    calls = []
    monkeypatch.setattr(hopping, "hop", lambda *arguments: calls.append(1) or hop(*arguments))
    return calls


def test_hops_are_made_in_longer_rounds_alone(data, hops):
    in_short_rounds(n_chains=2, patience=1).fit(*data)
    assert not hops, "the default ends with the first round without an improvement"
    in_short_rounds(n_chains=2, n_iter=5000).fit(*data)
    in_short_rounds(n_chains=2, patience=3, polish=False).fit(*data)
    assert not hops
    fits = [in_short_rounds(n_chains=2, patience=3, n_jobs=n_jobs).fit(*data) for n_jobs in (1, 2)]
    assert hops
    assert fits[0].log_posterior_ == fits[1].log_posterior_


def test_a_callback_ends_hops(data, hops):
    when_asked = []

    def enough(progress):
        when_asked.append(len(hops))
        return len(hops) > 3

    with pytest.warns(EarlyEndWarning, match="callback"):
        in_short_rounds(n_chains=1, patience=10**6).fit(*data, callback=enough)
    assert len(hops) == when_asked[-1]


@pytest.fixture
def compiled(data, hops):
    """Compile what a fit by the clock runs, which would use up its time."""
    in_short_rounds(ONE_WIDTH, n_chains=1, patience=3).fit(*data)
    assert hops


@pytest.mark.usefixtures("compiled")
def test_time_alone_ends_a_fit(data, monkeypatch):
    """One round is annealed, and hops go on from where they were, from turn to turn, until time is over."""
    log = []

    def noted(rng, landscape, at, cost, go_on):
        log.append((at, hop(rng, landscape, at, cost, go_on), landscape))
        return log[-1][1]

    monkeypatch.setattr(hopping, "hop", noted)
    model = in_short_rounds(ONE_WIDTH, n_chains=1, patience=None, max_time=2.0).fit(*data)
    assert model.result_.status.startswith("The search stopped: its time limit (max_time) of 2 s was over.")
    assert model.n_iter_ == 1000
    assert len({id(landscape) for _, _, landscape in log}) > 3, "turns"
    for (at, found, _), (then, _, _) in pairwise(log):
        assert any(same(then.terms, candidate.terms) for candidate in (at, found))
    taken = np.mean([then[0].terms.parameters is not at.terms.parameters for (at, _, _), then in pairwise(log)])
    assert 0 < taken < 1
    best = max(found.log_posterior for _, found, _ in log)
    assert model.log_posterior_ >= best + make(*data, widths="shared").log_posterior_shift - 1e-6


@pytest.mark.parametrize("options", [{"patience": 3}, {"patience": None, "max_time": 0.3}])
def test_no_terms_no_hops(data, options):
    model = with_policy(
        AnnealedRegressor("gaussian", k_max=0, n_chains=1, random_state=0, **options), iterations_a_round=200
    )
    model.fit(*data)
    assert model.n_terms_ == 0


@pytest.mark.usefixtures("compiled")
def test_hops_tell_how_they_are_going(data):
    """Also with a schedule that knows no rounds without iterations."""

    class Falling:
        def temperature(self, iteration, n_iter):
            return 1.0 - 0.9 * (iteration / n_iter)

    told = []
    model = in_short_rounds(n_chains=1, schedule=Falling(), patience=None, max_time=1.5)
    model.fit(*data, callback=told.append)
    assert [progress.best for progress in told] == sorted(progress.best for progress in told)
    assert all(0 <= progress.acceptance <= 1 for progress in told)
    heats = [progress.temperature for progress in told[len(told) // 2 :]]
    assert len(set(heats[-5:])) > 1
    assert 0 < heats[-1] < heats[0]
    assert Falling().temperature(0, 1) not in heats, "a turn of hops is not annealed"


def test_without_patience_or_time_there_is_no_end(data):
    with pytest.raises(ValueError, match="goes on until max_time, which is None"):
        AnnealedRegressor("gaussian", patience=None).fit(*data)
    AnnealedRegressor("gaussian", patience=None, n_iter=100, n_chains=1).fit(*data)
    annealed = AnnealedRegressor(ONE_WIDTH, patience=None, max_time=0.5, polish=False, n_chains=1).fit(*data)
    assert annealed.n_iter_ > 20_000, "without descents there are no hops"
