"""A descent never ends with a worse candidate, eliminations know what they cost, and rows come in by and by."""

from dataclasses import replace

import numpy as np
import pytest

from saltus.engine.search.landscape import Landscape
from saltus.engine.search.pruning import (
    THOROUGH,
    WITH_MANY_ROWS,
    coarse_to_fine,
    descend,
    eliminations,
    independent,
    prune,
    rises_by_duals,
    usual_effort,
)
from tests.engine.designs import blind_to_faintness, make, make_with, terms_at
from tests.many import FEW, N_ROWS
from tests.problems import make_problem


@pytest.fixture
def problem():
    return make_problem("three inputs, two outputs")


def test_descent_and_elimination_never_lose(problem):
    landscape = Landscape.of(make(problem.X, problem.Y, "gaussian", widths="own"))
    rng = np.random.default_rng(2)
    for _ in range(5):
        start = independent(landscape, terms_at(landscape, rng.random((8, 4)), np.full(3, 0.8)))
        down = descend(landscape, start, 20)
        assert down.log_posterior >= start.log_posterior
        assert ((down.terms.parameters >= 0) & (down.terms.parameters <= 1)).all()
        pruned = prune(landscape, start)
        assert pruned.log_posterior >= descend(landscape, start, 60).log_posterior - 1e-9
        assert pruned.log_posterior == pytest.approx(landscape.value(pruned.terms))


def test_eliminations_know_what_they_cost(problem):
    landscape = Landscape.of(make(problem.X, problem.Y, "cubic"))
    centers = np.random.default_rng(3).random((5, 3))
    at = landscape.candidate(terms_at(landscape, centers, np.array([0.7, 1.1, 0.4])))
    for candidate in eliminations(landscape, at):
        assert len(candidate.terms) + (candidate.terms.shared > 0).sum() == 7
        assert candidate.log_posterior == pytest.approx(landscape.value(candidate.terms), abs=1e-6)
    cheapest = max(landscape.value(at.terms.without(j)) for j in range(5))
    assert eliminations(landscape, at)[0].log_posterior == pytest.approx(cheapest, abs=1e-6)


def test_terms_of_two_columns_are_lost_as_a_whole(problem):
    landscape = blind_to_faintness(Landscape.of(make_with(problem.X, problem.Y, ["hinges", "waves"], np.zeros(13))))
    at = independent(landscape, landscape.mixture.draw(np.random.default_rng(0), 6))
    assert len(set(at.terms.family.tolist())) == 2
    (found,) = eliminations(landscape, at)
    assert found.k == at.k - 1
    _, work = landscape.evaluate(at.terms)
    q, owner = len(work.R), landscape.mixture.owners_of_columns(at.terms)
    rises = rises_by_duals(np.linalg.inv(np.triu(work.R[:, :q])), work.R[:, q:], owner)
    for j, rise in enumerate(rises):
        assert work.rss + rise == pytest.approx(landscape.evaluate(at.terms.without(j))[1].rss, rel=1e-6)
    values = [landscape.value(at.terms.without(j)) for j in range(at.k)]
    assert found.log_posterior == pytest.approx(max(values), abs=1e-6)
    assert landscape.value(found.terms) == max(values)
    assert independent(landscape, at.terms.followed_by(at.terms)).k == at.k


def test_dependent_terms_are_left_out(problem):
    landscape = Landscape.of(make(problem.X, problem.Y, "gaussian", widths="shared"))
    centers = np.random.default_rng(4).random((4, 3))
    twice = terms_at(landscape, np.vstack([centers, centers[:2]]), np.full(3, 0.8))
    assert landscape.value(twice) == -np.inf
    assert independent(blind_to_faintness(landscape), twice).k == 4
    far = independent(landscape, terms_at(landscape, centers, np.full(3, 100.0)))
    assert far.k < 4


def test_descents_see_more_and_more_rows(many_rows, rng):
    design = make(*many_rows)
    finest = Landscape.of(design, policy=FEW)
    assert [landscape.n_rows for landscape in coarse_to_fine(rng, design, finest)] == [100, 400, N_ROWS]


def test_descents_see_all_rows_where_these_are_few(many_rows, rng):
    finest = Landscape.of(make(*many_rows))
    assert list(coarse_to_fine(rng, make(*many_rows), finest)) == [finest]


def test_no_descent_sees_more_rows_than_the_most(many_rows, rng):
    design = make(*many_rows)
    finest = Landscape.of(design, rng, policy=replace(FEW, most_rows=500))
    assert [landscape.n_rows for landscape in coarse_to_fine(rng, design, finest)] == [100, 500]


def test_descents_are_less_thorough_with_many_rows(many_rows, rng):
    design = make(*many_rows)
    assert usual_effort(Landscape.of(design, policy=FEW)) == WITH_MANY_ROWS
    assert usual_effort(Landscape.of(design, rng, 200, FEW)) == THOROUGH


def test_rows_of_unequal_weight_count_for_fewer(many_rows, rng):
    X, y = many_rows
    design = make(X, y, sample_weight=np.where(np.arange(N_ROWS) < N_ROWS // 2, 1.0, 1e-9))
    seen = [landscape.n_rows for landscape in coarse_to_fine(rng, design, Landscape.of(design, policy=FEW))]
    assert seen == [200, N_ROWS]


def test_the_linear_term_needs_rows(rng):
    X = rng.random((N_ROWS, 30))
    design = make(X, X[:, 0] + 0.1 * rng.standard_normal(N_ROWS))
    assert next(coarse_to_fine(rng, design, Landscape.of(design, policy=FEW))).n_rows == 310
