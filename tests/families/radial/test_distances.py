"""Metrics as factors."""

import numpy as np

from saltus.families.radial.distances import metric_factor


def test_mahalanobis_of_singular_inputs_is_the_pseudo_inverse(rng):
    U = rng.random((50, 2)) @ rng.random((2, 3))
    factor = metric_factor("mahalanobis", U, np.ones(50), np.ones(3))
    assert factor.shape == (2, 3)
    np.testing.assert_allclose(factor.T @ factor, np.linalg.pinv(np.cov(U.T, ddof=0), rcond=1e-10), rtol=1e-6)
