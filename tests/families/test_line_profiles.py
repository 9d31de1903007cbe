"""Profiles along a line: kernels and NumPy are one, and slopes are derivatives."""

import numpy as np
import pytest

from saltus.families.line_profiles import HIGHEST_DEGREE, LINE_PROFILES, NAMES, OFF_THE_LINE, SIDED, SMOOTH
from saltus.families.options import PRODUCT_PROFILES, RIDGE_PROFILES
from tests.kernels import multiply_by_profile, multiply_by_slope, replace_by_profile

B, C = -1.7, 0.3

ON_A_LINE = [name for code, name in enumerate(NAMES) if code not in OFF_THE_LINE]


@pytest.fixture
def x(rng):
    return rng.uniform(-4, 4, 200)


@pytest.mark.parametrize("name", ON_A_LINE)
def test_kernels_evaluate_what_numpy_does(x, rng, name):
    weight, expected = rng.random(200), LINE_PROFILES[name].value(B * x + C)
    column = weight.copy()
    multiply_by_profile(NAMES.index(name), x, B, C, column)
    np.testing.assert_allclose(column, weight * expected, rtol=1e-9, atol=1e-13)
    if name in RIDGE_PROFILES and name != "wave":  # which is a family of its own
        column = x.copy()
        replace_by_profile(NAMES.index(name), B, C, column)
        np.testing.assert_allclose(column, expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", ON_A_LINE)
def test_slopes_are_derivatives(x, rng, name):
    weight, step = rng.random(200), 1e-6
    slope = weight.copy()
    multiply_by_slope(NAMES.index(name), x, B, C, slope)
    value, z = LINE_PROFILES[name].value, B * x + C
    expected = weight * (value(z + step) - value(z - step)) / (2 * step)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)


def test_what_is_said_of_profiles_is_so():
    z = np.linspace(-3, 3, 60)
    for name in ON_A_LINE:
        profile = LINE_PROFILES[name]
        is_another = not np.allclose(np.abs(profile.value(z)), np.abs(profile.value(-z)))
        assert is_another == SIDED[NAMES.index(name)], name
    degrees = [name for name in NAMES if name.startswith("polynomial of degree")]
    assert len(degrees) == HIGHEST_DEGREE - 1
    assert [name for name in ON_A_LINE if not SMOOTH[NAMES.index(name)]] == ["step", "polynomial", *degrees]
    assert set(PRODUCT_PROFILES) | set(RIDGE_PROFILES) == set(ON_A_LINE) - set(degrees)


def test_far_away_nothing_overflows():
    x = np.array([-1e9, 1e9])
    for code in map(NAMES.index, ON_A_LINE):
        value, slope = np.ones(2), np.ones(2)
        multiply_by_profile(code, x, 1.0, 0.0, value)
        multiply_by_slope(code, x, 1.0, 0.0, slope)
        assert np.isfinite([value, slope]).all()
