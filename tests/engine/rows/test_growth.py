"""Terms that come in are those that all rows want."""

import numpy as np

from saltus.engine.rows.growth import Race, choose, nominate
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.questions import Scores
from saltus.engine.search.policy import SearchPolicy
from saltus.families.registry import owners_of_columns
from tests.engine.rows.examples import answer, dense_design, dense_rss, draw_terms, make_target


def columns_of(target, candidates):
    owner = owners_of_columns(target.problem.families, candidates)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    is_pair = np.bincount(owner) > 1
    assert is_pair.any()
    return first, np.where(is_pair, first + 1, -1)


def test_scores_are_the_rss_with_each_candidate_beside_those_that_came_in(rows, target):
    terms, candidates = draw_terms(target, 1), draw_terms(target, 3, seed=5)
    fit = answer(rows, target.fit(terms))
    terms = fit.terms
    products = MemoryRows(rows).ask(Scores(target.frame, terms, fit.alpha, candidates))
    race = Race.of(fit, products)
    first, second = columns_of(target, candidates)
    present = terms
    for chosen in (4, 10):  # a hinge, and a wave of two columns
        found = race.rss_with(first, second)
        for j in range(len(candidates)):
            D, Y = dense_design(target, rows, present.followed_by(candidates.take(np.array([j]))))
            np.testing.assert_allclose(found[j], dense_rss(D, Y), rtol=1e-6)
        for column in (first[chosen], second[chosen]):
            if column >= 0:
                race.bring_in(column)
        present = present.followed_by(candidates.take(np.array([chosen])))
        D, Y = dense_design(target, rows, present)
        np.testing.assert_allclose(race.rss, dense_rss(D, Y), rtol=1e-6)


def test_the_best_comes_in_while_log_pi_less_the_charge_rises(rows, target):
    terms, candidates = draw_terms(target, 1), draw_terms(target, 3, seed=5)
    fit = answer(rows, target.fit(terms))
    terms = fit.terms
    total, cost = rows.weight.sum(), 2.0

    def value(chosen):
        D, Y = dense_design(target, rows, terms.followed_by(candidates.take(np.array(chosen, dtype=int))))
        return -0.5 * total * np.log(dense_rss(D, Y)).sum() - cost * (len(terms) + len(chosen))

    for charge in (0.0, 20.0):
        expected, best = [], value([])
        while len(expected) < len(candidates):
            left = [j for j in range(len(candidates)) if j not in expected]
            values = [value([*expected, j]) for j in left]
            if max(values) <= best + charge:
                break
            expected.append(left[int(np.argmax(values))])
            best = max(values)
        found = answer(rows, choose(fit, candidates, charge, 60))
        assert len(expected) > 1
        np.testing.assert_array_equal(found.parameters, candidates.take(np.array(expected)).parameters)
    assert len(answer(rows, choose(fit, candidates, 0.0, 1))) == 1
    assert len(answer(rows, choose(fit, candidates, 1e9, 60))) == 0


def test_what_is_nominated_explains_what_is_left(rows):
    target, design = make_target(rows)
    policy = SearchPolicy(candidates_an_input=30, finalists=5)
    nominees = nominate(np.random.default_rng(0), design, design.mixture.empty(), 3, policy)
    assert nominees is not None
    assert 3 <= len(nominees) <= 15
    fit = answer(rows, target.fit(design.mixture.empty()))
    chosen = answer(rows, choose(fit, nominees, 0.0, 3))
    grown = answer(rows, target.fit(chosen))
    assert grown.rss[0] < 0.9 * fit.rss[0]
