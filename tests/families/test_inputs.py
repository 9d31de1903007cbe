"""Inputs as terms see them that choose some: knots, positions along them, and inputs that are drawn alike."""

import numpy as np
import pytest

from saltus.families.inputs import MOST_KNOTS, InputScale, Law, find_bins
from tests.families.choosing import check_counts
from tests.kernels import draw_other_input, find_position


def scale_of(U, weight=None):
    return InputScale.of(U, np.ones(len(U)) if weight is None else weight)


def data_of(scale):
    return data_with_laws(scale, [Law(1, (0,))])


def data_with_laws(scale, laws):
    rows, is_gap = np.zeros((1, scale.n_inputs, 8)), np.zeros((1, 0, 8), dtype=np.uint8)
    return scale.data(rows, is_gap, find_bins(scale, rows), laws)


def test_inputs_have_mean_0_and_spread_1_as_rows_count(rng):
    U, weight = rng.random((50, 3)), rng.integers(1, 4, 50)
    scale = scale_of(U, weight.astype(float))
    again = np.repeat(U, weight, axis=0)
    np.testing.assert_allclose(scale.means, again.mean(axis=0))
    np.testing.assert_allclose(scale.spreads, again.std(axis=0))
    X = scale.standardize(U)
    np.testing.assert_allclose((scale.low, scale.high), (X.min(axis=0), X.max(axis=0)))
    beyond = np.vstack([U, U + 2, U - 2])
    held = scale.standardize(beyond, hold=True)
    np.testing.assert_array_equal(held[:50], X)
    assert ((held >= scale.low) & (held <= scale.high)).all()
    assert np.abs(scale.standardize(beyond)).max() > np.abs(held).max()


def test_thresholds_are_between_the_values_of_an_input(rng):
    """Of 4 distinct values, however they are spaced and however many rows have each, the three gaps are alike."""
    values = np.array([0.0, 0.1, 0.2, 1.0])
    at = rng.choice(4, 400, p=[0.7, 0.1, 0.1, 0.1])
    scale = scale_of(np.column_stack([values[at], rng.random(400)]))
    assert scale.n_knots.tolist() == [4, MOST_KNOTS]
    u = rng.random(30_000)
    position = scale.position(np.zeros(u.size, dtype=np.int64), u)
    knots = scale.standardize(np.column_stack([values, values]))[:, 0]
    np.testing.assert_allclose(scale.knots[0, :4], knots)
    assert ((position > knots[0]) & (position < knots[3])).all()
    check_counts(np.histogram(position, knots)[0], np.ones(3))


@pytest.mark.parametrize("n_values", [2, 5, 1000])
def test_positions_and_coordinates_are_inverse_and_those_of_kernels(rng, n_values):
    scale = scale_of(np.column_stack([rng.random(2000), rng.random(n_values)[rng.integers(n_values, size=2000)]]))
    data, u = data_of(scale), np.concatenate([[0.0, 1.0], rng.random(50)])
    for i in range(2):
        position = scale.position(np.full(u.size, i), u)
        assert (position[0], position[1]) == pytest.approx((scale.low[i], scale.high[i]))
        np.testing.assert_allclose([scale.coordinate(i, each) for each in position], u, atol=1e-12)
        np.testing.assert_allclose([find_position(data, i, each) for each in u], position, rtol=1e-12)


def test_many_values_are_thinned_to_knots_from_end_to_end(rng):
    scale = scale_of(rng.random((5000, 1)))
    assert scale.n_knots[0] == MOST_KNOTS
    assert scale.n_values[0] == 5000
    assert (scale.knots[0, 0], scale.knots[0, -1]) == (scale.low[0], scale.high[0])
    assert (np.diff(scale.knots[0]) > 0).all()


def test_widths_and_frequencies_have_a_range(rng):
    for n_values in (2, 3, 10, 10_000):
        scale = scale_of(np.resize(np.linspace(0, 1, n_values), 10_000)[:, None])
        for low, high in (*scale.log_width, *scale.log_frequency):
            assert low < high
        assert np.exp(scale.log_width[0, 1]) == pytest.approx(scale.high[0] - scale.low[0])


@pytest.mark.parametrize(("chosen", "stride"), [([], 1), ([2], 1), ([4, 0], 1), ([3, 9, 9, 1, 9, 9, 2, 9, 9], 3)])
def test_another_input_is_any_of_the_others(rng, chosen, stride):
    taken = chosen[::stride]
    chosen = np.array([*chosen, 0, 0], dtype=np.int64)
    drawn = [draw_other_input(rng, chosen, stride, len(taken), 5) for _ in range(5000)]
    counts = np.bincount(drawn, minlength=5)
    others = [i for i in range(5) if i not in taken]
    assert counts[taken].sum() == 0
    check_counts(counts[others], np.ones(len(others)))


def test_the_law_of_each_family_is_kept_apart(rng):
    scale = scale_of(rng.random((20, 3)))
    data = data_with_laws(scale, [None, Law(2, (1, 3)), Law(3, (2,))])
    np.testing.assert_array_equal(data.most_inputs, [0, 2, 3])
    np.testing.assert_allclose(np.exp(data.log_pi[1, :2]), 0.5)
    np.testing.assert_allclose(data.shares[2], [1 / 3, 2 / 3, 1.0])
    assert data.profiles[1, :2].tolist() == [1, 3]
    assert data.n_profiles.tolist() == [0, 2, 1]
