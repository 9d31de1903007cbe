"""The least-squares fit of some terms to all rows, and what follows from its triangle alone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from saltus._typing import Bools, Floats, Ints
from saltus.engine.kernels.factor import COLLINEAR, VANISHED
from saltus.engine.kernels.target import log_density
from saltus.engine.problem.problem import Problem
from saltus.engine.rows.frame import Frame
from saltus.engine.rows.questions import Triangle, triangle_of
from saltus.engine.rows.rows import Inquiry
from saltus.engine.search.elimination import Path, eliminate
from saltus.families.registry import owners_of_columns
from saltus.families.terms import TermSet


@dataclass(frozen=True)
class Target:
    """What there is to know of all rows to fit any terms to them: how they are seen, and log pi."""

    frame: Frame
    problem: Problem  # of all rows, but for the families, which hold some

    def fit(self, terms: TermSet) -> "Inquiry[Fit]":
        """Fit terms; leave out those whose columns depend on others, or that hardly any row sees. A pass or more."""
        while True:
            triangle = yield Triangle(self.frame, terms)
            kept = self.are_sound(terms, triangle)
            if kept.all():
                return Fit(self, terms, triangle)
            terms = terms.without(owners_of_columns(self.problem.families, terms)[~kept])

    def are_sound(self, terms: TermSet, triangle: Floats) -> Bools:
        """Say which columns (q,) are new beside those before them, and seen by some rows, not all alike."""
        families, m_fixed = self.problem.families, self.frame.m_fixed
        owner = owners_of_columns(families, terms)
        R = triangle[:, m_fixed : m_fixed + owner.size]
        squared, distance = (R**2).sum(axis=0), np.diag(triangle)[m_fixed : m_fixed + owner.size] ** 2
        # The first column is the constant.
        complement = self.problem.n_total - 2.0 * np.abs(triangle[0, 0] * R[0]) + squared
        family = terms.family[owner]
        seen = (squared >= families.smallest_squared_norm[family]) & (
            complement >= families.smallest_complement[family]
        )
        return seen & (distance > 4.0 * COLLINEAR * squared + VANISHED)


@dataclass(frozen=True)
class Fit:
    """Terms, and the triangle R of [D, y] over all rows."""

    of: Target
    terms: TermSet
    triangle: Floats  # (m + c, m + c)

    @property
    def k(self) -> int:
        """The number of terms."""
        return len(self.terms)

    @property
    def m(self) -> int:
        """The number of columns."""
        return len(self.triangle) - self.of.frame.n_outputs

    @property
    def R(self) -> Floats:
        """The triangle of the design, (m, m)."""
        return self.triangle[: self.m, : self.m]

    @property
    def Z(self) -> Floats:
        """Q'y, (m, c)."""
        return self.triangle[: self.m, self.m :]

    @cached_property
    def rss(self) -> Floats:
        """The residual sums of squares (c,), of scaled outputs."""
        return (self.triangle[self.m :, self.m :] ** 2).sum(axis=0)

    @cached_property
    def log_posterior(self) -> float:
        """Log pi of the terms."""
        return log_density(self.of.problem, self.rss, self.terms)

    @cached_property
    def alpha(self) -> Floats:
        """The coefficients (m, c)."""
        found: Floats = solve_triangular(self.R, self.Z, check_finite=False)
        return found

    @cached_property
    def path(self) -> Path:
        """The order in which terms go out, the cheapest to lose first."""
        first, problem = self.of.frame.m_fixed, self.of.problem
        return eliminate(problem, self.terms, self.R[first:, first:], self.Z[first:], self.rss + problem.prior_rss)

    def eliminated(self) -> "Fit":
        """Leave out the terms without which log pi is highest. No pass over the rows."""
        if self.k == 0 or self.path.log_posterior.argmax() == 0:
            return self
        kept = np.sort(self.path.order[self.path.log_posterior.argmax() :])
        return self.with_only(kept)

    def with_only(self, kept: Ints) -> "Fit":
        """Keep some of the terms, in an order of choice. No pass over the rows."""
        m_fixed, owner = self.of.frame.m_fixed, owners_of_columns(self.of.problem.families, self.terms)
        of_terms = [m_fixed + np.flatnonzero(owner == j) for j in kept]
        outputs = np.arange(self.m, len(self.triangle))
        columns = np.concatenate([np.arange(m_fixed), *of_terms, outputs]).astype(np.int64)
        return Fit(self.of, self.terms.take(kept), triangle_of(self.triangle[:, columns]))
