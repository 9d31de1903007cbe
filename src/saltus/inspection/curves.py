"""The partial dependence of the prediction on an input, as a curve with a band."""

from dataclasses import dataclass

import numpy as np

from saltus._thinning import spread_out
from saltus._typing import Floats
from saltus.engine.results.predictive import Mixture, Predictive
from saltus.estimators import NetworkRegressor

N_POINTS = 40
# Partial dependence averages over no more rows and draws than these, evenly spaced: it is for the eye.
MOST_ROWS = 100
MOST_DRAWS = 100


@dataclass(frozen=True)
class Curve:
    """A line over a grid (n,), and the central interval around it where there is one."""

    grid: Floats
    mean: Floats
    low: Floats | None = None
    high: Floats | None = None


def partial_dependence(
    model: NetworkRegressor, feature: int, rows: Floats | None = None, *, output: int = 0, coverage: float = 0.9
) -> Curve:
    """Average the prediction over rows (N, d) while one input goes through its range; or at the mean of the others.

    A category goes through its levels. The band of a Bayesian model is that of the average itself, without noise.
    """
    inputs = model.data_notes_.inputs
    grid = inputs.grid(feature, N_POINTS)
    rows = inputs.mean[None, :] if rows is None else rows[spread_out(len(rows), MOST_ROWS)]
    stacked = np.repeat(rows[None], len(grid), axis=0)  # (n, N, d)
    stacked[:, :, feature] = grid[:, None]
    return model._average(grid, stacked.reshape(-1, rows.shape[1]), output, coverage)


def average_where_missing(
    model: NetworkRegressor, feature: int, rows: Floats | None = None, *, output: int = 0
) -> float:
    """Average the prediction over rows (N, d), or at typical values, where one input is missing."""
    rows = model.data_notes_.inputs.mean[None, :] if rows is None else rows[spread_out(len(rows), MOST_ROWS)]
    without = rows.copy()
    without[:, feature] = np.nan
    return float(model._predict_mean(without)[:, output].mean())


def average_networks(model: NetworkRegressor, grid: Floats, stacked: Floats, output: int) -> Curve:
    """Average predictions over groups of rows, stacked one after the other, one group for each point of the grid."""
    return Curve(grid, model._predict_mean(stacked)[:, output].reshape(len(grid), -1).mean(axis=1))


def average_posterior(predictive: Predictive, grid: Floats, stacked: Floats, output: int, coverage: float) -> Curve:
    """Find the mean and the interval of such averages, without noise."""
    mixture = _average_mixture(predictive, stacked, output, len(grid))
    low, high = (mixture.quantile(p)[:, 0] for p in (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage))
    return Curve(grid, mixture.mean.mean(axis=0)[:, 0], low, high)


def _average_mixture(predictive: Predictive, stacked: Floats, output: int, n_groups: int) -> Mixture:
    """Find the posterior of averages of the function over groups of rows, stacked one after the other.

    The function is linear in its coefficients, so its average is too: averaged columns take the place of columns.
    """
    draws = [predictive.draws[j] for j in spread_out(len(predictive.draws), MOST_DRAWS)]
    mean, scale_squared = np.empty((2, len(draws), n_groups, 1))
    for j, (draw, columns) in enumerate(zip(draws, predictive.features.columns(stacked, draws), strict=True)):
        averaged = columns.reshape(n_groups, -1, columns.shape[1]).mean(axis=1)
        mean[j, :, 0] = averaged @ draw.mean[:, output]
        half = averaged @ draw.K[output]
        scale_squared[j, :, 0] = draw.S[output] / predictive.degrees * np.einsum("nm,nm->n", half, half)
    scale = predictive.outputs.scale[output]
    return Mixture(
        predictive.outputs.mean[output] + scale * mean,
        scale**2 * scale_squared,
        np.zeros_like(scale_squared),
        predictive.degrees,
    )
