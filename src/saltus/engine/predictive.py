"""Prediction from draws of the posterior: a mixture of Student's t distributions, one for each draw.

Given the centres and delta^2 of a draw, the coefficients and the noise variance are integrated out exactly: at a row
with features d, a new y has a t distribution with N + v0 degrees of freedom, mean d'alpha, and squared scale
S/(N + v0) (1 + ||K'd||^2), K K' = W^-1. Moments of the mixture are therefore Rao-Blackwellised: no sampled coefficient enters them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from saltus._typing import Floats, Ints
from saltus.bases import Basis
from saltus.engine.design import Box, Design, OutputScale
from saltus.engine.posterior import Draw

# Rows are taken so many at a time that the means and scales of all draws fill no more than this.
BYTES_AT_A_TIME = 64_000_000

# Quantiles are found to this share of the scale.
QUANTILE_TOLERANCE = 1e-5
MOST_QUANTILE_STEPS = 60


@dataclass(frozen=True)
class Features:
    """The columns of a design, at new rows."""

    box: Box
    basis: Basis
    to_metric: Floats
    means: Floats
    spreads: Floats
    kept: Ints

    @classmethod
    def of(cls, design: Design) -> "Features":
        """Take what is needed of a design, and none of its data."""
        fixed = design.fixed
        return cls(design.box, design.basis, design.target.to_metric, fixed.means, fixed.spreads, fixed.kept)

    def columns(self, X: Floats, centers_unit: Floats) -> Floats:
        """Evaluate (N, m): the linear term, then the basis functions."""
        U = self.box.to_unit(X)
        linear = ((U - self.means) / self.spreads)[:, self.kept]
        X_metric = U @ self.to_metric.T
        phi = [self.basis.profile(((X_metric - center) ** 2).sum(axis=1)) for center in centers_unit @ self.to_metric.T]
        return np.column_stack([np.ones(len(X)), linear, *phi])


@dataclass(frozen=True)
class Mixture:
    """Student's t components for some rows: (n_draws, N, c), in the user's units."""

    mean: Floats
    scale_squared_signal: Floats  # of the function itself
    scale_squared_noise: Floats  # what the noise adds
    degrees: float

    @property
    def scale(self) -> Floats:
        """Scale of a new y."""
        return np.sqrt(self.scale_squared_signal + self.scale_squared_noise)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance (N, c) of a new y."""
        within = self.scale**2 * self.degrees / (self.degrees - 2.0)
        return self.mean.mean(axis=0), within.mean(axis=0) + self.mean.var(axis=0)

    def quantile(self, probability: float) -> Floats:
        """Quantile (N, c) of a new y, by regula falsi on the distribution function of the mixture."""
        scale = self.scale
        of_each = self.mean + scale * stdtrit(self.degrees, probability)
        low, high = of_each.min(axis=0), of_each.max(axis=0)
        excess_low, excess_high = (self._distribution(at) - probability for at in (low, high))
        tolerance = QUANTILE_TOLERANCE * scale.min(axis=0)
        for _ in range(MOST_QUANTILE_STEPS):
            if (high - low <= tolerance).all():
                break
            rise = excess_high - excess_low
            with np.errstate(invalid="ignore", divide="ignore"):
                at = np.where(rise > 0, low - excess_low * (high - low) / rise, 0.5 * (low + high))
            # A step that would hardly move an end goes a little further, so that both ends close in.
            at = np.clip(at, low + 0.25 * tolerance, high - 0.25 * tolerance)
            excess = self._distribution(at) - probability
            below = excess < 0
            # Illinois: the end that stays counts half, so that the next step reaches beyond the root.
            excess_high = np.where(below, 0.5 * excess_high, excess)
            excess_low = np.where(below, excess, 0.5 * excess_low)
            low, high = np.where(below, at, low), np.where(below, high, at)
        return 0.5 * (low + high)

    def _distribution(self, at: Floats) -> Floats:
        """Evaluate the distribution function of the mixture at values (N, c)."""
        return stdtr(self.degrees, (at - self.mean) / self.scale).mean(axis=0)


@dataclass(frozen=True)
class Predictive:
    """The posterior predictive distribution."""

    features: Features
    outputs: OutputScale
    draws: tuple[Draw, ...]
    degrees: float  # N + v0

    def mixtures(self, X: Floats) -> Iterator[tuple[slice, Mixture]]:
        """Go through the rows of X, some at a time."""
        n_components = len(self.draws) * len(self.outputs.scale)
        n_rows = max(BYTES_AT_A_TIME // (8 * 6 * n_components), 1)
        for first in range(0, len(X), n_rows):
            part = slice(first, min(first + n_rows, len(X)))
            yield part, self._mixture(X[part])

    def _mixture(self, X: Floats) -> Mixture:
        shape = (len(self.draws), len(X), len(self.outputs.scale))
        mean, signal, noise = np.empty(shape), np.empty(shape), np.empty(shape)
        for j, draw in enumerate(self.draws):
            D = self.features.columns(X, draw.centers_unit)
            mean[j] = D @ draw.mean
            for i, K in enumerate(draw.K):
                half = D @ K
                unit = draw.S[i] / self.degrees
                signal[j, :, i] = unit * np.einsum("nm,nm->n", half, half)
                noise[j, :, i] = unit
        squared = self.outputs.scale**2
        return Mixture(self.outputs.mean + self.outputs.scale * mean, squared * signal, squared * noise, self.degrees)

    def sample(self, rng: np.random.Generator, X: Floats, n_samples: int) -> Floats:
        """Draw functions with noise from the posterior, (N, c, n_samples): rows of one sample share their function."""
        samples = np.empty((len(X), len(self.outputs.scale), n_samples))
        for s in range(n_samples):
            draw = self.draws[rng.integers(len(self.draws))]
            D = self.features.columns(X, draw.centers_unit)
            for i, K in enumerate(draw.K):
                sigma = np.sqrt(0.5 * draw.S[i] / rng.standard_gamma(0.5 * self.degrees))
                alpha = draw.mean[:, i] + sigma * (K @ rng.standard_normal(len(K)))
                samples[:, i, s] = D @ alpha + sigma * rng.standard_normal(len(X))
        return self.outputs.mean[:, None] + self.outputs.scale[:, None] * samples
