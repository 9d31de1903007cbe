"""A fitted network: a linear term plus basis functions, ready to predict."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from saltus._typing import Floats
from saltus.engine.kernels.factor import Factor
from saltus.engine.problem.design import LARGEST_DISTANCE, Box, Design, OutputScale
from saltus.families import Basis
from saltus.families.distances import squared_distances

# So many rows at a time, the basis functions of a network stay in the cache.
ROWS_AT_A_TIME = 2048


@dataclass(frozen=True)
class Network:
    """y = constant + u slope + sum_j basis_coef_j phi(r_j), r_j = sharpness_j ||to_metric (u - center_j)||.

    u is in the unit cube of `box`. The properties give the same in the user's units.
    """

    box: Box
    basis: Basis
    to_metric: Floats  # (q, d_varying)
    metric_scale: float
    outputs: OutputScale
    means: Floats  # (d_varying,)
    constant: Floats  # (c,)
    slope: Floats  # (d_varying, c)
    centers_unit: Floats  # (k, d_varying)
    sharpness: Floats  # (k,)
    coefficients: Floats  # (k, c)

    def predict(self, X: Floats) -> Floats:
        """Predict (N, c) at X (N, d). O(N (d + c) k), and no more memory than a few copies of X."""
        U = self.box.to_unit(X)
        farthest = np.abs(U).max(initial=0.0)
        if farthest > LARGEST_DISTANCE:
            raise ValueError(
                f"X is as far as {farthest:.3g} widths of the training data away from it, where the network overflows. "
                f"Check the units of X."
            )
        scaled = self.constant + (U - self.means) @ self.slope
        centers_metric = self.centers_unit @ self.to_metric.T
        for first in range(0, len(U), ROWS_AT_A_TIME):
            part = slice(first, first + ROWS_AT_A_TIME)
            r_squared = squared_distances(U[part] @ self.to_metric.T, centers_metric) * self.sharpness**2
            phi = self.basis.profile(r_squared)
            scaled[part] += phi @ self.coefficients
        return self.outputs.mean + self.outputs.scale * scaled

    @property
    def centers(self) -> Floats:
        """Centres (k, d) in the user's units."""
        return self.box.from_unit(self.centers_unit)

    @property
    def widths(self) -> Floats:
        """The width (k,) of each basis function: what distances to its centre are divided by."""
        return 1.0 / self.sharpness

    @property
    def linear_coef(self) -> Floats:
        """Slopes (c, d) in the user's units; 0 for a feature that was left out of the linear term."""
        slope = np.zeros((len(self.outputs.scale), len(self.box.width)))
        slope[:, self.box.varies] = self.slope.T / self.box.width[self.box.varies]
        return slope * self.outputs.scale[:, None]

    @property
    def intercept(self) -> Floats:
        """Constant term (c,) in the user's units."""
        origin = self.box.to_unit(np.zeros((1, len(self.box.width))))[0]
        return self.outputs.mean + self.outputs.scale * (self.constant + (origin - self.means) @ self.slope)

    @property
    def basis_coef(self) -> Floats:
        """Coefficients (c, k) of phi(r / width), r in the user's units."""
        # phi(s r) = s^p phi(r) where the metric was rescaled by s inside.
        rescaling = self.metric_scale ** (self.basis.degree or 0.0)
        return self.outputs.scale[:, None] * self.coefficients.T / rescaling

    @property
    def metric(self) -> Floats:
        """The matrix M (d, d) of r^2 = (x - mu)' M (x - mu) in the user's units."""
        factor = np.zeros((len(self.to_metric), len(self.box.width)))
        factor[:, self.box.varies] = self.to_metric / self.box.width[self.box.varies]
        factor *= self.metric_scale * self.basis.width
        return factor.T @ factor


def network_from_factor(design: Design, places: Floats, relevance: Floats, factor: Factor) -> Network:
    """Solve for the coefficients of the present factor, whose basis functions are at `places` (k, d)."""
    m_fixed = design.target.m_fixed
    m = m_fixed + len(places)
    R = factor.R[:m, :m].copy()
    R[:m_fixed, :m_fixed] = design.fixed.R
    return make_network(
        design, *design.split(places), relevance, solve_triangular(R, factor.Z[:, :m].T, check_finite=False)
    )


def make_network(design: Design, centers_unit: Floats, sharpness: Floats, relevance: Floats, alpha: Floats) -> Network:
    """Build a network from its centres (k, d), sharpnesses (k,), relevances (q,) and the coefficients (m, c)."""
    m_fixed, kept = design.target.m_fixed, design.fixed.kept
    slope = np.zeros((len(design.fixed.means), alpha.shape[1]))
    slope[kept] = alpha[1:m_fixed] / design.fixed.spreads[kept, None]
    return Network(
        box=design.box,
        basis=design.basis,
        to_metric=relevance[:, None] * design.to_metric,
        metric_scale=design.metric_scale,
        outputs=design.outputs,
        means=design.fixed.means,
        constant=alpha[0],
        slope=slope,
        centers_unit=centers_unit.copy(),
        sharpness=sharpness.copy(),
        coefficients=alpha[m_fixed:],
    )
