"""From data to a design."""

import numpy as np
import pytest

from saltus import Radial
from saltus.engine.kernels.state import start_state
from saltus.engine.problem.design import count_distinct_rows
from saltus.engine.search.starts import present_network, set_terms
from tests.engine.designs import make, make_with, radial_of, terms_at
from tests.problems import PROBLEMS, make_problem
from tests.reference import design_matrix, least_squares_rss


def test_distinct_rows(rng):
    X, Y = rng.random((40, 3)), rng.random((40, 2))
    assert count_distinct_rows(X, Y) == 40
    assert count_distinct_rows(np.vstack([X, X[::-1]]), np.vstack([Y, Y[::-1]])) == 40
    assert count_distinct_rows(np.vstack([X, X]), np.vstack([Y, Y + 1])) == 80


@pytest.mark.parametrize("name", [name for name, source in PROBLEMS.items() if source.n_levels is None])
def test_a_design_is_the_data_scaled_and_weighted(name):
    """The sums of squares of a state are those of plain least squares, in the user's units."""
    problem = make_problem(name)
    design = make_with(problem.X, problem.Y, Radial("cubic", metric="euclidean"), np.zeros(3), weight=problem.weight)
    parameters = 0.2 + 0.6 * np.random.default_rng(0).random((2, design.mixture.n_parameters))
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    set_terms(design, state, terms_at(design, parameters))
    centers = design.box.from_unit(radial_of(design).decode(parameters)[0])
    expected = least_squares_rss(design_matrix(problem.X, centers, "cubic"), problem.Y, problem.weight)
    np.testing.assert_allclose(state.factor.rss * design.outputs.scale**2, expected, rtol=1e-8)
    residuals = problem.Y - present_network(design, state).predict(problem.X)
    np.testing.assert_allclose((problem.weight[:, None] * residuals**2).sum(axis=0), expected, rtol=1e-6)
    shift = -0.5 * problem.weight.sum() * np.log(expected).sum()
    assert state.log_posterior[0] + design.log_posterior_shift == pytest.approx(shift, abs=1e-5)


def test_rows_that_pad_tiles_are_no_rows():
    problem = make_problem("three inputs", n_rows=513)
    design = make(problem.X, problem.Y)
    assert design.problem.root_weight.size > 513
    np.testing.assert_array_equal(design.rows, np.arange(513))
    assert not design.Y[513:].any()


def test_variants_share_their_rows_and_differ_in_what_a_term_is():
    problem = make_problem("three inputs")
    shared, own = make(problem.X, problem.Y).variants
    assert (shared.variant, own.variant) == (0, 1)
    assert shared.problem.families.radial.rows is own.problem.families.radial.rows
    assert own.mixture.n_parameters == shared.mixture.n_parameters + 1
    assert len(make(problem.X, problem.Y, widths="shared").variants) == 1


def test_the_cost_of_a_term_is_what_the_criterion_says():
    problem = make_problem("three inputs")
    design = make(problem.X, problem.Y, metric="euclidean", criterion="bic")
    assert design.cost_of_a_term(terms_at(design, np.full((2, 3), 0.5))) == pytest.approx(0.5 * (1 + 3) * np.log(80))
    free = make(problem.X, problem.Y, metric="euclidean", criterion=0)
    assert free.cost_of_a_term(terms_at(free, np.full((2, 3), 0.5))) == 1.0
