"""How sharp one basis function is, beside the others: what distances to its centre are multiplied by.

Where basis functions have widths of their own, each has one more coordinate in the unit cube, its last, that gives the
logarithm of its sharpness; a prior that is uniform in the cube is uniform in that logarithm. So the moves of the chain
move widths as they move centres, and know nothing of it.
"""

import numpy as np

from saltus._jit import glue
from saltus._typing import Floats

# Sharpnesses are between 1 / SHARPEST and SHARPEST. Errors to the truth of BayesianRegressor over those of a Gaussian
# process, geometric means of the 11 noisy tasks of benchmarks/compare, seeds 20-23: 0.96 with 4, 0.95 with 8; with one
# width for all, seeds 20 and 21, 1.08.
SHARPEST = 4.0

# In the middle of the cube, all are 1.
MIDDLE = 0.5


def sharpness_at(coordinate: Floats, log_sharpest: float) -> Floats:
    """Evaluate the sharpness at a coordinate in [0, 1]; 1 everywhere if `log_sharpest` is 0."""
    sharpness: Floats = np.exp(log_sharpest * (2.0 * coordinate - 1.0))
    return sharpness


# The same, for compiled callers.
kernel_sharpness = glue(sharpness_at)


def split_places(places: Floats, n_inputs: int, log_sharpest: float) -> tuple[Floats, Floats]:
    """Take places (k, d) apart: centres (k, n_inputs) in the unit cube, and sharpnesses (k,)."""
    if log_sharpest == 0:
        return places, np.ones(len(places))
    return places[:, :n_inputs], sharpness_at(places[:, n_inputs], log_sharpest)
