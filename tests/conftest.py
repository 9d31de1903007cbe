import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20001)


@pytest.fixture
def bumps(rng):
    """Small data with two inputs, two outputs and something to find."""
    X = rng.uniform(-2, 3, size=(80, 2))
    Y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], np.abs(X[:, 0] - X[:, 1])], axis=1)
    return X, Y + 0.1 * rng.standard_normal(Y.shape)
