"""Radial terms on given data: columns by NumPy and by kernels are one, and what terms count for."""

import numpy as np
import pytest

from saltus.engine.search.landscape import Landscape
from saltus.families.options import RADIAL_NAMES
from saltus.families.radial.kernels import SHARPEST, WIDTH_COST
from tests.engine.designs import blind_to_faintness, make, radial_of, terms_at
from tests.problems import make_problem
from tests.reference import design_matrix


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("name", ["sinc", "weights", "three inputs"])
def test_columns_are_the_same_at_rows_by_kernels_and_by_the_formula(name, basis):
    problem = make_problem(name)
    design = make(problem.X, problem.Y, basis, problem.weight, metric="euclidean", width=0.7, widths="shared")
    family, root = radial_of(design), np.sqrt(problem.weight)
    parameters = np.random.default_rng(0).random((3, family.n_parameters))
    U, terms, N = design.box.to_unit(problem.X), terms_at(design, parameters), len(problem.X)
    centers = design.box.from_unit(family.decode(parameters)[0])
    expected = design_matrix(problem.X, centers, basis, width=0.7)[:, 1 + problem.X.shape[1] :]
    found = family.columns(U, terms) * family.coefficient_scale
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    at_rows = design.columns(terms)
    np.testing.assert_allclose(at_rows[:N], root[:, None] * family.columns(U, terms), rtol=1e-9)
    assert not at_rows[N:].any()
    landscape = blind_to_faintness(Landscape.of(design))
    Phi = landscape.evaluate(terms)[1].Phi
    np.testing.assert_allclose(Phi.transpose(0, 2, 1).reshape(-1, 3)[:N], at_rows[:N], rtol=1e-5, atol=1e-6)


def test_own_widths_are_the_last_coordinate():
    problem = make_problem("three inputs")
    family = radial_of(make(problem.X, problem.Y, widths="own"))
    parameters = np.array([[0.1, 0.2, 0.3, 0.0], [0.4, 0.5, 0.6, 0.5], [0.7, 0.8, 0.9, 1.0]])
    centers, sharpness = family.decode(parameters)
    np.testing.assert_array_equal(centers, parameters[:, :3])
    np.testing.assert_allclose(sharpness, [1 / SHARPEST, 1.0, SHARPEST])
    np.testing.assert_array_equal(family.decode(family.encode(centers).parameters)[1], np.ones(3))


@pytest.mark.parametrize(
    ("options", "fewest", "most", "n_switches"),
    [
        ({"metric": "standardized", "widths": "shared"}, 3, 3, 0),
        ({"metric": "standardized", "widths": "own"}, 3 + WIDTH_COST, 3 + WIDTH_COST, 0),
        ({"metric": "learned", "widths": "shared"}, 1, 3, 3),
        ({"metric": "learned", "widths": "own"}, 1 + WIDTH_COST, 3 + WIDTH_COST, 3),
    ],
)
def test_what_a_term_counts_for(options, fewest, most, n_switches):
    problem = make_problem("three inputs")
    family = radial_of(make(problem.X, problem.Y, **options))
    assert (family.parameter_counts, family.n_switches) == ((fewest, most), n_switches)
