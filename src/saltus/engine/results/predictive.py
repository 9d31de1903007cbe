"""Prediction from draws of the posterior: a mixture of Student's t distributions, one for each draw.

Given the terms of a draw and how wide the prior of its coefficients is, these and the noise variance are integrated out
exactly: at a row with features d, a new y has a t distribution with mean d'alpha and squared scale
S/degrees (1 + ||K'd||^2); under a ridge there are N + v0 degrees of freedom. Moments of the mixture are therefore
Rao-Blackwellised: no sampled coefficient enters them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from saltus._typing import Floats, Ints
from saltus.engine.problem.design import Design
from saltus.engine.problem.scaling import Box, OutputScale, from_mean
from saltus.engine.results.draws import Draw
from saltus.engine.results.network import Network, slope_of
from saltus.families import FittedMixture

# Rows are taken so many at a time that the means and scales of all draws fill no more than this.
BYTES_AT_A_TIME = 64_000_000

# Quantiles are found to this share of the scale.
QUANTILE_TOLERANCE = 1e-5
MOST_QUANTILE_STEPS = 60
FEWEST_DEGREES = 10
SMALLEST_DENSITY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Features:
    """The columns of a design, at new rows."""

    box: Box
    mixture: FittedMixture
    means: Annotated[Floats, "v"]
    spreads: Annotated[Floats, "v"]
    kept: Annotated[Ints, "e"]

    @classmethod
    def of(cls, design: Design) -> "Features":
        """Take what is needed of a design, and none of its data."""
        linear = design.linear
        return cls(design.box, design.mixture, linear.means, linear.spreads, linear.kept)

    def columns(self, X: Floats, draws: Sequence[Draw]) -> Iterator[Floats]:
        """Evaluate (N, m) for each draw: the linear term, then the terms."""
        U = self.box.to_unit_in_reach(X)
        linear = (from_mean(U, self.means) / self.spreads)[:, self.kept]
        fixed = np.hstack([np.ones((len(X), 1)), linear])
        for columns in self.mixture.columns_of_each(U, [draw.terms for draw in draws]):
            yield np.hstack([fixed, columns])


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
        """Mean and variance (N, c) of a new y; infinite with two degrees of freedom or fewer."""
        squared = self.scale**2
        within = squared * self.degrees / (self.degrees - 2.0) if self.degrees > 2.0 else squared * np.inf
        return self.mean.mean(axis=0), within.mean(axis=0) + self.mean.var(axis=0)

    @property
    def of_function(self) -> "Mixture":
        """That of the function itself, without noise."""
        return replace(self, scale_squared_noise=np.zeros_like(self.scale_squared_noise))

    def quantile(self, probability: float | Floats) -> Floats:
        """Quantile (N, c) of a new y, for one probability or one of each output (c,).

        By Newton's method on the distribution function, kept within a bracket.
        """
        scale = self.scale
        of_each = self.mean + scale * stdtrit(self.degrees, probability)
        low, high = of_each.min(axis=0), of_each.max(axis=0)
        mean, variance = self.moments()
        spread = np.sqrt(np.where(np.isfinite(variance), variance, 0.0))
        at = np.clip(mean + spread * ndtri(probability), low, high)
        tolerance = QUANTILE_TOLERANCE * scale.min(axis=0)
        for _ in range(MOST_QUANTILE_STEPS):
            standardized = (at - self.mean) / scale
            excess = student_distribution(self.degrees, standardized).mean(axis=0) - probability
            low, high = np.where(excess < 0, at, low), np.where(excess < 0, high, at)
            step = -excess / np.maximum(self._density(standardized, scale), SMALLEST_DENSITY)
            if (np.abs(step) <= tolerance).all():
                break
            # Where Newton's step leaves the bracket, halve the bracket instead.
            inside = (at + step >= low) & (at + step <= high)
            at = np.where(inside, at + step, 0.5 * (low + high))
        return at

    def _density(self, standardized: Floats, scale: Floats) -> Floats:
        """Evaluate the density of the mixture, given (y - mean) / scale of each component."""
        half = 0.5 * (self.degrees + 1.0)
        log_unit = gammaln(half) - gammaln(0.5 * self.degrees) - 0.5 * np.log(self.degrees * np.pi)
        return (np.exp(log_unit - half * np.log1p(standardized**2 / self.degrees)) / scale).mean(axis=0)


def student_distribution(degrees: float, t: Floats) -> Floats:
    """Evaluate the distribution function of Student's t.

    By Hill's expansion (Communications of the ACM 13, 1970, algorithm 395), which is right to 1e-9 from 10 degrees of
    freedom on and takes a tenth of the time of the incomplete beta function.
    """
    if degrees < FEWEST_DEGREES:
        return stdtr(degrees, t)
    a = degrees - 0.5
    b = 48.0 * a * a
    s = a * np.log1p(t * t / degrees)
    correction = (s + 3.0) / b - (((4.0 * s + 33.0) * s + 240.0) * s + 855.0) / (10.0 * b * (b + 0.8 * s * s + 100.0))
    return ndtr(np.copysign(np.sqrt(s) * (1.0 + correction), t))


@dataclass(frozen=True)
class Predictive:
    """The posterior predictive distribution."""

    features: Features
    outputs: OutputScale
    draws: tuple[Draw, ...]
    degrees: float  # N + v0, under a g-prior less the columns of the linear term
    # What to ask of the draws for probabilities at even distances from 0 to 1, where rows that are left out show that
    # the posterior is wrong about how new y spread: see `left_out`.
    corrected: Annotated[Floats | None, "cp"] = None

    def interval(self, mixture: Mixture, coverage: float, *, of: str = "y") -> tuple[Floats, Floats]:
        """Find the ends (N, c) of central intervals of a new y, or of the function."""
        if of not in ("y", "function"):
            raise ValueError(f'of must be "y", for a new y, or "function", for the mean of y. Got {of!r}.')
        ends = np.array([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
        if of == "function":
            mixture = mixture.of_function
        if self.corrected is None or of == "function":
            return mixture.quantile(ends[0]), mixture.quantile(ends[1])
        steps = np.linspace(0.0, 1.0, self.corrected.shape[1])
        low, high = np.array([np.interp(ends, steps, asked) for asked in self.corrected]).T
        return mixture.quantile(low), mixture.quantile(high)

    def share_inside(self, coverage: float) -> Floats:
        """Find the share (c,) of rows, each left out, within central intervals of the posterior as it is."""
        ends = np.array([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
        if self.corrected is None:
            return np.full(len(self.outputs.scale), coverage)
        steps = np.linspace(0.0, 1.0, self.corrected.shape[1])
        return np.array([np.diff(np.interp(ends, asked, steps))[0] for asked in self.corrected])

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
        for j, (draw, D) in enumerate(zip(self.draws, self.features.columns(X, self.draws), strict=True)):
            mean[j] = D @ draw.mean
            for i, K in enumerate(draw.K):
                half = D @ K
                unit = draw.S[i] / self.degrees
                signal[j, :, i] = unit * np.einsum("nm,nm->n", half, half)
                noise[j, :, i] = unit
        squared = self.outputs.scale**2
        return Mixture(self.outputs.mean + self.outputs.scale * mean, squared * signal, squared * noise, self.degrees)

    def networks(self) -> Iterator[Network]:
        """Go through the networks of the draws, each with the mean of its coefficients."""
        features = self.features
        for draw in self.draws:
            slope = slope_of(features.spreads, features.kept, draw.mean)
            constant, coefficients = draw.mean[0], draw.mean[1 + len(features.kept) :]
            yield Network(
                features.box, features.mixture, self.outputs, features.means, constant, slope, draw.terms, coefficients
            )

    def functions(self, rng: np.random.Generator, X: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Draw the function (N, c) at rows of X under each draw, given the variances (c,) of its noise."""
        for draw, D in zip(self.draws, self.features.columns(X, self.draws), strict=True):
            sigma = np.sqrt(draw.sigma_squared)
            alpha = np.stack([K @ rng.standard_normal(len(K)) for K in draw.K], axis=1)
            f = D @ (draw.mean + sigma * alpha)
            yield self.outputs.mean + self.outputs.scale * f, self.outputs.scale**2 * draw.sigma_squared

    def sample(self, rng: np.random.Generator, X: Floats, n_samples: int) -> Floats:
        """Draw functions with noise from the posterior, (N, c, n_samples): rows of one sample share their function."""
        samples = np.empty((len(X), len(self.outputs.scale), n_samples))
        drawn = [self.draws[i] for i in rng.integers(len(self.draws), size=n_samples)]
        for s, (draw, D) in enumerate(zip(drawn, self.features.columns(X, drawn), strict=True)):
            for i, K in enumerate(draw.K):
                sigma = np.sqrt(0.5 * draw.S[i] / rng.standard_gamma(0.5 * self.degrees))
                alpha = draw.mean[:, i] + sigma * (K @ rng.standard_normal(len(K)))
                samples[:, i, s] = D @ alpha + sigma * rng.standard_normal(len(X))
        return self.outputs.mean[:, None] + self.outputs.scale[:, None] * samples
