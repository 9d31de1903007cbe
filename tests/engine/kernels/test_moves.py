"""Forward then reverse is the identity, log_green is antisymmetric, and what cannot be made is null."""

import numpy as np
import pytest

from saltus.engine.kernels.moves import BIRTH, DEATH, MERGE, SPLIT, UPDATE
from tests.proposals import K_MAX, as_set, try_move


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
def test_terms_never_leave_the_box_and_are_never_clamped_to_it(rng, move):
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
