"""Data for tests of fits."""

import numpy as np
import pytest


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, size=(60, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)
