"""Chains round after round, where rows are many: short rounds, few descents, values as good as the same."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning
from saltus.engine.drivers import sample
from saltus.engine.drivers.anneal import restart_if_behind
from saltus.engine.drivers.chain import Chain, Settings
from saltus.engine.results.chains import AnnealResult
from saltus.engine.search import pruning
from saltus.engine.search.policy import SearchPolicy
from saltus.engine.search.pruning import descend
from tests.engine.designs import make
from tests.many import FEW, N_ROWS
from tests.policies import with_policy

A_ROUND = SearchPolicy().iterations_a_round


@pytest.mark.parametrize("regressor", [AnnealedRegressor, BayesianRegressor])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_with_many_rows_find_the_function(many_rows, regressor, monkeypatch):
    X, y = many_rows
    seen = []

    def descend_and_note(landscape, *arguments, **options):
        seen.append(landscape.n_rows)
        return descend(landscape, *arguments, **options)

    for module in (pruning, sample):
        monkeypatch.setattr(module, "descend", descend_and_note)
    model = with_policy(regressor("gaussian", random_state=0, n_iter=1000, n_chains=1), FEW).fit(X, y)
    assert list(dict.fromkeys(seen)) == [100, 400, N_ROWS]
    assert model.score(X, np.sin(6 * X[:, 0])) > 0.99


def test_a_fit_with_many_rows_runs_in_short_rounds(many_rows):
    policy = replace(FEW, most_rows_of_long_rounds=N_ROWS // 20)
    model = with_policy(AnnealedRegressor("gaussian", random_state=0, n_chains=2), policy).fit(*many_rows)
    assert model.n_iter_ % (A_ROUND // 20) == 0
    assert model.n_iter_ < A_ROUND


def test_a_round_with_many_rows_is_polished_once(many_rows):
    with_many, with_few = (
        with_policy(
            AnnealedRegressor("gaussian", random_state=0, n_chains=1, init="random"),
            replace(FEW, iterations_a_round=500, many_rows=limit),
        ).fit(*many_rows)
        for limit in (200, N_ROWS)
    )
    n_rounds = [model.n_iter_ // 500 for model in (with_many, with_few)]
    assert len(with_many.result_.chains[0].local_optima) == n_rounds[0]
    assert len(with_few.result_.chains[0].local_optima) == 2 * n_rounds[1]


def test_a_fit_of_more_rows_than_descents_see_is_resumed_to_the_last_bit(many_rows, monkeypatch, tmp_path):
    def make_model():
        model = AnnealedRegressor("gaussian", random_state=0, n_chains=2, n_iter=3000)
        return with_policy(model, replace(FEW, most_rows=500))

    whole = make_model().fit(*many_rows)
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    path = tmp_path / "fit.saltus"
    with pytest.warns(EarlyEndWarning):
        make_model().fit(*many_rows, callback=lambda progress: progress.chain == 1, checkpoint=path)
    resumed = make_model().fit(*many_rows, resume=path)
    assert resumed.log_posterior_ == whole.log_posterior_
    assert np.array_equal(resumed.centers_, whole.centers_)


def test_the_status_says_how_near_chains_are_for_so_many_rows(many_rows):
    model = with_policy(AnnealedRegressor("gaussian", random_state=0, n_chains=3, n_iter=20), same_a_row=1e3).fit(
        *many_rows
    )
    assert "3 of 3 chains ended within 1e+06" in model.result_.status
    assert "3 of 3 chains ended within" in str(model.summary())


def test_chains_agree_within_what_is_near():
    model = AnnealedRegressor("gaussian", random_state=0, n_chains=2, n_iter=5, init="random", polish=False)
    X = np.random.default_rng(0).random((50, 2))
    chains = model.fit(X, np.sin(9 * X[:, 0])).result_.chains
    apart = abs(chains[0].best.log_posterior - chains[1].best.log_posterior)
    for near, expected in [(apart / 2, "1 of 2 chains ended within"), (apart * 2, "2 of 2 chains ended within")]:
        assert expected in AnnealResult.from_chains(chains, ending="It ended.", near=near, remedy="patience").status


def test_a_chain_starts_again_where_it_is_behind_by_more_than_is_near(many_rows):
    X, y = many_rows
    model = AnnealedRegressor("gaussian", random_state=0, n_chains=1, n_iter=20).fit(X, y)
    best, design = model.result_.chains[0].best, make(X, y)
    chain = Chain(np.random.default_rng(0), best.network.terms, model.result_.chains[0])
    ahead = replace(best, log_posterior=best.log_posterior + 500.0)
    settings = Settings(None, None, None, None, descend=True, polish=True)
    assert restart_if_behind(chain, ahead, design, settings).terms is None
    settings = replace(settings, policy=SearchPolicy(same_a_row=0.2))
    assert restart_if_behind(chain, ahead, design, settings).terms is best.network.terms


def test_a_callback_is_told_and_heard_while_a_chain_is_on_its_way_to_the_start(many_rows):
    told = []
    model = with_policy(AnnealedRegressor("gaussian", random_state=0), FEW)
    with pytest.warns(EarlyEndWarning):
        model.fit(*many_rows, callback=lambda progress: told.append(progress) or True)
    first = told[0]
    assert (first.iteration, first.n_terms, first.temperature) == (0, 0, 0.0)
    assert first.best < model.log_posterior_
    assert model.n_iter_ == 0
    assert "The search stopped: a callback asked it to." in model.result_.status
