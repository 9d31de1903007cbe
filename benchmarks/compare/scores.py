"""Figures of a prediction: errors, and the quality of the predictive distribution where there is one."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from saltus._typing import Floats

COVERAGE = 0.95
NORMAL_QUANTILE = 1.959963984540054  # of 0.975


@dataclass(frozen=True)
class Distribution:
    """What a model says of new Y (n, c), noise included.

    Either draws (n_draws, n, c), or normal with a mean and a standard deviation. `low` and `high` are the model's own
    95 % intervals; without them they are quantiles of the draws or of the normal.
    """

    mean: Floats | None = None
    std: Floats | None = None
    draws: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None

    def interval(self) -> tuple[Floats, Floats]:
        """Find the central 95 % intervals."""
        if self.low is not None and self.high is not None:
            return self.low, self.high
        if self.draws is not None:
            low, high = np.quantile(self.draws, [0.5 - 0.5 * COVERAGE, 0.5 + 0.5 * COVERAGE], axis=0)
            return low, high
        return self.mean - NORMAL_QUANTILE * self.std, self.mean + NORMAL_QUANTILE * self.std

    def crps(self, Y: Floats) -> Floats:
        """Find the continuous ranked probability score of each value of Y (n, c)."""
        if self.draws is not None:
            return crps_of_draws(Y, self.draws)
        return crps_of_normal(Y, self.mean, self.std)


def crps_of_normal(Y: Floats, mean: Floats, std: Floats) -> Floats:
    """Find the score of normal predictions (Gneiting and Raftery, JASA 102, 2007, eq. 21)."""
    z = (Y - mean) / std
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return std * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * density - 1.0 / np.sqrt(np.pi))


def crps_of_draws(Y: Floats, draws: Floats) -> Floats:
    """Estimate E|X - y| - E|X - X'| / 2 from draws (n_draws, ...) without bias. O(n log n)."""
    n = len(draws)
    ordered = np.sort(draws, axis=0)
    rank = (2.0 * np.arange(1, n + 1) - n - 1.0).reshape(-1, *[1] * Y.ndim)
    between = (rank * ordered).sum(axis=0) / (n * (n - 1))
    return np.abs(draws - Y).mean(axis=0) - between


def root_mean_square(E: Floats) -> float:
    """Find the root of the mean square over rows and outputs."""
    return float(np.sqrt(np.mean(E**2)))


def scores(Y_test: Floats, truth: Floats | None, mean: Floats, distribution: Distribution | None) -> dict[str, float]:
    """Find the figures of a prediction (n, c) and, where there is one, of its distribution."""
    found = {"rmse": root_mean_square(mean - Y_test)}
    if truth is not None:
        found["error_to_truth"] = root_mean_square(mean - truth)
    variance = np.mean((Y_test - Y_test.mean(axis=0)) ** 2)
    found["variance_unexplained"] = found["rmse"] ** 2 / float(variance)
    if distribution is not None:
        low, high = distribution.interval()
        found["coverage"] = float(np.mean((low <= Y_test) & (Y_test <= high)))
        found["width"] = float(np.mean(high - low))
        found["crps"] = float(distribution.crps(Y_test).mean())
    return found
