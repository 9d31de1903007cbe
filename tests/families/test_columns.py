"""Whatever the families: columns by NumPy, by kernels, in descents and by the formula are one."""

import numpy as np
import pytest

from saltus.engine.search.landscape import Landscape
from tests.engine.designs import blind_to_faintness
from tests.families.choosing import FAMILIES, make_choosing
from tests.kernels import columns_of

K = 12


def flat(columns):
    """Put the rows of tiles (n_tiles, k, L) one after another: (N, k), padded."""
    return columns.transpose(0, 2, 1).reshape(-1, columns.shape[1])


@pytest.fixture(params=FAMILIES)
def name(request):
    return request.param


@pytest.mark.parametrize(
    "problem", ["a line", "weights", "three inputs, two outputs", "constant and dependent inputs", "a table"]
)
def test_columns_are_the_same_by_numpy_and_by_kernels(name, problem, rng):
    data, design = make_choosing(name, problem=problem, n_rows=600)  # two tiles
    terms, N, root = design.mixture.draw(rng, K), len(data.X), np.sqrt(data.weight)[:, None]
    expected = root * design.mixture.columns(design.box.to_unit(data.X), terms)
    assert (expected != 0).any()
    assert np.isfinite(expected).all(), "whatever is missing"
    by_kernels = flat(columns_of(design.problem.families, terms, design.problem.root_weight))
    np.testing.assert_allclose(by_kernels[:N], expected, rtol=1e-9, atol=1e-12)
    assert not by_kernels[N:].any()
    at_rows = design.columns(terms)
    np.testing.assert_allclose(at_rows[:N], expected, rtol=1e-9, atol=1e-12)
    assert not at_rows[N:].any()


@pytest.mark.parametrize("problem", ["three inputs, two outputs", "a table"])
def test_columns_of_a_descent_are_the_same(name, problem, rng):
    """Up to its rounding of the rows, which steps may notice."""
    data, design = make_choosing(name, problem=problem)
    terms = design.mixture.draw(rng, 5)
    Phi = flat(blind_to_faintness(Landscape.of(design)).evaluate(terms)[1].Phi)[: len(data.X)]
    expected = design.columns(terms)[: len(data.X)]
    assert (np.abs(Phi - expected) > 1e-4 * (1 + np.abs(expected))).mean() < 0.01


def test_columns_by_the_formula_are_the_same_inside_the_data_and_beyond(name, rng):
    data, design = make_choosing(name, problem="constant and dependent inputs")
    terms, box = design.mixture.draw(rng, K), design.box
    numbers = design.mixture.inspection.numbers(box, terms)
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    for new in (data.X, rng.uniform(low - 0.5, high + 0.5, (200, 4))):
        expected = design.mixture.columns(box.to_unit(new), terms)
        np.testing.assert_allclose(numbers.columns(new), expected, rtol=1e-7, atol=1e-9)


def test_no_terms_are_no_columns(name):
    data, design = make_choosing(name)
    none = design.mixture.empty()
    assert design.mixture.accepts(none)
    assert design.columns(none).shape[1] == 0
    assert design.mixture.columns(design.box.to_unit(data.X), none).shape == (len(data.X), 0)
    assert design.mixture.inspection.uses(design.box, none).shape == (0, 3)
    assert np.isfinite(Landscape.of(design).value(none))


@pytest.mark.parametrize("name", ["all products", "ridges", "a mixture"])
def test_beyond_the_data_terms_stay_as_they_are(name, rng):
    data, design = make_choosing(name)
    terms, box = design.mixture.draw(rng, K), design.box
    held = terms.take(np.array([design.mixture.members[f].geometry > 0 for f in terms.family]))
    corner = data.X.max(axis=0)[None]
    at, beyond = (design.mixture.columns(box.to_unit(corner * factor), held) for factor in (1.0, 7.0))
    np.testing.assert_allclose(beyond, at, rtol=1e-12)


@pytest.mark.parametrize("name", ["products that go on", "ridges that go on"])
def test_beyond_the_data_terms_go_on_where_that_was_asked(name, rng):
    data, design = make_choosing(name)
    terms, corner = design.mixture.draw(rng, K), data.X.max(axis=0)[None]
    at, beyond = (design.mixture.columns(design.box.to_unit(corner * factor), terms) for factor in (1.0, 1.5))
    assert (at != beyond).any()
