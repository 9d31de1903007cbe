"""With many rows, descents see few of them at first and all at the end, rounds are shorter, and values nearer."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning
from saltus.engine.drivers import anneal, rounds
from saltus.engine.drivers.rounds import ITERATIONS_A_ROUND, Chain, Settings, iterations_of_first_round
from saltus.engine.drivers.stop import Crew
from saltus.engine.problem.criteria import resolution
from saltus.engine.results.chains import AnnealResult
from saltus.engine.search import pruning as descent
from saltus.engine.search.pruning import THOROUGHLY, WITH_MANY_ROWS, Landscape, coarse_to_fine
from saltus.engine.search.starts import downhill
from tests.engine.designs import make

N_ROWS = 1000


@pytest.fixture
def data(rng):
    X = rng.random((N_ROWS, 2))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(N_ROWS)


@pytest.fixture
def few(monkeypatch):
    """Let a hundred rows be few."""
    monkeypatch.setattr(descent, "ROWS_AT_FIRST", 100)
    monkeypatch.setattr(descent, "MANY_ROWS", 200)


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
        place = landscape.place(centers, relevance)
        seen.append((landscape.n_rows, len(centers), place.log_posterior))
        return place

    finest = Landscape.of(design)
    found = downhill(rng, design, finest, starts, descend, lambda: True)
    best = 1 if seen[0][2] > seen[1][2] else 3
    assert [(n_rows, k) for n_rows, k, _ in seen] == [(100, 1), (100, 3), (400, best), (N_ROWS, best)]
    assert found.log_posterior == finest.value(found.centers, found.relevance) == seen[-1][2]


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
    assert Landscape.of(design).pains == WITH_MANY_ROWS
    assert Landscape.of(design, rng, 200).pains == THOROUGHLY


@pytest.mark.parametrize("regressor", [AnnealedRegressor, BayesianRegressor])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_with_many_rows_find_the_function(few, data, regressor, monkeypatch):
    X, y = data
    seen, ascend = [], Landscape.ascend

    def ascend_and_note(landscape, *arguments, **options):
        seen.append(landscape.n_rows)
        return ascend(landscape, *arguments, **options)

    monkeypatch.setattr(Landscape, "ascend", ascend_and_note)
    model = regressor(random_state=0, n_iter=1000, n_chains=1).fit(X, y)
    assert list(dict.fromkeys(seen)) == [100, 400, N_ROWS]
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


def test_a_round_with_many_rows_is_polished_once(few, data, monkeypatch):
    monkeypatch.setattr(rounds, "ITERATIONS_A_ROUND", 500)
    with_many = AnnealedRegressor(random_state=0, n_chains=1, init="random").fit(*data)
    monkeypatch.setattr(descent, "MANY_ROWS", N_ROWS)
    with_few = AnnealedRegressor(random_state=0, n_chains=1, init="random").fit(*data)
    n_rounds = [model.n_iter_ // 500 for model in (with_many, with_few)]
    assert len(with_many.result_.chains[0].local_optima) == n_rounds[0]
    assert len(with_few.result_.chains[0].local_optima) == 2 * n_rounds[1]


def test_a_small_improvement_is_none_where_rows_are_many(data, monkeypatch):
    settings = Settings(None, None, None, None, descend=True, polish=True)
    history, design = [0.0, 50.0, 100.0], make(*data)
    crew = Crew()
    assert settings.iterations_of_round(history, design) == ITERATIONS_A_ROUND
    assert not anneal._why_stop(np.array([100.0, 40.0]), history, design.resolution, settings, crew)
    monkeypatch.setattr("saltus.engine.problem.criteria.SAME_A_ROW", 70 / N_ROWS)
    assert settings.iterations_of_round(history, design) == 4 * ITERATIONS_A_ROUND
    assert "2 chains agreed" in anneal._why_stop(np.array([100.0, 40.0]), history, design.resolution, settings, crew)
    assert "no improvement" in anneal._why_stop(np.array([100.0, 0.0]), history, design.resolution, settings, crew)


def test_a_part_of_the_rows_is_refused_in_proportion(data, rng):
    design = make(*data)
    some, every = Landscape.of(design, rng, N_ROWS // 10), Landscape.of(design)
    assert some.rss_floor == pytest.approx(every.rss_floor / 10)
    assert some.faintest == pytest.approx(every.faintest / 10)


def test_a_weight_of_two_is_a_row_twice_in_a_part_too(data, rng):
    X, y = data
    weighted = make(X, y, sample_weight=np.full(N_ROWS, 2.0), widths="shared")
    twice = make(np.vstack([X, X]), np.concatenate([y, y]), widths="shared")
    centers, relevance = rng.random((4, 2)), np.array([1.0, 0.5])
    some, every = Landscape.of(weighted, rng, N_ROWS // 2), Landscape.of(twice)
    assert Landscape.of(weighted).value(centers, relevance) == pytest.approx(every.value(centers, relevance))
    gain = [land.value(centers, relevance) - land.value(centers[:1], relevance) for land in (some, every)]
    assert gain[0] == pytest.approx(gain[1], rel=0.2)


def test_rows_of_unequal_weight_count_for_fewer(few, data, rng):
    X, y = data
    design = make(X, y, sample_weight=np.where(np.arange(N_ROWS) < N_ROWS // 2, 1.0, 1e-9))
    seen = [landscape.n_rows for landscape in coarse_to_fine(rng, design, Landscape.of(design))]
    assert seen == [200, N_ROWS]


def test_the_linear_term_needs_rows(few, rng):
    X = rng.random((N_ROWS, 30))
    design = make(X, X[:, 0] + 0.1 * rng.standard_normal(N_ROWS))
    assert next(coarse_to_fine(rng, design, Landscape.of(design))).n_rows == 310


def test_a_fit_of_more_rows_than_descents_see_is_resumed_to_the_last_bit(few, data, monkeypatch, tmp_path):
    monkeypatch.setattr(descent, "MOST_ROWS", 500)
    options = {"random_state": 0, "n_chains": 2, "n_iter": 3000}
    whole = AnnealedRegressor(**options).fit(*data)
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    path = tmp_path / "fit.saltus"
    with pytest.warns(EarlyEndWarning):
        AnnealedRegressor(**options).fit(*data, callback=lambda progress: progress.chain == 1, checkpoint=path)
    resumed = AnnealedRegressor(**options).fit(*data, resume=path)
    assert resumed.log_posterior_ == whole.log_posterior_
    assert np.array_equal(resumed.centers_, whole.centers_)


def test_values_differ_by_less_where_rows_are_many(monkeypatch, data):
    assert resolution(500) == 1
    assert resolution(1e6) == pytest.approx(100)
    monkeypatch.setattr("saltus.engine.problem.criteria.SAME_A_ROW", 1e3)
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
    monkeypatch.setattr("saltus.engine.problem.criteria.SAME_A_ROW", 0.2)
    assert anneal._restart_if_behind(chain, ahead, design).centers is best.places


def test_a_callback_is_told_and_heard_while_a_chain_is_on_its_way_to_the_start(few, data):
    told = []
    with pytest.warns(EarlyEndWarning):
        model = AnnealedRegressor(random_state=0).fit(*data, callback=lambda progress: told.append(progress) or True)
    first = told[0]
    assert (first.iteration, first.n_bases, first.temperature) == (0, 0, 0.0)
    assert first.best < model.log_posterior_
    assert model.n_iter_ == 0
    assert "Stopped by the callback" in model.result_.status
