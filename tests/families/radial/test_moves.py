"""Moves of pairs: the ratio of a split is selection times density times Jacobian, and pairs are mutually nearest."""

import numpy as np
import pytest

from saltus.engine.kernels.moves import MERGE, SPLIT, UPDATE
from tests.proposals import K_MAX, SPLIT_SCALE, try_move


@pytest.mark.parametrize("d", [1, 2, 3])
def test_log_green_of_split_is_selection_times_density_times_jacobian(rng, d):
    centers = rng.random((4, d))
    mu, u, step = centers[0], rng.uniform(-1, 1, d), 1e-6

    def pair(values):
        return np.concatenate([values[:d] - SPLIT_SCALE * values[d:], values[:d] + SPLIT_SCALE * values[d:]])

    at = np.concatenate([mu, u])
    jacobian = np.stack([(pair(at + step * e) - pair(at - step * e)) / (2 * step) for e in np.eye(2 * d)], axis=1)
    k = len(centers)
    pick_pair_for_merge = 2 / (k + 1)
    pick_parent = 1 / k
    density_of_u_and_minus_u = 2 * 2.0**-d
    expected = np.log(pick_pair_for_merge / (pick_parent * density_of_u_and_minus_u))
    expected += np.log(abs(np.linalg.det(jacobian)))
    for _ in range(1000):
        proposal = try_move(rng, SPLIT, centers)
        if proposal is not None:
            assert proposal[1] == pytest.approx(expected)
            return
    pytest.fail("no split could be made")


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_pair_moves_as_one_and_is_a_pair_where_it_arrives(rng, d):
    n_checked = 0
    for _ in range(2000):
        centers = rng.random((int(rng.integers(2, K_MAX)), d))
        there = try_move(rng, UPDATE, centers)
        kept = [] if there is None else [center for center in there[0] if (center == centers).all(axis=1).any()]
        if there is None or len(kept) > len(centers) - 2:
            continue
        pair = there[0][-2:]
        gap = pair[0] - pair[1]
        before = np.array([center for center in centers if not (center == there[0]).all(axis=1).any()])
        assert np.allclose(before[0] - before[1], gap) or np.allclose(before[1] - before[0], gap)
        assert all(np.linalg.norm(pair - center, axis=1).min() >= np.linalg.norm(gap) for center in kept)
        n_checked += 1
    assert n_checked > 50


def test_split_and_merge_ask_for_mutually_nearest_centres_within_reach(rng):
    n_split = n_merge = 0
    for _ in range(3000):
        centers = rng.random((5, 2))
        split = try_move(rng, SPLIT, centers)
        if split is not None:
            n_split += 1
            a, b = split[0][-2:]
            others = split[0][:-2]
            gap = np.linalg.norm(a - b)
            assert np.abs(a - b).max() < 2 * SPLIT_SCALE
            assert min(np.linalg.norm(others - a, axis=1).min(), np.linalg.norm(others - b, axis=1).min()) >= gap
        merge = try_move(rng, MERGE, centers)
        if merge is not None:
            n_merge += 1
            gone = [c for c in centers if not (merge[0] == c).all(axis=1).any()]
            assert len(gone) == 2
            np.testing.assert_allclose(merge[0][-1], np.mean(gone, axis=0))
            assert np.abs(gone[0] - gone[1]).max() < 2 * SPLIT_SCALE
    assert n_split > 100
    assert n_merge > 100


def test_split_reaches_every_direction(rng):
    quadrants = set()
    for _ in range(500):
        split = try_move(rng, SPLIT, np.array([[0.5, 0.5]]))
        a, b = split[0]
        quadrants.add(tuple(np.sign(b - a).astype(int)))
    assert quadrants == {(1, 1), (1, -1), (-1, 1), (-1, -1)}
