"""The g-prior: coefficients that are, a priori, as large as data like these allow (Zellner 1986; Liang et al. 2008).

The coefficients of the linear term are flat; those of output i of the q columns of the terms, taken orthogonal to the
linear term, are N(0, g_i sigma_i^2 (D'D)^-1); sigma_i^2 is flat in its logarithm, or IG(v0/2, g0/2). All of these are
integrated out. With TSS the residual sum of squares of the linear term alone and RSS that of all columns,

    S = TSS - g/(1 + g) (TSS - RSS) = (TSS + g RSS) / (1 + g)
    log p(y | terms, g) = -q/2 ln(1 + g) - (N - m0 + v0)/2 ln(g0 + S) + constant

for each output. It depends on the span of the columns alone: one that is nearly in the span of the others costs what
any other costs, and brings nothing.

Given g this is a criterion, with TSS/g added to RSS, so that chains and descents need know nothing of it. g has the
hyper-g/n prior, p(g) proportional to (1 + g/N)^(-3/2), on a grid that is even in its logarithm, and is drawn from its
conditional.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from saltus._typing import Floats
from saltus.engine.problem.design import Design
from saltus.engine.problem.problem import Criterion, Problem

# The values that g may have, in units of N: eight a decade. Far up where the data have no noise.
GRID = np.geomspace(1e-2, 1e14, 129)
LOG_PRIOR_OF_GRID = np.log(GRID) - 1.5 * np.log1p(GRID)

# Networks of k terms have prior probability proportional to exp(-k/2), whatever the terms are.
LOG_ODDS_OF_A_TERM = 0.5


def log_prior_of_size(k_max: int) -> Floats:
    """Evaluate the log prior of 0 to k_max terms, in the measure in which a birth has log_green -ln(k + 1).

    There a set of k terms stands for its k! orders, each of density 1: a flat log pi is a Poisson law of k. So a
    geometric law is ln k! above it.
    """
    k = np.arange(k_max + 1.0)
    return gammaln(k + 1.0) - LOG_ODDS_OF_A_TERM * k


def span_criterion(k_max: int, n_a_term: int, n_shared: int, n_most: float = np.inf) -> Criterion:
    """Charge what the prior of k does, for k_max terms of n_a_term parameters at most and n_shared in common.

    The coefficients of a term are among its parameters. Networks of n_most parameters and more have no probability.
    """
    n_all = min(k_max * n_a_term + n_shared + 1, max(n_most, 1))
    return Criterion(np.zeros(int(np.ceil(n_all))), -log_prior_of_size(k_max), 0)


def degrees_of_freedom(problem: Problem, v0: float) -> float:
    """Count the rows less the columns of the linear term, whose coefficients are flat, plus v0; 1 at least."""
    return max(problem.n_total - problem.m_fixed + v0, 1.0)


@dataclass(frozen=True)
class GPrior:
    """The prior of the coefficients, the variances and g, for one design."""

    n_total: float  # N
    tss: Floats  # (c,), of the linear term alone
    v0: float
    g0: float
    fixed: float | None  # g, where it is given

    @classmethod
    def of(cls, design: Design, v0: float, g0: float, fixed: float | None) -> "GPrior":
        """Take what is needed of a design."""
        problem, Q = design.problem, design.linear.Q
        residuals = design.Y - Q @ (Q.T @ design.Y)
        tss = np.maximum((residuals**2).sum(axis=0), problem.rss_floor)
        return cls(problem.n_total, tss, v0, g0, fixed)

    @property
    def start(self) -> Floats:
        """Where g begins: with the information of one row."""
        return np.full(self.tss.size, self.n_total if self.fixed is None else self.fixed)

    def problem_given(self, problem: Problem, g: Floats) -> Problem:
        """Make the problem that is the posterior of the terms given g (c,)."""
        return problem._replace(
            degrees=degrees_of_freedom(problem, self.v0),
            prior_rss=self.tss / g + self.g0 * (1.0 + g) / g,
            criterion=problem.criterion._replace(a_column=0.5 * float(np.log1p(g).sum())),
        )

    def sums(self, problem: Problem, rss: Floats, g: Floats) -> Floats:
        """Evaluate g0 + S (c,)."""
        return self.g0 + (self.tss + g * np.maximum(rss, problem.rss_floor)) / (1.0 + g)

    def log_fit(self, problem: Problem, rss: Floats, k: int, n_columns: int) -> float:
        """Evaluate what in log pi depends on g, for k terms of so many columns."""
        fitted = np.maximum(rss, problem.rss_floor) + problem.prior_rss
        charged = problem.criterion.by_size[k] + n_columns * problem.criterion.a_column
        return float(-0.5 * problem.degrees * np.log(fitted).sum() - charged)

    def log_density_above(self, problem: Problem, g: Floats) -> float:
        """Evaluate what is missing in log pi of the joint density of terms and g."""
        of_g = 0.0 if self.fixed is not None else float(np.interp(g / self.n_total, GRID, LOG_PRIOR_OF_GRID).sum())
        return of_g - 0.5 * problem.degrees * float(np.log(g / (1.0 + g)).sum())

    def log_conditional(self, problem: Problem, rss: Floats, n_columns: int) -> Floats:
        """Evaluate the log density of g along its grid (n, c), given the columns of terms and their residuals."""
        g = self.n_total * GRID[:, None]
        log_fit = -0.5 * n_columns * np.log1p(g) - 0.5 * problem.degrees * np.log(self.sums(problem, rss, g))
        return LOG_PRIOR_OF_GRID[:, None] + log_fit

    def mode(self, problem: Problem, rss: Floats, n_columns: int) -> Floats:
        """Find the most probable g (c,) given the number of columns of terms and their residual sums of squares."""
        if self.fixed is not None:
            return self.start
        return self.n_total * GRID[self.log_conditional(problem, rss, n_columns).argmax(axis=0)]

    def draw(
        self, rng: np.random.Generator, problem: Problem, rss: Floats, n_columns: int, temperature: float = 1.0
    ) -> Floats:
        """Draw g (c,) given the same, from its conditional to the power of 1 over a temperature."""
        if self.fixed is not None:
            return self.start
        log_density = self.log_conditional(problem, rss, n_columns)
        # Gumbel's trick: the largest of log densities with such noise is a draw.
        noise = rng.gumbel(size=log_density.shape)
        return self.n_total * GRID[(log_density / temperature + noise).argmax(axis=0)]
