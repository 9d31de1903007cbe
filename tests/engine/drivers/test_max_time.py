"""Samplers that max_time ends."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from saltus import BayesianRegressor, EarlyEndWarning
from saltus.engine.drivers.sample import share_time
from saltus.report.recipe import recipe_caveats
from tests.equality import same

ENDLESS = {"n_iter": 10**7, "n_draws": 10**5, "n_chains": 2, "random_state": 0}


@pytest.fixture
def compiled(data):
    """Compile the sampler, so that no time goes into that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        BayesianRegressor("gaussian", n_iter=10, n_draws=5).fit(*data)


@pytest.fixture
def ticks(monkeypatch):
    """Let the clock of the sampler go on by 100 s when it is looked at, so that nothing depends on the machine."""
    monkeypatch.setattr("saltus.engine.drivers.sample.monotonic", itertools.count(step=100).__next__)


@pytest.mark.usefixtures("compiled")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "error::saltus.EarlyEndWarning")
def test_max_time_ends_chains_on_threads(data):
    model = BayesianRegressor("gaussian", **ENDLESS, n_warmup=100, max_time=2.0, n_jobs=2).fit(*data)
    assert model.status_.startswith("Stopped by max_time after 2 s, with ")
    assert np.isfinite(model.predict(data[0])).all()


@pytest.mark.usefixtures("ticks")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "error::saltus.EarlyEndWarning")
def test_max_time_ends_a_sampler_with_the_draws_so_far(data):
    model = BayesianRegressor("gaussian", **ENDLESS, n_warmup=100, max_time=40_000).fit(*data)
    n_draws = len(model.chains_[0].draws)
    assert len(model.chains_) == 2  # though the second has to wait for the first
    assert 10 < n_draws <= 200
    assert model.status_.startswith(f"Stopped by max_time after 40000 s, with 2 chains of {n_draws} draws. ")
    assert "n_iter" not in model.status_
    assert np.isfinite(model.predict_interval(data[0])).all()
    caveats = " ".join(recipe_caveats(model))
    assert "max_time was set" in caveats
    assert "ended early" not in caveats


@pytest.mark.usefixtures("ticks")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "error::saltus.EarlyEndWarning")
def test_a_warm_up_that_was_not_asked_for_takes_a_third_of_max_time(data):
    model = BayesianRegressor("gaussian", **ENDLESS, max_time=60_000).fit(*data)
    assert len(model.chains_) == 2
    assert 10 < len(model.chains_[0].draws) <= 200  # of 300 ticks for each chain
    assert model.status_.startswith("Stopped by max_time")


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("max_time", "n_warmup"), [(0.5, 10**8), (1e-9, None)])
def test_max_time_in_warm_up_keeps_the_states_that_chains_are_in(data, max_time, n_warmup):
    model = BayesianRegressor("gaussian", **ENDLESS, n_warmup=n_warmup, max_time=max_time)
    with pytest.warns(
        EarlyEndWarning, match=r"Stopped by max_time after .* s: .* in warm-up, .* unconverged"
    ) as caught:
        model.fit(*data)
    assert [str(each.message) for each in caught] == [model.status_]
    assert caught[0].filename == __file__
    assert np.isfinite(model.predict(data[0])).all()


@pytest.mark.usefixtures("ticks")
def test_too_few_draws_by_max_time_are_warned_of(data):
    model = BayesianRegressor(
        "gaussian", n_iter=1000, n_warmup=0, n_draws=100, n_chains=1, max_time=350, random_state=0
    )
    with pytest.warns() as caught:
        model.fit(*data)
    assert {each.category for each in caught} == {EarlyEndWarning, ConvergenceWarning}
    assert any("too few to judge convergence by. Raise max_time." in str(each.message) for each in caught)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_time_to_spare_changes_nothing(data):
    model = BayesianRegressor("gaussian", n_iter=2000, n_draws=20, n_chains=2, random_state=0)
    whole = model.fit(*data).chains_
    timed = model.set_params(max_time=600).fit(*data)
    assert same(timed.chains_, whole)
    assert "max_time" not in timed.status_


@pytest.mark.usefixtures("compiled")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::saltus.EarlyEndWarning")
@pytest.mark.parametrize(("basis", "n_warmup"), [("gaussian", 10_000), ("gaussian", None), ("hinges", None)])
def test_a_sampler_ended_by_max_time_goes_on_from_its_checkpoint(data, tmp_path, basis, n_warmup):
    path = tmp_path / "run.ckpt"
    model = BayesianRegressor(basis, n_iter=200_000, n_warmup=n_warmup, n_draws=200, n_chains=2, random_state=0)
    whole = model.fit(*data).chains_
    cut = model.set_params(max_time=0.5).fit(*data, checkpoint=path, checkpoint_every=0)
    assert "Stopped by max_time" in cut.status_
    assert same(model.set_params(max_time=None).fit(*data, resume=path).chains_, whole)


def test_chains_in_turn_share_the_time():
    first, second, third = share_time(6.0, 3, 2)
    assert first == second == third - 3.0
    assert share_time(None, 2, 1) == [np.inf] * 2
