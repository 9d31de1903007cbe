"""With many rows, descents see few of them at first and all at the end, rounds are shorter, and values nearer."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import AnnealedRegressor, BayesianRegressor
from saltus.engine import anneal, descent, rounds
from saltus.engine.descent import AGAIN, THOROUGHLY, Landscape, coarse_to_fine
from saltus.engine.placing import downhill
from saltus.engine.result import AnnealResult, resolution
from saltus.engine.rounds import ITERATIONS_A_ROUND, Chain, iterations_of_first_round
from saltus.regressors.base import check_data

N_ROWS = 1000


@pytest.fixture
def data(rng):
    X = rng.random((N_ROWS, 2))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(N_ROWS)


@pytest.fixture
def few(monkeypatch):
    """Let a hundred rows be few."""
    monkeypatch.setattr(descent, "FEWEST_ROWS", 100)
    monkeypatch.setattr(descent, "MANY_ROWS", 200)


def make(X, y, **options):
    model = AnnealedRegressor(**options)
    return model._make_design(check_data(model, X, y, None))


def test_descents_see_more_and_more_rows(few, data, rng):
    design = make(*data)
    finest = Landscape.of(design)
    assert [landscape.n_rows for landscape in coarse_to_fine(rng, design, finest)] == [100, 400, N_ROWS]


def test_descents_see_all_rows_where_these_are_few(data, rng):
    finest = Landscape.of(make(*data))
    assert list(coarse_to_fine(rng, make(*data), finest)) == [finest]


def test_no_descent_sees_more_rows_than_the_most(few, data, rng, monkeypatch):
    monkeypatch.setattr(descent, "MOST_ROWS", 500)
    design = make(*data)
    finest = Landscape.of(design, rng)
    assert [landscape.n_rows for landscape in coarse_to_fine(rng, design, finest)] == [100, 500]


def test_few_rows_stand_for_all(data, rng):
    """On half of the rows, log pi is about as much higher in one place than in another as on all."""
    design = make(*data, widths="shared")
    some, every = Landscape.of(design, rng, N_ROWS // 2), Landscape.of(design)
    centers, relevance = rng.random((6, 2)), np.array([1.0, 0.5])
    by_some = some.value(centers, relevance) - some.value(centers[:2], relevance)
    by_every = every.value(centers, relevance) - every.value(centers[:2], relevance)
    assert by_every > 100
    assert by_some == pytest.approx(by_every, rel=0.2)


def test_the_best_start_is_taken_to_all_rows(few, data, rng):
    design = make(*data)
    d = design.target.to_metric.shape[1]
    starts = [rng.random((k, d)) for k in (1, 3)]
    seen = []

    def descend(landscape, centers, relevance):
        seen.append((landscape.n_rows, len(centers)))
        return landscape.place(centers, relevance)

    finest = Landscape.of(design)
    found = downhill(rng, design, finest, starts, descend, lambda: True)
    assert seen[:2] == [(100, 1), (100, 3)]
    assert seen[2:] == [(400, len(found.centers)), (N_ROWS, len(found.centers))]
    assert found.log_posterior == finest.value(found.centers, found.relevance)


def test_a_descent_that_must_stop_sees_no_more_rows(few, data, rng):
    design = make(*data)
    seen = []

    def descend(landscape, centers, relevance):
        seen.append(landscape.n_rows)
        return landscape.place(centers, relevance)

    start = rng.random((2, design.target.to_metric.shape[1]))
    downhill(rng, design, Landscape.of(design), [start], descend, lambda: False)
    assert seen == [100]


def test_descents_take_less_pains_with_many_rows(few, data, rng):
    design = make(*data)
    assert Landscape.of(design).pains == AGAIN
    assert Landscape.of(design, rng, 200).pains == THOROUGHLY


@pytest.mark.parametrize("regressor", [AnnealedRegressor, BayesianRegressor])
def test_fits_with_many_rows_find_the_function(few, data, regressor):
    X, y = data
    model = regressor(random_state=0, n_iter=1000).fit(X, y)
    assert model.score(X, np.sin(6 * X[:, 0])) > 0.99


def test_rounds_are_shorter_in_proportion_to_many_rows(data, monkeypatch):
    design = make(*data)
    assert iterations_of_first_round(design) == ITERATIONS_A_ROUND
    monkeypatch.setattr(rounds, "MOST_ROWS_OF_LONG_ROUNDS", N_ROWS // 10)
    assert iterations_of_first_round(design) == ITERATIONS_A_ROUND // 10
    monkeypatch.setattr(rounds, "MOST_ROWS_OF_LONG_ROUNDS", 1)
    assert iterations_of_first_round(design) == rounds.FEWEST_ITERATIONS_A_ROUND


def test_a_fit_with_many_rows_runs_in_short_rounds(few, data, monkeypatch):
    monkeypatch.setattr(rounds, "MOST_ROWS_OF_LONG_ROUNDS", N_ROWS // 20)
    model = AnnealedRegressor(random_state=0, n_chains=2).fit(*data)
    assert model.n_iter_ % (ITERATIONS_A_ROUND // 20) == 0
    assert model.n_iter_ < ITERATIONS_A_ROUND


def test_values_differ_by_less_where_rows_are_many(monkeypatch, data):
    assert resolution(500) == 1
    assert resolution(1e6) == pytest.approx(100)
    monkeypatch.setattr("saltus.engine.result.SAME_A_ROW", 1e3)
    model = AnnealedRegressor(random_state=0, n_chains=3, n_iter=20).fit(*data)
    assert "3 of 3 within 1e+06" in model.result_.status
    assert "3 of 3 chains agree" in str(model.summary())


def test_chains_agree_within_what_is_near():
    model = AnnealedRegressor(random_state=0, n_chains=2, n_iter=5, init="random", polish=False)
    X = np.random.default_rng(0).random((50, 2))
    chains = model.fit(X, np.sin(9 * X[:, 0])).result_.chains
    apart = abs(chains[0].best.log_posterior - chains[1].best.log_posterior)
    assert "1 of 2 within" in AnnealResult.from_chains(chains, near=apart / 2).status
    assert "2 of 2 within" in AnnealResult.from_chains(chains, near=apart * 2).status


def test_few_rows_are_stricter_about_dependent_columns(data, rng):
    design = make(*data, widths="shared")
    some, every = Landscape.of(design, rng, N_ROWS // 10), Landscape.of(design)
    assert some.dependent == pytest.approx(every.dependent * 10**descent.STRICTER)
    centers = np.array([[0.5, 0.5], [0.5, 0.6]])
    assert np.isfinite(every.value(centers, np.ones(2)))
    assert replace(every, dependent=0.5).value(centers, np.ones(2)) == -np.inf


def test_a_chain_starts_again_where_it_is_behind_by_more_than_is_near(data, monkeypatch):
    X, y = data
    model = AnnealedRegressor(random_state=0, n_chains=1, n_iter=20).fit(X, y)
    best, design = model.result_.chains[0].best, make(X, y)
    chain = Chain(np.random.default_rng(0), best.places, best.relevance, model.result_.chains[0])
    ahead = replace(best, log_posterior=best.log_posterior + 500.0)
    assert anneal._restart_if_behind(chain, ahead, design).centers is None
    monkeypatch.setattr("saltus.engine.result.SAME_A_ROW", 0.2)
    assert anneal._restart_if_behind(chain, ahead, design).centers is best.places
