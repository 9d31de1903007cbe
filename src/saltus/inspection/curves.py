"""Predictions as curves with bands: of new y, and of the partial dependence on an input."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from saltus._typing import Floats
from saltus.engine.results.predictive import Mixture
from saltus.estimators import BayesianRegressor, Regressor

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


def predict_mean(model: Regressor, inputs: Floats) -> Floats:
    """Predict the mean (N, c) of y at checked inputs (N, d)."""
    if isinstance(model, BayesianRegressor):
        return np.concatenate([mixture.moments()[0] for _, mixture in model._predictive.mixtures(inputs)])
    networks = zip(model.weights_, model.networks_, strict=True)
    return np.sum([weight * network.predict(inputs) for weight, network in networks], axis=0)


def predict_new(model: Regressor, inputs: Floats, coverage: float = 0.9) -> tuple[Floats, Floats, Floats]:
    """Predict y at checked inputs (N, d): the mean, and the ends of the interval that holds a new y; each (N, c).

    Where the model is a network, the interval is that of its noise alone.
    """
    if isinstance(model, BayesianRegressor):
        parts = [
            (mixture.moments()[0], mixture.quantile(0.5 - 0.5 * coverage), mixture.quantile(0.5 + 0.5 * coverage))
            for _, mixture in model._predictive.mixtures(inputs)
        ]
        mean, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, low, high
    mean = predict_mean(model, inputs)
    reach = float(ndtri(0.5 + 0.5 * coverage)) * np.sqrt(np.atleast_1d(model.noise_variance_))
    return mean, mean - reach, mean + reach


def partial_dependence(
    model: Regressor, feature: int, rows: Floats | None = None, *, output: int = 0, coverage: float = 0.9
) -> Curve:
    """Average the prediction over rows (N, d) while one input goes through its range; or at the mean of the others.

    The band of a Bayesian model is that of the average itself, without noise.
    """
    inputs = model.data_notes_.inputs
    grid = np.linspace(inputs.min[feature], inputs.max[feature], N_POINTS)
    rows = inputs.mean[None, :] if rows is None else rows[spread_out(len(rows), MOST_ROWS)]
    stacked = np.repeat(rows[None], N_POINTS, axis=0)  # (n, N, d)
    stacked[:, :, feature] = grid[:, None]
    stacked = stacked.reshape(-1, rows.shape[1])
    if isinstance(model, BayesianRegressor):
        mixture = _average_mixture(model, stacked, output)
        low, high = (mixture.quantile(p)[:, 0] for p in (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage))
        return Curve(grid, mixture.mean.mean(axis=0)[:, 0], low, high)
    return Curve(grid, predict_mean(model, stacked)[:, output].reshape(N_POINTS, -1).mean(axis=1))


def _average_mixture(model: BayesianRegressor, stacked: Floats, output: int) -> Mixture:
    """Find the posterior of averages of the function over N_POINTS groups of rows, stacked one after the other.

    The function is linear in its coefficients, so its average is too: averaged columns take the place of columns.
    """
    predictive = model._predictive
    draws = [predictive.draws[j] for j in spread_out(len(predictive.draws), MOST_DRAWS)]
    mean, scale_squared = np.empty((2, len(draws), N_POINTS, 1))
    for j, draw in enumerate(draws):
        columns = predictive.features.columns(stacked, draw)
        averaged = columns.reshape(N_POINTS, -1, columns.shape[1]).mean(axis=1)
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


def spread_out(n: int, most: int) -> list[int]:
    """Choose no more than `most` of n numbers, evenly spaced."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(int).tolist()
