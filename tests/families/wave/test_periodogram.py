"""The law that the data suggest for waves in one input."""

import numpy as np
import pytest

from saltus.families.wave.frequencies import SLOWEST
from saltus.families.wave.periodogram import inform, power_in_bins


def direct(at, residuals, cycles):
    """The periodogram as it is written."""
    wave = np.exp(2j * np.pi * np.outer(cycles, at))
    return sum(np.abs(wave @ each) ** 2 for each in residuals)


def middles(fastest, n_bins):
    return SLOWEST + (fastest - SLOWEST) * (np.arange(n_bins) + 0.5) / n_bins


def test_at_even_rows_it_is_the_periodogram(rng):
    at, residuals = np.linspace(0, 1, 65), rng.standard_normal((2, 65))
    found, expected = power_in_bins(at, residuals, 32.0, 127), direct(at, residuals, middles(32.0, 127))
    # Between values of the transform, which are an eighth of a cycle apart, it is a straight line.
    np.testing.assert_allclose(found, expected, atol=0.03 * expected.max())


def test_at_other_rows_it_has_the_same_peaks(rng):
    at = np.sort(rng.random(200))
    residuals = np.cos(2 * np.pi * 37.3 * at + 1)[None] + 0.3 * rng.standard_normal((1, 200))
    found, expected = power_in_bins(at, residuals, 100.0, 400), direct(at, residuals, middles(100.0, 400))
    assert abs(middles(100.0, 400)[found.argmax()] - 37.3) < 0.25
    assert np.corrcoef(found, expected)[0, 1] > 0.95


def test_few_bins_are_averages_of_many(rng):
    at, residuals = np.linspace(0, 1, 65), rng.standard_normal((1, 65))
    many, few = (power_in_bins(at, residuals, 32.25, n_bins) for n_bins in (128, 16))
    np.testing.assert_allclose(few, many.reshape(16, 8).mean(axis=1), rtol=1e-9)


def make_law(rng, **changes):
    rows, residuals = rng.random((2, 2, 16)), rng.standard_normal((2, 3, 16))
    given = {"residuals": residuals, "cycles": np.array([10.0, 3.0])} | changes
    return inform(rows, np.zeros(2), np.ones(2), given["cycles"], given["residuals"]), residuals


def test_it_is_a_law(rng):
    law, _ = make_law(rng)
    assert 0 < law.share < 1
    assert law.relative.mean() == pytest.approx(1.0)
    assert law.cumulative[-1] == 1.0
    np.testing.assert_allclose(np.diff(law.cumulative, prepend=0.0), law.relative.ravel() / law.relative.size)


def test_outputs_weigh_alike(rng):
    law, residuals = make_law(np.random.default_rng(1))
    scaled, _ = make_law(np.random.default_rng(1), residuals=residuals * np.array([1e6, 1.0, 1e-6])[:, None])
    np.testing.assert_allclose(scaled.relative, law.relative, rtol=1e-9)


def test_where_nothing_is_left_nothing_is_known(rng):
    law, _ = make_law(rng, residuals=np.zeros((2, 3, 16)))
    assert law.share == 0.0
