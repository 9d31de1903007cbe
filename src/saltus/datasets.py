"""Data sets with a known truth."""

import numpy as np
from sklearn.utils import check_random_state

from saltus._typing import Floats

ROBOT_ARM_NOISE = 0.05


def robot_arm_position(X: Floats) -> Floats:
    """Position (N, 2) of the end of a two-joint arm with joint angles X (N, 2): the truth of `make_robot_arm`."""
    x1, x2 = X[:, 0], X[:, 1]
    return np.stack(
        [2.0 * np.cos(x1) + 1.3 * np.cos(x1 + x2), 2.0 * np.sin(x1) + 1.3 * np.sin(x1 + x2)],
        axis=1,
    )


def make_robot_arm(
    n_samples: int = 600,
    *,
    noise: float = ROBOT_ARM_NOISE,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Floats, Floats]:
    """Make data like MacKay's robot arm data, the paper's experiment.

    Parameters
    ----------
    n_samples : int, default=600
        The real data has 600 rows: 200 to train, and two test sets of 200.
    noise : float, default=0.05
        Standard deviation of the noise on each output.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Joint angles: x1 uniform in [-1.932, -0.453] and [0.453, 1.932], x2 uniform in [0.534, 3.142].
    Y : ndarray of shape (n_samples, 2)
        Positions, with noise.
    """
    if not isinstance(n_samples, int | np.integer) or n_samples < 0:
        raise ValueError(f"n_samples must be a whole number, 0 or more. Got {n_samples!r}.")
    rng = check_random_state(random_state)
    x1 = rng.uniform(0.453, 1.932, n_samples) * rng.choice([-1.0, 1.0], n_samples)
    x2 = rng.uniform(0.534, 3.142, n_samples)
    X = np.stack([x1, x2], axis=1)
    return X, robot_arm_position(X) + noise * rng.standard_normal((n_samples, 2))
