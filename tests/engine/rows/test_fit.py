"""What rows answer is what a dense design says, whatever the blocks."""

import numpy as np
import pytest

from saltus.engine.rows import frame, memory
from saltus.engine.rows.extremes import Extremes
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.questions import Curvature, Scores, Slopes, Triangle
from saltus.engine.rows.rows import Block, StoppedError, inquire
from tests.engine.rows.examples import answer, dense_design, dense_rss, draw_terms


def test_the_fit_is_that_of_the_dense_design(rows, target):
    terms = draw_terms(target)
    fit = answer(rows, target.fit(terms))
    assert fit.k == len(terms) == 10
    D, Y = dense_design(target, rows, terms)
    np.testing.assert_allclose(fit.rss, dense_rss(D, Y), rtol=1e-10)
    np.testing.assert_allclose(fit.alpha, np.linalg.lstsq(D, Y, rcond=None)[0], rtol=1e-6, atol=1e-9)
    value = -0.5 * rows.weight.sum() * np.log(fit.rss).sum() - 2.0 * fit.k
    assert fit.log_posterior == pytest.approx(value, rel=1e-12)


def test_blocks_and_jobs_make_no_difference(rows, target, monkeypatch):
    question = Triangle(target.frame, draw_terms(target))
    once = MemoryRows(rows).ask(question)
    monkeypatch.setattr(memory, "ROWS_A_BLOCK", 300)
    apart, at_once = MemoryRows(rows).ask(question), MemoryRows(rows, n_jobs=2).ask(question)
    np.testing.assert_array_equal(apart, at_once)
    np.testing.assert_allclose(np.abs(apart), np.abs(once), rtol=1e-9, atol=1e-10 * np.abs(once).max())


def test_sheets_make_no_difference(rows, target, monkeypatch):
    terms = draw_terms(target)
    alpha = np.ones((target.frame.m_fixed + len(terms) + 2, 2))  # two of the terms are waves
    questions = (
        Triangle(target.frame, terms),
        Slopes(target.frame, terms, alpha),
        Curvature(target.frame, terms, alpha),
        Scores(target.frame, terms, alpha, terms),
    )
    whole = [MemoryRows(rows).ask(question) for question in questions]
    monkeypatch.setattr(frame, "NUMBERS_A_SHEET", 1)
    cut = [MemoryRows(rows).ask(question) for question in questions]
    assert len(list(target.frame.sheets(rows, 5))) == 3
    for before, after in zip(whole, cut, strict=True):
        for one, other in zip(np.atleast_3d(before) if isinstance(before, np.ndarray) else before, after, strict=True):
            np.testing.assert_allclose(np.abs(other), np.abs(np.squeeze(one)), rtol=1e-9, atol=1e-9 * np.abs(one).max())


def test_terms_that_others_make_up_for_or_no_row_sees_are_left_out(rows, target):
    terms = draw_terms(target)
    hinge = int(np.flatnonzero(terms.family == 1)[0])
    twice = terms.followed_by(terms.take(np.array([hinge])))
    fit = answer(rows, target.fit(twice))
    assert fit.k == len(terms)
    unseen = target.problem.families._replace(
        smallest_squared_norm=np.where(np.arange(len(target.frame.mixture.members)) == 2, np.inf, 0.0)
    )
    blind = type(target)(target.frame, target.problem._replace(families=unseen))
    left = answer(rows, blind.fit(terms))
    assert (left.terms.family != 2).all()
    assert left.k == len(terms) - 2


def test_fits_with_some_of_the_terms_take_no_pass(rows, target):
    fit = answer(rows, target.fit(draw_terms(target)))
    kept = np.array([7, 0, 3])
    fewer = fit.with_only(kept)
    D, Y = dense_design(target, rows, fit.terms.take(kept))
    np.testing.assert_allclose(fewer.rss, dense_rss(D, Y), rtol=1e-10)
    eliminated = fit.eliminated()
    assert eliminated.log_posterior >= fit.log_posterior
    D, Y = dense_design(target, rows, eliminated.terms)
    np.testing.assert_allclose(eliminated.rss, dense_rss(D, Y), rtol=1e-10)
    assert fit.path.log_posterior.max() == pytest.approx(eliminated.log_posterior, rel=1e-9)


def test_the_ends_of_inputs_are_found_in_whatever_block_they_are(rows, monkeypatch):
    X = rows.X.copy()
    X[5:50, 1] = np.nan
    monkeypatch.setattr(memory, "ROWS_A_BLOCK", 100)
    ends = MemoryRows(rows._replace(X=X)).ask(Extremes())
    gaps = np.array([np.inf, 0.0, np.inf])
    np.testing.assert_array_equal(ends.values, np.concatenate([np.nanmin(X, axis=0), -np.nanmax(X, axis=0), gaps]))
    found = ends.rows(rows)
    np.testing.assert_array_equal(np.nanmax(found.X, axis=0), np.nanmax(X, axis=0))
    assert 1 <= len(found.X) <= 7
    assert np.isnan(found.X).any(axis=0).tolist() == [False, True, False]
    table = np.hstack([X, rows.Y, rows.weight[:, None]])
    there = {row.tobytes() for row in np.ascontiguousarray(table)}
    assert {row.tobytes() for row in np.hstack([found.X, found.Y, found.weight[:, None]])} <= there


class Counting:
    """Counts rows, and the blocks that were asked."""

    def __init__(self):
        self.asked = 0

    def ask(self, block):
        self.asked += 1
        return len(block.X)

    def merge(self, first, second):
        return first + second


def test_inquiries_side_by_side_share_passes(rows):
    def ask_often(times):
        total = 0
        for _ in range(times):
            total += yield Counting()
        return total

    asked = MemoryRows(rows)
    found = dict(inquire(asked, {3: ask_often(2), 5: ask_often(4), 8: ask_often(0)}))
    assert found == {3: 2 * len(rows.X), 5: 4 * len(rows.X), 8: 0}
    assert asked.n_passes == 4


def test_a_pass_ends_where_there_is_no_time_for_it(rows, monkeypatch):
    monkeypatch.setattr(memory, "ROWS_A_BLOCK", 300)
    question, left = Counting(), iter([True, True, False])
    with pytest.raises(StoppedError):
        MemoryRows(rows).ask(question, lambda: next(left))
    assert question.asked == 2


def test_rows_are_taken_by_their_numbers(rows):
    taken = MemoryRows(rows).take(np.array([3, 900]))
    assert isinstance(taken, Block)
    np.testing.assert_array_equal(taken.Y, rows.Y[[3, 900]])
