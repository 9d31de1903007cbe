"""Factors made from scratch, and rows in tiles."""

import numpy as np
import pytest

from saltus._tiles import TILE, from_tiles, pad_rows, rounded, tile_shape, to_tiles
from saltus.engine.kernels.factor import COLLINEAR, copy_factor, independent_columns, make_factor, refactor
from tests.reference import least_squares_rss


def linear_term(rng, n_rows):
    return np.linalg.qr(np.column_stack([np.ones(n_rows), rng.random((n_rows, 2))]))[0]


@pytest.mark.parametrize("n_rows", [1, 8, 9, TILE, TILE + 1, 3 * TILE - 5])
def test_tiles_hold_the_rows_and_zeros(rng, n_rows):
    array = rng.standard_normal((n_rows, 3))
    tiles = to_tiles(array)
    n_tiles, length = tile_shape(n_rows)
    assert tiles.shape == (n_tiles, 3, length)
    assert n_tiles * length - n_rows < max(length, 8)
    again = from_tiles(tiles)
    np.testing.assert_array_equal(again[:n_rows], array)
    assert not again[n_rows:].any()
    np.testing.assert_array_equal(pad_rows(array), again)


def test_rounding_leaves_out_the_last_digits(rng):
    values = rng.standard_normal(1000)
    np.testing.assert_allclose(rounded(values), values, atol=2.0**-27)
    np.testing.assert_array_equal(rounded(values * (1 + 1e-15)), rounded(values))


@pytest.mark.parametrize("n_rows", [30, 1100])
def test_a_factor_is_a_thin_qr(rng, n_rows):
    Q_fixed, Y, Phi = linear_term(rng, n_rows), rng.standard_normal((n_rows, 2)), rng.random((n_rows, 4))
    factor = make_factor(pad_rows(Q_fixed), pad_rows(Y), 3 + 5)
    np.testing.assert_allclose(factor.rss, least_squares_rss(Q_fixed, Y))
    refactor(factor, pad_rows(Q_fixed), pad_rows(Y), np.asfortranarray(pad_rows(Phi)))
    E, Q = np.split(from_tiles(factor.tiles[:, : 2 + 7])[:n_rows], [2], axis=1)
    D = np.hstack([Q_fixed, Phi])
    np.testing.assert_allclose(Q.T @ Q, np.eye(7), atol=1e-13)
    np.testing.assert_allclose(Q[:, 3:] @ factor.R[3:7, 3:7] + Q_fixed @ factor.R[:3, 3:7], Phi, atol=1e-12)
    np.testing.assert_allclose(factor.Z[:, :7].T, Q.T @ Y, atol=1e-12)
    np.testing.assert_allclose(E, Y - D @ np.linalg.lstsq(D, Y, rcond=None)[0], atol=1e-10)
    np.testing.assert_allclose(factor.rss, least_squares_rss(D, Y))
    copy = copy_factor(factor)
    for one, other in zip(copy, factor, strict=True):
        np.testing.assert_array_equal(one, other)
        assert not np.shares_memory(one, other)


def test_columns_are_new_beside_those_before_and_not_faint(rng):
    Q_fixed, Y = linear_term(rng, 40), rng.standard_normal((40, 1))
    one, other, away = rng.standard_normal((3, 40))
    nearly = one + 0.3 * np.sqrt(COLLINEAR) * away / np.linalg.norm(away) * np.linalg.norm(one)
    Phi = np.column_stack([one, nearly, other, 1e-3 * rng.standard_normal(40), np.zeros(40)])
    squared = (Phi**2).sum(axis=0)
    factor = make_factor(pad_rows(Q_fixed), pad_rows(Y), 3 + 5)
    refactor(factor, pad_rows(Q_fixed), pad_rows(Y), np.asfortranarray(pad_rows(Phi)))
    assert independent_columns(factor, 3, squared).tolist() == [True, False, True, True, False]
    assert independent_columns(factor, 3, squared, 1e-2).tolist() == [True, False, True, False, False]
