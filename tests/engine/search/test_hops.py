"""Hops go from optimum to optimum."""

import numpy as np
import pytest

from saltus.engine.search.hops import exchange, hop, is_taken, shake
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.pruning import descend, prune
from tests.engine.designs import make, radial_of, terms_at

COST = 6.0  # about what a term costs here


@pytest.fixture(params=["shared", "own"])
def landscape(data, request):
    return Landscape.of(make(*data, widths=request.param))


def random_terms(rng, landscape, k, relevance):
    return terms_at(landscape, rng.random((k, landscape.mixture.n_parameters)), np.full(3, relevance))


@pytest.mark.parametrize("disturb", [shake, exchange])
@pytest.mark.parametrize("k", [0, 1, 6])
def test_disturbed_terms_are_in_the_box(landscape, rng, disturb, k):
    d = landscape.mixture.n_parameters
    at = Candidate(terms_at(landscape, rng.random((k, d)), np.array([1.0, 0.5, 0.0])), 0.0)
    sizes = set()
    for _ in range(200):
        parameters = disturb(rng, landscape, at).parameters
        assert parameters.shape[1] == d
        assert ((parameters >= 0) & (parameters <= 1)).all()
        sizes.add(len(parameters) - k)
    assert min(sizes) >= 0
    assert max(sizes) > 0


def test_neighbours_are_near_in_the_metric_of_the_candidate(landscape, rng):
    d = landscape.mixture.n_parameters
    at = terms_at(landscape, rng.random((6, d)), np.array([0.0, 2.0, 0.0]))
    point = rng.random(d)
    data, asked = landscape.problem.families.radial, radial_of(landscape).search
    assert (asked.order_by_distance(data, at, point) == np.argsort(np.abs(at.parameters[:, 1] - point[1]))).all()
    for near in range(6):
        order = landscape.mixture.search.order_by_distance(rng, landscape.problem.families, at, near)
        assert (order == np.argsort(np.abs(at.parameters[:, 1] - at.parameters[near, 1]))).all()


def test_the_metric_is_shaken_within_its_bounds(landscape, rng):
    before = np.array([0.01, 0.0, 100.0, 1.0])
    switched = 0
    for _ in range(300):
        after = landscape.mixture.search.shake_shared(rng, before)
        assert (after[[0, 2, 3]] >= 0.01).all()
        assert (after <= 100.0).all()
        switched += after[1] > 0
    assert 100 < switched < 200


def test_a_hop_ends_in_a_local_optimum_of_the_same_landscape(landscape, rng):
    at = prune(landscape, landscape.candidate(random_terms(rng, landscape, 6, 0.6)))
    for _ in range(10):
        found = hop(rng, landscape, at, np.inf, lambda: True)
        assert found.k <= landscape.problem.k_max
        assert found.log_posterior == pytest.approx(landscape.value(found.terms))
        assert found.log_posterior <= descend(landscape, found, 50).log_posterior < found.log_posterior + 10


def test_hops_find_what_descents_do_not(landscape):
    """Descents from one term end in different optima, hops from there in the same."""
    rng = np.random.default_rng(3)
    starts, ends = [], []
    for _ in range(5):
        at = prune(landscape, landscape.candidate(random_terms(rng, landscape, 1, 0.3)))
        starts.append(at.log_posterior)
        for _ in range(60):
            at = max(at, hop(rng, landscape, at, COST, lambda: True), key=lambda candidate: candidate.log_posterior)
        ends.append(at.log_posterior)
    assert np.ptp(starts) > 1
    assert np.ptp(ends) < 1
    assert max(ends) > max(starts) - 1e-6


def test_a_hop_is_taken_if_it_loses_little_for_its_heat(landscape, rng):
    """One that loses as much as the heat is taken with probability 1/e; false alarms: 1e-5."""
    at, better, worse = (Candidate(landscape.mixture.empty(), value) for value in (0.0, 1e-9, -2.0))
    assert all(is_taken(rng, at, better, heat) for heat in (0.0, 2.0) for _ in range(100))
    assert not any(is_taken(rng, at, candidate, 0.0) for candidate in (at, worse) for _ in range(100))
    n_taken = sum(is_taken(rng, at, worse, 2.0) for _ in range(10_000))
    assert abs(n_taken - 10_000 / np.e) < 4.4 * np.sqrt(10_000 / np.e * (1 - 1 / np.e))
