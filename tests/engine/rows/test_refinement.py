"""From a network that some rows gave to one that all rows give."""

import numpy as np
import pytest

from saltus.engine.problem.design import make_design
from saltus.engine.problem.scaling import LinearTerm
from saltus.engine.rows.fit import Target
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.refinement import Refinement, draw_rows
from saltus.engine.rows.rows import Block
from saltus.engine.search.policy import SearchPolicy
from tests.engine.designs import make_with
from tests.engine.rows.examples import dense_design, dense_rss

POLICY = SearchPolicy(rows_of_a_search=100, rows_that_nominate=300, candidates_an_input=30, steps_of_refinement=3)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    Y = np.abs(X[:, :1] - 0.3) + 0.5 * np.abs(X[:, 1:] - 0.7) + 0.05 * rng.standard_normal((3000, 1))
    return Block(X, Y, np.ones(3000))


def make_refinement(rows, policy=POLICY):
    part = np.unique(np.concatenate([np.arange(100), rows.X.argmin(axis=0), rows.X.argmax(axis=0)]))
    table = 8.0 * np.arange(41)
    design = make_with(rows.X[part], rows.Y[part], ["hinges"], table, weight=rows.weight[part])

    def design_of(like, block, total):
        linear = LinearTerm.of(like.box.to_unit(block.X), block.weight)
        return make_design(*block, box=like.box, linear=linear, mixture=like.mixture, criterion=like.problem.criterion)

    return Refinement(MemoryRows(rows), float(rows.weight.sum()), design_of, policy), design


def test_networks_grow_from_nothing_to_what_all_rows_tell(rows):
    refinement, design = make_refinement(rows)
    told = []
    empty = design.mixture.empty()
    fits = refinement.run(
        np.random.default_rng(1),
        {2: (empty, design), 5: (empty, design)},
        tell=lambda number, fit, asked: told.append((number, asked.n_rows, fit.log_posterior)),
    )
    assert fits.keys() == {2, 5}
    assert [n for number, n, _ in told if number == 2][:1] == [400]
    assert {n for _, n, _ in told} == {400, 3000}
    for fit in fits.values():
        assert fit.k >= 2
        D, Y = dense_design(fit.of, rows, fit.terms)
        np.testing.assert_allclose(fit.rss, dense_rss(D, Y), rtol=1e-9)
        noise = np.sqrt(fit.rss[0] / 3000) * fit.of.frame.outputs.scale[0]
        assert noise == pytest.approx(0.05, rel=0.03)
    values = [value for number, n, value in told if number == 2 and n == 3000]
    assert values == sorted(values)


def test_the_same_generator_gives_the_same_terms_alone_or_side_by_side(rows):
    def run(numbers):
        refinement, design = make_refinement(rows)
        start = {number: (design.mixture.empty(), design) for number in numbers}
        return refinement.run(np.random.default_rng(1), start)

    alone, together = run([0]), run([0, 1])
    np.testing.assert_array_equal(alone[0].terms.parameters, together[0].terms.parameters)
    assert alone[0].log_posterior == together[0].log_posterior


@pytest.mark.parametrize("n_asked", [0, 3, 40])
def test_without_time_what_there_is_is_fitted_to_all_rows(rows, n_asked):
    refinement, design = make_refinement(rows)
    left = iter([True] * n_asked)
    start = design.mixture.draw(np.random.default_rng(3), 2)
    fits = refinement.run(np.random.default_rng(1), {0: (start, design)}, go_on=lambda: next(left, False))
    assert isinstance(fits[0].of, Target)
    D, Y = dense_design(fits[0].of, rows, fits[0].terms)
    np.testing.assert_allclose(fits[0].rss, dense_rss(D, Y), rtol=1e-9)
    if n_asked == 0:
        np.testing.assert_array_equal(fits[0].terms.parameters, start.parameters)


def test_no_round_begins_after_enough_passes(rows):
    refinement, design = make_refinement(rows, SearchPolicy(**{**vars(POLICY), "most_passes": 4}))
    refinement.run(np.random.default_rng(1), {0: (design.mixture.empty(), design)})
    assert refinement.rows.n_passes <= 4 + 2 * POLICY.steps_of_refinement


def test_rows_are_drawn_once_each_and_in_order():
    drawn = draw_rows(np.random.default_rng(0), 50, 20)
    assert len(np.unique(drawn)) == 20
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(draw_rows(np.random.default_rng(0), 5, 9), np.arange(5))
