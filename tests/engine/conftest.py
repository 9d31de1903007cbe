"""Data for tests of the engine."""

import numpy as np
import pytest

from tests.many import N_ROWS


@pytest.fixture
def many_rows(rng):
    X = rng.random((N_ROWS, 2))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(N_ROWS)
