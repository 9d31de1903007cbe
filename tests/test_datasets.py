"""Data sets that come with the library."""

import numpy as np

from saltus.datasets import make_robot_arm, robot_arm_position


def test_robot_arm():
    X, Y = make_robot_arm(5000, random_state=0)
    assert X.shape == Y.shape == (5000, 2)
    assert 0.453 <= np.abs(X[:, 0]).min() < 0.46
    assert 1.92 < np.abs(X[:, 0]).max() <= 1.932
    assert 0.48 < (X[:, 0] > 0).mean() < 0.52
    assert 0.534 <= X[:, 1].min() < 0.55
    assert 3.13 < X[:, 1].max() <= 3.142
    noise = Y - robot_arm_position(X)
    np.testing.assert_allclose(noise.std(axis=0), 0.05, rtol=0.05)
    np.testing.assert_allclose(robot_arm_position(np.array([[0.0, np.pi / 2]])), [[2.0, 1.3]], atol=1e-15)
    np.testing.assert_array_equal(make_robot_arm(10, random_state=1)[0], make_robot_arm(10, random_state=1)[0])
    np.testing.assert_array_equal(make_robot_arm(5, noise=0, random_state=1)[1],
                                  robot_arm_position(make_robot_arm(5, noise=0, random_state=1)[0]))  # fmt: skip
