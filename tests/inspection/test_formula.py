"""A formula has as many digits as it takes, and no more."""

import numpy as np

from saltus import AnnealedRegressor, Radial
from saltus.families.profiles import RADIAL_PROFILES
from saltus.families.radial.numbers import RadialNumbers
from saltus.inspection.formula import ROUNDING, Digits, Formula, digits_needed


def test_no_more_digits_than_needed():
    rng = np.random.default_rng(11)
    X = rng.uniform(-3, 3, size=(60, 4))
    y = 2 * np.sin(X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(60)
    family = Radial("gaussian", width=1.5)
    network = AnnealedRegressor(family, n_iter=200, n_chains=2, random_state=0).fit(X, y)._single_network
    digits = digits_needed(network)
    points = network.box.draw(np.random.default_rng(0), 500)
    fewer = Formula.of(network).rounded(Digits(digits.linear, digits.terms - 1)).predict(points)
    assert np.abs(fewer - network.predict(points)).max() > ROUNDING * network.outputs.scale[0]


def test_every_number_of_a_formula_is_rounded():
    numbers = np.array([[1234.5678, -0.0012345]])
    terms = RadialNumbers(RADIAL_PROFILES["linear"], numbers, numbers[0], numbers[0], numbers)
    formula = Formula(numbers[0], numbers, numbers, terms, numbers[0])
    rounded = formula.rounded(Digits(linear=2, terms=3))
    for part in (rounded.intercept, rounded.linear[0]):
        assert part.tolist() == [1200.0, -0.0012]
    of_radial = rounded.terms
    of_terms = (of_radial.centers[0], of_radial.widths, of_radial.length_scales, of_radial.matrix[0])
    for part in (rounded.coefficients[0], *of_terms):
        assert part.tolist() == [1230.0, -0.00123]
