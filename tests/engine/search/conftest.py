"""Data for tests of searches."""

import numpy as np
import pytest


@pytest.fixture
def data(rng):
    X = rng.random((80, 3))
    return X, np.sin(6 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(80)
