"""A fitted network: a linear term plus terms of some families, ready to predict."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.linalg import solve_triangular

from saltus._typing import Floats, Ints
from saltus.engine.kernels.factor import Factor
from saltus.engine.problem.design import Design
from saltus.engine.problem.scaling import Box, OutputScale, from_mean
from saltus.families import FittedMixture
from saltus.families.terms import TermSet

# So many rows at a time, the columns of a network stay in the cache.
ROWS_AT_A_TIME = 2048

# How much wider than its families say the prior of coefficients may be, and what a narrower one may cost.
WIDENINGS = (1.0, 3.0, 10.0, 100.0, np.inf)
NEXT_TO_NOTHING = 0.01
SMALLEST_SHARE_LEFT = 1e-3


@dataclass(frozen=True)
class Network:
    """y = constant + (u - means) slope + sum_j coefficients_j column_j(u), with u in the unit cube of `box`.

    What terms are, the mixture knows; the properties give the rest in the user's units.
    """

    box: Box
    mixture: FittedMixture
    outputs: OutputScale
    means: Annotated[Floats, "v"]
    constant: Annotated[Floats, "c"]
    slope: Annotated[Floats, "vc"]
    terms: TermSet
    coefficients: Annotated[Floats, "lc"]  # of the columns of the terms

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return len(self.terms)

    def predict(self, X: Floats) -> Floats:
        """Predict (N, c) at X (N, d). O(N (d + c) k), and no more memory than a few copies of X."""
        U = self.box.to_unit_in_reach(X)
        scaled = self.constant + from_mean(U, self.means) @ self.slope
        for first in range(0, len(U), ROWS_AT_A_TIME):
            part = slice(first, first + ROWS_AT_A_TIME)
            scaled[part] += self.mixture.columns(U[part], self.terms) @ self.coefficients
        return self.outputs.mean + self.outputs.scale * scaled

    @property
    def at_gaps(self) -> Floats:
        """What a missing value counts as in the linear term, (d,), in the user's units: the mean."""
        return self.box.from_unit(self.means[None])[0]

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
    def term_coef(self) -> Floats:
        """Coefficients (c, q) of the columns of the terms in the user's units."""
        return self.outputs.scale[:, None] * self.coefficients.T / self.mixture.coefficient_scales(self.terms)

    @property
    def term_size(self) -> Floats:
        """What the terms weigh, (c, k): the coefficient of one column, or the amplitude of two."""
        owner, coef = self.mixture.owners_of_columns(self.terms), self.term_coef
        found = np.empty((len(coef), self.n_terms))
        for j in range(self.n_terms):
            own = coef[:, owner == j]
            found[:, j] = own[:, 0] if own.shape[1] == 1 else np.linalg.norm(own, axis=1)
        return found

    @property
    def places(self) -> Floats:
        """Where in the space of inputs the terms are, (k, d), in the user's units."""
        return self.mixture.inspection.places(self.box, self.terms)

    @property
    def attributes(self) -> dict[str, Floats]:
        """What the family says of the terms, in the user's units, by the names of fitted attributes."""
        return self.mixture.inspection.attributes(self.box, self.terms)


def network_from_factor(design: Design, terms: TermSet, factor: Factor) -> Network:
    """Solve for the coefficients of the present factor, given its terms."""
    m_fixed = design.problem.m_fixed
    m = m_fixed + design.mixture.owners_of_columns(terms).size
    R = factor.R[:m, :m].copy()
    R[:m_fixed, :m_fixed] = design.linear.R
    n_total = design.problem.n_total
    alpha = fit_coefficients(design.mixture, terms, R, factor.Z[:, :m], factor.rss, n_total)
    return make_network(design, terms, alpha)


def fit_coefficients(
    mixture: FittedMixture, terms: TermSet, R: Floats, Z: Floats, rss: Floats, n_total: float
) -> Floats:
    """Find the coefficients (m, c) of a factored design: by least squares, or held where families say so."""
    spread, widest = mixture.coefficient_spreads(terms)
    if np.isinf(spread).all():
        solved: Floats = solve_triangular(R, Z.T, check_finite=False)
        return solved
    return shrink(R, Z, rss, n_total, spread, widest)


def shrink(R: Floats, Z: Floats, rss: Floats, n_total: float, spread: Floats, widest: Floats) -> Floats:
    """Find the coefficients (m, c) that are most probable where those of terms are N(0, min(w spread, widest)^2).

    Least squares leaves coefficients of columns that are nearly dependent free to be huge and cancel, as they do at the
    rows and nowhere else: beyond these, a term that goes on no longer cancels one that stays. Of some priors the
    narrowest is taken that costs next to nothing by generalised cross-validation. O(c m^3).
    """
    m, m_fixed = len(R), len(R) - spread.size
    alpha = np.empty((m, len(Z)))
    for i, squares in enumerate(rss):
        found, scores = [], []
        for widening in WIDENINGS:
            prior = np.zeros((spread.size, m))
            prior[:, m_fixed:] = np.diag(np.sqrt(squares / n_total) / np.minimum(widening * spread, widest))
            Q, triangle = np.linalg.qr(np.vstack([R, prior]))
            found.append(solve_triangular(triangle, Q[:m].T @ Z[i], check_finite=False))
            n_used = (Q[:m] ** 2).sum()  # the trace of what takes y to its fit
            left = squares + ((Z[i] - R @ found[-1]) ** 2).sum()
            scores.append(left / max(1.0 - n_used / n_total, SMALLEST_SHARE_LEFT) ** 2)
        taken = int(np.argmax(np.array(scores) <= (1.0 + NEXT_TO_NOTHING) * min(scores)))
        alpha[:, i] = found[taken]
    return alpha


def make_network(design: Design, terms: TermSet, alpha: Floats) -> Network:
    """Build a network from its terms and all coefficients (m, c)."""
    slope = slope_of(design.linear.spreads, design.linear.kept, alpha)
    constant, coefficients = alpha[0], alpha[design.problem.m_fixed :]
    return Network(
        design.box, design.mixture, design.outputs, design.linear.means, constant, slope, terms, coefficients
    )


def slope_of(spreads: Floats, kept: Ints, alpha: Floats) -> Floats:
    """Find the slopes (v, c) in the unit cube, given coefficients (m, c) of the constant, then of inputs in use."""
    slope = np.zeros((len(spreads), alpha.shape[1]))
    slope[kept] = alpha[1 : 1 + len(kept)] / spreads[kept, None]
    return slope
