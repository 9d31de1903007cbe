"""A network with fewer and fewer terms: what each number of them costs, and all that it takes to fit any of these.

Terms are put in the order in which they would go out, the last to go first. The first columns of one factor are then
the network with k terms, and residuals and leverages of all sizes come from one pass.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from saltus._tiles import from_tiles
from saltus._typing import Floats, Ints
from saltus.engine.kernels.state import start_state
from saltus.engine.problem.design import Design
from saltus.engine.results.network import Network, fit_coefficients, slope_of
from saltus.engine.search.elimination import eliminate
from saltus.engine.search.starts import set_terms
from saltus.families.registry import count_columns, owners_of_columns
from saltus.families.terms import TermSet

# A path is found where a design has no more numbers than this.
MOST_NUMBERS = 5e7

# A row that a network follows by more than this share is taken as followed by so much.
LARGEST_LEVERAGE = 1 - 1e-6


@dataclass(frozen=True)
class SizePath:
    """A network of K terms and those with fewer: the first k of its terms are the network of k."""

    terms: TermSet  # from the last to go out to the first
    spreads: Annotated[Floats, "v"]  # of the inputs of the linear term
    kept: Annotated[Ints, "e"]  # which of them are in it
    R: Annotated[Floats, "mm"]  # of the whole design
    Z: Annotated[Floats, "cm"]
    rss: Annotated[Floats, "rc"]  # with 0 to K terms, of outputs of spread 1
    log_posterior: Annotated[Floats, "r"]
    leave_one_out: Annotated[Floats, "rc"]  # root mean squares of residuals of rows that were left out, in units of y

    @property
    def largest(self) -> int:
        """K."""
        return len(self.terms)

    def network(self, like: Network, n_total: float, k: int) -> Network:
        """Fit the network of k terms to rows of this total weight, given one that was fitted to the same data."""
        m_fixed, terms = 1 + len(self.kept), self.terms.take(slice(k))
        m = m_fixed + like.mixture.owners_of_columns(terms).size
        alpha = fit_coefficients(like.mixture, terms, self.R[:m, :m], self.Z[:, :m], self.rss[k], n_total)
        slope = slope_of(self.spreads, self.kept, alpha)
        return replace(like, constant=alpha[0], slope=slope, terms=terms, coefficients=alpha[m_fixed:])


def find_path(design: Design, terms: TermSet) -> SizePath | None:
    """Find the path of a network down to no terms; None where there are too many rows. O(N m^2)."""
    problem, n_outputs = design.problem, design.Y.shape[1]
    m_fixed, k = problem.m_fixed, len(terms)
    m = m_fixed + count_columns(problem.families, terms)
    if problem.root_weight.size * m > MOST_NUMBERS:
        return None
    state = start_state(problem._replace(k_max=k), design.linear.Q, design.Y, design.mixture.starting_shared)
    set_terms(design, state, terms)
    factor = state.factor
    R, Z = factor.R[m_fixed:m, m_fixed:m], factor.Z[:, m_fixed:m].T
    order = eliminate(problem, terms, np.triu(R), Z, factor.rss + problem.prior_rss)
    ordered = terms.take(order.order[::-1])
    set_terms(design, state, ordered)
    Q = from_tiles(factor.tiles[:, n_outputs : n_outputs + m])
    residuals = design.Y - Q[:, :m_fixed] @ factor.Z[:, :m_fixed].T
    leverage = (Q[:, :m_fixed] ** 2).sum(axis=1)
    rss, left_out = np.empty((k + 1, n_outputs)), np.empty((k + 1, n_outputs))
    owner = owners_of_columns(problem.families, ordered)
    for size in range(k + 1):
        for column in m_fixed + np.flatnonzero(owner == size - 1):
            q = Q[:, column]
            residuals = residuals - np.outer(q, factor.Z[:, column])
            leverage = leverage + q**2
        rss[size] = (residuals**2).sum(axis=0)
        alone = residuals / (1.0 - np.minimum(leverage, LARGEST_LEVERAGE))[:, None]
        left_out[size] = np.sqrt((alone**2).sum(axis=0) / problem.n_total) * design.outputs.scale
    whole = factor.R[:m, :m].copy()
    whole[:m_fixed, :m_fixed] = design.linear.R
    return SizePath(
        terms=ordered,
        spreads=design.linear.spreads,
        kept=design.linear.kept,
        R=whole,
        Z=factor.Z[:, :m].copy(),
        rss=rss,
        log_posterior=order.log_posterior[::-1] + design.log_posterior_shift,
        leave_one_out=left_out,
    )
