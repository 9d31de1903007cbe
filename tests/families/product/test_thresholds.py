import numpy as np
import pytest

from saltus import AnnealedRegressor
from saltus._tiles import to_tiles
from saltus.engine.search.policy import SearchPolicy
from saltus.families.inputs import InputScale, find_bins
from tests.kernels import add_to_bins, add_to_bins_beside_gaps, find_level, find_subset, find_threshold


def sums_of(bins, p, residuals, n_bins):
    sums = np.zeros((n_bins, residuals.shape[0] + 1))
    add_to_bins(bins, p, residuals, residuals.shape[0], sums)
    return sums


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_threshold_is_the_best_of_all(side, n_outputs):
    rng = np.random.default_rng(10 * side + n_outputs)
    n, n_bins = 400, 12
    bins = rng.integers(0, n_bins, n).astype(np.uint8)
    p = rng.uniform(0, 1, n) * (rng.random(n) < 0.7)
    tile = np.vstack([rng.standard_normal((n_outputs, n)) + 0.3 * (bins > 7), np.full(n, 1 / np.sqrt(n))])
    # The residuals of a fit have no part along the constant.
    tile[:-1] -= np.outer(tile[:-1] @ tile[-1], tile[-1])
    seen = (tile**2).sum(axis=1)

    def share(after):
        column = p * ((bins > after) if side == 0 else (bins <= after))
        centred = column - (column @ tile[-1]) * tile[-1]
        return sum((centred @ r) ** 2 / (centred @ centred) / (r @ r) for r in tile[:-1])

    found = find_threshold(sums_of(bins, p, tile, n_bins), n_bins, side, seen, n, 0.0, 0.0)
    assert found == np.argmax([share(after) for after in range(n_bins - 1)])


def rows_of_levels(rng, n_levels, n_outputs, n=400):
    """Draw levels, a column that multiplies, residuals without a part along the constant, and their squared lengths."""
    levels, p = rng.integers(0, n_levels, n).astype(np.uint8), rng.uniform(0, 1, n) * (rng.random(n) < 0.7)
    tile = np.vstack([rng.standard_normal((n_outputs, n)) + 0.5 * (levels % 3 == 0), np.full(n, 1 / np.sqrt(n))])
    tile[:-1] -= np.outer(tile[:-1] @ tile[-1], tile[-1])
    return levels, p, tile, (tile**2).sum(axis=1)


def share_along(column, tile):
    """Find the share of the residuals along a column less its mean, summed over outputs."""
    centred = column - (column @ tile[-1]) * tile[-1]
    return sum((centred @ r) ** 2 / (centred @ centred) / (r @ r) for r in tile[:-1])


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_level_is_the_best_of_all(n_outputs):
    levels, p, tile, seen = rows_of_levels(np.random.default_rng(n_outputs), 9, n_outputs)
    found = find_level(sums_of(levels, p, tile, 9), 9, seen, 0.0)
    assert found == np.argmax([share_along(p * (levels == level), tile) for level in range(9)])


@pytest.mark.parametrize("seed", range(5))
def test_the_set_of_levels_is_the_best_of_all_sets(seed):
    """Where a column is 0 or 1, as for other factors that are steps, no set of the 2^8 is worth more."""
    rng = np.random.default_rng(seed)
    levels, p, tile, seen = rows_of_levels(rng, 8, 1)
    p = (p > 0).astype(float)
    shares = [share_along(p * ((one >> levels.astype(int)) & 1), tile) for one in range(1, 2**8 - 1)]
    found = []
    for _ in range(20):
        sums, words = np.zeros((8, 4)), np.zeros(3, dtype=np.int64)
        add_to_bins(levels, p, tile, 2, sums)
        find_subset(rng, sums, 8, seen, 400, 0.0, 0.0, words, 1)
        assert words[0] == words[2] == 0
        found.append(share_along(p * ((words[1] >> levels.astype(int)) & 1), tile))
    assert len(set(found)) == 2, "from the lowest mean up, or from the highest down"
    assert max(found) == pytest.approx(max(shares), rel=1e-9)


def test_a_set_of_many_levels_is_written_down_in_words():
    """Of 70 levels those whose rows have large residuals are found, whichever word they are in, or all others."""
    rng = np.random.default_rng(3)
    levels = np.resize(np.arange(70), 1400)
    high = levels % 7 == 2
    tile = np.vstack([high - high.mean(), np.full(1400, 1 / np.sqrt(1400))])
    seen, sums = (tile**2).sum(axis=1), np.zeros((70, 4))
    add_to_bins(levels.astype(np.uint8), np.ones(1400), tile, 2, sums)
    words = np.zeros(3, dtype=np.int64)
    find_subset(rng, sums, 70, seen, 1400, 0.0, 0.0, words, 0)
    inside = (words[levels // 32] >> (levels % 32)) & 1 == 1
    assert (inside == high).all() or (inside == ~high).all()
    assert words[2] < 1 << 6


def test_gaps_are_in_the_bin_that_every_threshold_sees_or_in_none():
    bins, is_gap = np.array([0, 1, 2, 0], dtype=np.uint8), np.array([0, 0, 0, 1], dtype=np.uint8)
    tile = np.vstack([np.arange(1.0, 5.0), np.full(4, 0.5)])
    for seen_at_gaps, first in ((0, [5.0, 1.0, 2.0]), (2, [1.0, 0.5, 1.0]), (-1, [1.0, 0.5, 1.0])):
        sums = np.zeros((3, 3))
        add_to_bins_beside_gaps(bins, is_gap, seen_at_gaps, np.ones(4), tile, 2, sums)
        np.testing.assert_allclose(sums[0], first)
        np.testing.assert_allclose(sums[2], [7.0, 1.0, 2.0] if seen_at_gaps == 2 else [3.0, 0.5, 1.0])


def test_a_threshold_that_too_few_rows_are_beyond_is_left_alone():
    bins = np.array([0] * 50 + [1], dtype=np.uint8)
    tile = np.vstack([np.r_[np.full(50, -0.02), 1.0], np.full(51, 1 / np.sqrt(51))])
    seen = (tile**2).sum(axis=1)
    sums = sums_of(bins, np.ones(51), tile, 2)
    assert find_threshold(sums.copy(), 2, 0, seen, 51, 0.5, 0.5) == 0
    assert find_threshold(sums.copy(), 2, 0, seen, 51, 2.0, 0.5) == -1
    assert find_threshold(sums.copy(), 2, 1, seen, 51, 2.0, 0.5) == 0
    assert find_threshold(sums.copy(), 2, 1, seen, 51, 2.0, 2.0) == -1


def test_bins_are_those_of_the_nearest_knots():
    rng = np.random.default_rng(0)
    U = np.column_stack([rng.integers(0, 4, 700) / 3, rng.random(700)])
    scale = InputScale.of(U, np.ones(700))
    rows = to_tiles(scale.standardize(U))
    bins = find_bins(scale, rows)
    for i in range(2):
        distance = np.abs(rows[:, i, :, None] - scale.knots[i, : scale.n_knots[i]])
        chosen = np.take_along_axis(distance, bins[:, i, :, None].astype(int), axis=-1)[..., 0]
        np.testing.assert_allclose(chosen, distance.min(axis=-1))


def test_boxes_in_five_inputs_are_found_as_they_are():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 8, size=(3000, 10)).astype(float)
    boxes = [(rng.choice(10, 3, replace=False), rng.integers(1, 6, 3)) for _ in range(6)]
    truth = sum((j + 1.0) * (X[:, which] > at).all(axis=1) for j, (which, at) in enumerate(boxes))
    y = truth + 0.1 * rng.standard_normal(3000)
    model = AnnealedRegressor("steps", linear="none", n_chains=1, random_state=0)
    model._policy = SearchPolicy(candidates=100)
    model.fit(X[:2000], y[:2000])
    assert np.sqrt(np.mean((model.predict(X[2000:]) - truth[2000:]) ** 2)) < 0.1
