"""Forward then reverse is the identity, log_green antisymmetric, the Jacobian."""

import numpy as np
import pytest

from saltus.engine.kernels.moves import BIRTH, DEATH, MERGE, SPLIT, UPDATE, make_edits
from tests.kernels import propose

K_MAX, SPLIT_SCALE, WALK_SCALE = 8, 0.2, 0.1


def apply(centers, edits, which):
    kept = np.delete(centers, edits.out[which, : edits.n_out[which]], axis=0)
    return np.vstack([kept, edits.incoming[which, : edits.n_in[which]]])


def as_set(centers):
    return centers[np.lexsort(centers.T)]


def try_move(rng, move, centers, k_max=K_MAX, split_scale=SPLIT_SCALE):
    """(new centres, log_green), or None where the move is null."""
    edits, which = make_edits(3, centers.shape[1]), int(rng.integers(3))
    k = len(centers)
    padded = np.zeros((K_MAX, centers.shape[1]))
    padded[:k] = centers
    feasible, log_green = propose(rng, move, padded, k, k_max, split_scale, WALK_SCALE, edits, which)
    np.testing.assert_array_equal(padded[:k], centers)
    return (apply(centers, edits, which), log_green) if feasible else None


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("forward", "backward"), [(BIRTH, DEATH), (SPLIT, MERGE)])
def test_a_move_and_its_opposite_undo_each_other_with_opposite_log_green(rng, d, forward, backward):
    n_checked = 0
    for _ in range(800):
        centers = rng.random((int(rng.integers(0, K_MAX)), d))
        there = try_move(rng, forward, centers)
        if there is None:
            continue
        for _ in range(200):
            back = try_move(rng, backward, there[0])
            if back is not None and np.allclose(as_set(back[0]), as_set(centers)):
                break
        else:
            pytest.fail("the opposite move never led back")
        assert back[1] == pytest.approx(-there[1])
        n_checked += 1
    assert n_checked > 100


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


def test_log_green_of_birth_death_and_update(rng):
    centers = rng.random((5, 2))
    assert try_move(rng, BIRTH, centers)[1] == pytest.approx(-np.log(6))
    assert try_move(rng, DEATH, centers)[1] == pytest.approx(np.log(5))
    updates = [try_move(rng, UPDATE, centers) for _ in range(100)]
    assert {update[1] for update in updates if update is not None} == {0.0}


@pytest.mark.parametrize(
    ("move", "k", "k_max"),
    [
        (BIRTH, 4, 4),
        (SPLIT, 4, 4),
        (DEATH, 0, 4),
        (SPLIT, 0, 4),
        (MERGE, 0, 4),
        (MERGE, 1, 4),
        (UPDATE, 0, 4),
    ],
)
def test_moves_that_cannot_be_made_are_null(rng, move, k, k_max):
    assert all(try_move(rng, move, rng.random((k, 2)), k_max=k_max) is None for _ in range(50))


@pytest.mark.parametrize("move", [BIRTH, SPLIT, MERGE, UPDATE])
def test_centres_never_leave_the_box_and_are_never_clamped_to_it(rng, move):
    n_null = 0
    for _ in range(2000):
        centers = np.where(rng.random((3, 2)) < 0.5, 0.02, 0.98) + rng.uniform(-0.02, 0.02, (3, 2))
        proposal = try_move(rng, move, centers)
        if proposal is None:
            n_null += 1
            continue
        assert ((proposal[0] >= 0) & (proposal[0] <= 1)).all()
        assert not ((proposal[0] == 0) | (proposal[0] == 1)).any()
    if move in (SPLIT, UPDATE):
        assert n_null > 100


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
