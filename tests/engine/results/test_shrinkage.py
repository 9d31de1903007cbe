"""Coefficients that a prior holds."""

import numpy as np
import pytest

from saltus.engine.results.network import WIDENINGS, shrink


def factored(D, Y):
    Q, R = np.linalg.qr(D)
    Z = (Q.T @ Y).T
    return R, Z, ((Y - Q @ Z.T) ** 2).sum(axis=0)


def test_it_is_the_posterior_mode_under_one_of_the_priors():
    rng = np.random.default_rng(0)
    D = np.hstack([np.ones((80, 1)), rng.random((80, 4))])
    Y = D @ rng.standard_normal((5, 2)) + 0.3 * rng.standard_normal((80, 2))
    R, Z, rss = factored(D, Y)
    found = shrink(R, Z, rss, 80.0, np.ones(4), np.full(4, np.inf))
    for i in range(2):
        modes = []
        for widening in WIDENINGS:
            precision = np.diag([0.0] + [rss[i] / 80.0 / widening**2] * 4)
            modes.append(np.linalg.solve(D.T @ D + precision, D.T @ Y[:, i]))
        assert min(np.abs(found[:, i] - mode).max() for mode in modes) < 1e-10


def test_columns_that_nearly_coincide_do_not_cancel():
    rng = np.random.default_rng(0)
    x = rng.random(60)
    D = np.column_stack([np.ones(60), x, x + 1e-7 * rng.standard_normal(60)])
    y = x + 0.1 * rng.standard_normal(60)
    R, Z, rss = factored(D, y[:, None])
    least_squares = np.linalg.solve(R, Z.T)[:, 0]
    held = shrink(R, Z, rss, 60.0, np.ones(2), np.full(2, np.inf))[:, 0]
    assert np.abs(least_squares).max() > 1e3
    assert np.abs(held).max() < 2
    assert D @ held == pytest.approx(D @ least_squares, abs=0.1)


def test_what_the_data_say_for_certain_stands():
    rng = np.random.default_rng(0)
    D = np.column_stack([np.ones(500), rng.random(500)])
    y = 40.0 * D[:, 1] + 1e-3 * rng.standard_normal(500)
    R, Z, rss = factored(D, y[:, None])
    assert shrink(R, Z, rss, 500.0, np.ones(1), np.full(1, np.inf))[1, 0] == pytest.approx(40.0, rel=1e-4)


def test_coefficients_that_must_be_huge_are():
    """Two columns that differ by little, and the data ask for their difference."""
    rng = np.random.default_rng(0)
    x = rng.random(200)
    D = np.column_stack([np.ones(200), x, x + 1e-4 * np.sin(9.0 * x)])
    y = np.sin(9.0 * x) + 0.01 * rng.standard_normal(200)
    R, Z, rss = factored(D, y[:, None])
    held = shrink(R, Z, rss, 200.0, np.ones(2), np.full(2, np.inf))[:, 0]
    assert ((y - D @ held) ** 2).sum() < 1.02 * rss[0]


def test_a_slope_that_goes_on_beyond_the_data_is_not_there_to_be_cancelled():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 200)
    D = np.column_stack([np.ones(200), x, np.tanh(0.01 * x)])  # a line, and a sigmoid that is all but a line
    y = x**3 + 0.01 * rng.standard_normal(200)
    R, Z, rss = factored(D, y[:, None])
    free = shrink(R, Z, rss, 200.0, np.ones(2), np.full(2, np.inf))[:, 0]
    held = shrink(R, Z, rss, 200.0, np.ones(2), np.array([10.0, np.inf]))[:, 0]
    assert abs(free[1]) > 10_000
    assert abs(held[1]) < 0.01 * abs(free[1])
