"""Descents start where rows are."""

import numpy as np
import pytest

from saltus import Product, Ridge
from saltus.engine.kernels.state import start_state
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.starts import are_seen, descend_from_starts, set_independent_terms, starting_terms
from saltus.families.radial.search import weighted_quantiles
from tests.engine.designs import make, make_with, radial_of, terms_at
from tests.many import FEW, N_ROWS
from tests.problems import make_problem


@pytest.mark.parametrize("options", [{}, {"metric": "mahalanobis"}, {"metric": "euclidean", "widths": "own"}])
def test_rows_are_found_in_the_unit_cube(data, options):
    X, y = data
    design = make(X, y, **options)
    family = radial_of(design)
    parameters = family.search.at_rows(design.problem.families.radial, design.rows)
    np.testing.assert_allclose(family.decode(parameters)[0], design.box.to_unit(X), atol=1e-7)


def test_outliers_do_not_keep_centres_from_the_others(data, rng):
    X, y = data
    X = X.copy()
    X[:2] = [1000.0, -1000.0, 500.0]
    design = make(X, y)
    centers, _ = radial_of(design).decode(starting_terms(rng, design, many=True).parameters)
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
    centers = starting_terms(rng, make(X, y, widths="shared"), many=True).parameters
    assert np.unique(centers[:, 3]).size > 5


def test_the_best_start_is_taken_to_all_rows(many_rows, rng):
    design = make(*many_rows)
    d = design.mixture.n_parameters
    starts = [terms_at(design, rng.random((k, d))) for k in (1, 3)]
    seen = []

    def stay(landscape, terms):
        candidate = landscape.candidate(terms)
        seen.append((landscape.n_rows, len(terms), candidate.log_posterior))
        return candidate

    finest = Landscape.of(design, policy=FEW)
    found = descend_from_starts(rng, design, finest, starts, stay, lambda: True)
    best = 1 if seen[0][2] > seen[1][2] else 3
    assert [(n_rows, k) for n_rows, k, _ in seen] == [(100, 1), (100, 3), (400, best), (N_ROWS, best)]
    assert found.log_posterior == finest.value(found.terms) == seen[-1][2]


def test_a_descent_that_must_stop_sees_no_more_rows(many_rows, rng):
    design = make(*many_rows)
    seen = []

    def stay(landscape, terms):
        seen.append(landscape.n_rows)
        return landscape.candidate(terms)

    start = terms_at(design, rng.random((2, design.mixture.n_parameters)))
    descend_from_starts(rng, design, Landscape.of(design, policy=FEW), [start], stay, lambda: False)
    assert seen == [100]


def test_terms_that_all_but_a_few_rows_see_alike_are_left_out():
    """Steps and sigmoids that are 1, or -1, nearly everywhere are no better than those that are 0."""
    problem = make_problem("weights")
    families = [Product("step"), Ridge("sigmoid")]
    design = make_with(problem.X, problem.Y, families, np.arange(400.0), weight=problem.weight)
    terms = design.mixture.draw(np.random.default_rng(0), 2000)
    columns = design.columns(terms)
    phi = columns[: len(problem.X)] / np.sqrt(problem.weight)[:, None]
    on = problem.weight @ phi**2
    off = np.minimum(problem.weight @ (1 - phi) ** 2, problem.weight @ (1 + phi) ** 2)
    is_on, is_off = on > 3.0 - 1e-8, off > np.where(terms.family == 0, 3.0 - 1e-8, 1.0)
    expected = is_on & is_off
    assert (is_on & ~is_off).sum() > 5, "some are refused for this alone"
    np.testing.assert_array_equal(are_seen(design.problem, terms, columns), expected)
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    refused = terms.take(np.flatnonzero(is_on & ~is_off)[:5])
    set_independent_terms(design, state, refused)
    assert state.terms.k[0] == 0
