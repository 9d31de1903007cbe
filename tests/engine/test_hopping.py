"""Hops go from optimum to optimum, and are made where the search has time; descents start where rows are."""

import pickle
from itertools import pairwise
from time import sleep

import numpy as np
import pytest

import saltus.engine.drivers.rounds as rounds
from saltus import AnnealedRegressor, EarlyEndWarning
from saltus.engine.drivers.stop import Crew
from saltus.engine.search.hops import hop, neighbours, replace, shake, shake_metric
from saltus.engine.search.pruning import Landscape, Place
from saltus.engine.search.starts import starting_centers, weighted_quantiles
from tests.engine.designs import make

COST = 6.0  # about what a basis function costs here


@pytest.fixture
def data(rng):
    X = rng.random((80, 3))
    return X, np.sin(6 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(80)


@pytest.fixture(params=["shared", "own"])
def landscape(data, request):
    return Landscape.of(make(*data, widths=request.param))


@pytest.mark.parametrize("disturb", [shake, replace])
@pytest.mark.parametrize("k", [0, 1, 6])
def test_disturbed_centres_are_in_the_box(landscape, rng, disturb, k):
    d = landscape.to_metric.shape[1]
    at = Place(rng.random((k, d)), np.array([1.0, 0.5, 0.0]), 0.0)
    sizes = set()
    for _ in range(200):
        centers = disturb(rng, landscape, at)
        assert centers.shape[1] == d
        assert ((centers >= 0) & (centers <= 1)).all()
        sizes.add(len(centers) - k)
    assert min(sizes) >= 0
    assert max(sizes) > 0


def test_neighbours_are_near_in_the_metric_of_the_place(landscape, rng):
    d = landscape.to_metric.shape[1]
    at = Place(rng.random((6, d)), np.array([0.0, 2.0, 0.0]), 0.0)
    point = rng.random(d)
    assert (neighbours(landscape, at, point) == np.argsort(np.abs(at.centers[:, 1] - point[1]))).all()


def test_the_metric_is_shaken_within_its_bounds(rng):
    before = np.array([0.01, 0.0, 100.0, 1.0])
    switched = 0
    for _ in range(300):
        after = shake_metric(rng, before)
        assert (after[[0, 2, 3]] >= 0.01).all()
        assert (after <= 100.0).all()
        switched += after[1] > 0
    assert 100 < switched < 200


def test_a_hop_ends_in_a_local_optimum_of_the_same_landscape(landscape, rng):
    at = landscape.prune(landscape.place(rng.random((6, landscape.to_metric.shape[1])), np.full(3, 0.6)))
    for _ in range(10):
        found = hop(rng, landscape, at, np.inf, lambda: True)
        assert len(found.centers) <= landscape.k_max
        assert found.log_posterior == pytest.approx(landscape.value(found.centers, found.relevance))
        assert found.log_posterior <= landscape.ascend(found, 50).log_posterior < found.log_posterior + 5


def test_hops_find_what_descents_do_not(landscape):
    """Descents from one centre end in different optima, hops from there in the same."""
    rng = np.random.default_rng(3)
    starts, ends = [], []
    for _ in range(5):
        at = landscape.prune(landscape.place(rng.random((1, landscape.to_metric.shape[1])), np.full(3, 0.3)))
        starts.append(at.log_posterior)
        for _ in range(60):
            at = max(at, hop(rng, landscape, at, COST, lambda: True), key=lambda place: place.log_posterior)
        ends.append(at.log_posterior)
    assert np.ptp(starts) > 1
    assert np.ptp(ends) < 1
    assert max(ends) > max(starts) - 1e-6


@pytest.fixture
def short_rounds(monkeypatch):
    monkeypatch.setattr(rounds, "ITERATIONS_A_ROUND", 1000)
    calls = []
    monkeypatch.setattr(rounds, "hop", lambda *arguments: calls.append(1) or hop(*arguments))
    return calls


def test_hops_are_made_in_longer_rounds_alone(data, short_rounds):
    AnnealedRegressor(n_chains=2, random_state=0, patience=1).fit(*data)
    assert not short_rounds, "the default ends with the first round that brought nothing"
    AnnealedRegressor(n_chains=2, random_state=0, n_iter=5000).fit(*data)
    AnnealedRegressor(n_chains=2, random_state=0, patience=3, polish=False).fit(*data)
    assert not short_rounds
    fits = [AnnealedRegressor(n_chains=2, random_state=0, patience=3, n_jobs=n_jobs).fit(*data) for n_jobs in (1, 2)]
    assert short_rounds
    assert fits[0].log_posterior_ == fits[1].log_posterior_


def test_a_callback_ends_hops(data, short_rounds):
    when_asked = []

    def enough(progress):
        when_asked.append(len(short_rounds))
        return len(short_rounds) > 3

    with pytest.warns(EarlyEndWarning, match="callback"):
        AnnealedRegressor(n_chains=1, random_state=0, patience=10**6).fit(*data, callback=enough)
    assert len(short_rounds) == when_asked[-1]


@pytest.fixture
def compiled(data, short_rounds):
    """Compile what a fit by the clock runs, which would use up its time."""
    AnnealedRegressor(n_chains=1, random_state=0, patience=3, widths="shared").fit(*data)
    assert short_rounds


@pytest.mark.usefixtures("compiled")
def test_time_alone_ends_a_fit(data, monkeypatch):
    """One round is annealed, and hops go on from where they were, from turn to turn, until time is over."""
    log = []

    def noted(rng, landscape, at, cost, go_on):
        log.append((at, hop(rng, landscape, at, cost, go_on), landscape))
        return log[-1][1]

    monkeypatch.setattr(rounds, "hop", noted)
    model = AnnealedRegressor(n_chains=1, widths="shared", random_state=0, patience=None, max_time=2.0).fit(*data)
    assert model.result_.status.startswith("Stopped by max_time after 2 s")
    assert model.n_iter_ == 1000
    assert len({id(landscape) for _, _, landscape in log}) > 3, "turns"
    for (at, found, _), (then, _, _) in pairwise(log):
        assert any(np.array_equal(then.centers, place.centers) for place in (at, found))
    taken = np.mean([then[0].centers is not at.centers for (at, _, _), then in pairwise(log)])
    assert 0 < taken < 1
    best = max(found.log_posterior for _, found, _ in log)
    assert model.log_posterior_ >= best + make(*data, widths="shared").log_posterior_shift - 1e-6


@pytest.mark.parametrize("options", [{"patience": 3}, {"patience": None, "max_time": 0.3}])
def test_no_centres_no_hops(data, options, monkeypatch):
    monkeypatch.setattr(rounds, "ITERATIONS_A_ROUND", 200)
    model = AnnealedRegressor(k_max=0, n_chains=1, random_state=0, **options).fit(*data)
    assert model.n_bases_ == 0


@pytest.mark.usefixtures("compiled")
def test_hops_tell_how_they_are_going(data):
    """Also with a schedule that knows no rounds without iterations."""

    class Falling:
        def temperature(self, iteration, n_iter):
            return 1.0 - 0.9 * (iteration / n_iter)

    told = []
    model = AnnealedRegressor(n_chains=1, random_state=0, schedule=Falling(), patience=None, max_time=1.5)
    model.fit(*data, callback=told.append)
    assert [progress.best for progress in told] == sorted(progress.best for progress in told)
    assert all(0 <= progress.acceptance <= 1 for progress in told)
    assert len({progress.temperature for progress in told[-5:]}) > 1
    assert 0 < told[-1].temperature < told[len(told) // 2].temperature


def test_without_patience_or_time_there_is_no_end(data):
    with pytest.raises(ValueError, match="goes on until max_time, which is None"):
        AnnealedRegressor(patience=None).fit(*data)
    AnnealedRegressor(patience=None, n_iter=100, n_chains=1).fit(*data)
    annealed = AnnealedRegressor(patience=None, max_time=0.5, polish=False, n_chains=1, widths="shared").fit(*data)
    assert annealed.n_iter_ > 20_000, "without descents there are no hops"


def test_the_share_of_time_that_is_over():
    assert Crew().share_of_time == 0.0
    crew = Crew(max_seconds=0.2)
    first = crew.share_of_time
    sleep(0.02)
    assert 0.0 <= first < crew.share_of_time
    assert pickle.loads(pickle.dumps(crew)).share_of_time > first
    sleep(0.2)
    assert crew.share_of_time == 1.0


@pytest.mark.parametrize("options", [{}, {"metric": "mahalanobis"}, {"metric": "euclidean", "widths": "own"}])
def test_rows_are_found_in_the_unit_cube(data, options):
    X, y = data
    design = make(X, y, **options).kinds[0]
    places, weight = design.places_of_rows(np.random.default_rng(0), 100)
    np.testing.assert_allclose(design.split(places)[0], design.box.to_unit(X), atol=1e-7)
    assert (weight == 1).all()


def test_outliers_do_not_keep_centres_from_the_others(data, rng):
    X, y = data
    X = X.copy()
    X[:2] = [1000.0, -1000.0, 500.0]
    design = make(X, y)
    centers, _ = design.split(starting_centers(rng, design, many=True))
    inside = (np.abs(design.box.from_unit(centers) - 0.5) < 1.5).all(axis=1)
    assert inside.mean() > 0.8


def test_a_weight_is_so_many_rows(data, rng):
    X, _ = data
    weight = rng.integers(1, 4, len(X))
    again = rng.permutation(np.repeat(X, weight, axis=0))
    shares = (0.05, 0.5, 0.95)
    expected = np.quantile(again, shares, axis=0, method="inverted_cdf")
    assert (weighted_quantiles(X, weight.astype(float), shares) == expected).all()


def test_an_input_that_is_nearly_constant_gets_centres_all_over(data, rng):
    X, y = data
    X = np.column_stack([X, (np.arange(80) == 7).astype(float)])
    centers = starting_centers(rng, make(X, y, widths="shared"), many=True)
    assert np.unique(centers[:, 3]).size > 5
