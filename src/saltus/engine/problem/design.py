"""From the user's data to the problem that chains and descents work on: scaled, weighted, its linear term factored."""

from dataclasses import dataclass, replace

import numpy as np

from saltus._tiles import pad_rows, to_tiles
from saltus._typing import Bools, Floats, Ints
from saltus.engine.kernels.factor import SMALLEST_NEW_SHARE, make_factor, no_factor
from saltus.engine.kernels.target import UNAFFORDABLE, penalty_of_size
from saltus.engine.problem.problem import Criterion, Problem
from saltus.engine.problem.scaling import Box, LinearTerm, OutputScale
from saltus.families import FittedMixture
from saltus.families.registry import count_columns, count_terms
from saltus.families.terms import TermSet

# Residuals smaller than this, relative to the spread of y, are rounding: a fit that good is exact, and no better than
# another. So are residuals below the last digit of y itself.
RESIDUAL_ROUNDING = 1e-13
LAST_DIGIT = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Design:
    """The problem of one fit, shared by its chains, and the way back to the user's units."""

    problem: Problem
    box: Box
    mixture: FittedMixture
    linear: LinearTerm
    outputs: OutputScale
    Y: Floats  # (N, c), padded, scaled, rows times the root of their weight
    variant: int = 0  # the number of this one among the variants
    others: tuple["Design", ...] = ()  # the same data, for the variants of its families after the first
    descends: tuple[bool, ...] = (False,)  # whether chains start with networks that descend, by turns

    @property
    def k_max(self) -> int:
        """The largest number of terms."""
        return self.problem.k_max

    @property
    def rows(self) -> Ints:
        """Which rows are not padding."""
        return np.flatnonzero(self.problem.root_weight.ravel() > 0)

    @property
    def log_posterior_shift(self) -> float:
        """What takes log pi of the scaled outputs to log pi of the user's."""
        return float(-self.problem.n_total * np.log(self.outputs.scale).sum())

    @property
    def variants(self) -> tuple["Design", ...]:
        """The designs among which a search chooses."""
        return (self, *self.others)

    def columns(self, terms: TermSet) -> Floats:
        """Evaluate the q columns of terms at the rows: (N, q), padded. O(N d q)."""
        return self.mixture.search.columns_of_rows(self.problem.families, self.problem.root_weight, terms)

    def limited_to(self, among: Bools) -> Problem:
        """Let fresh terms be of some families (F,) alone."""
        return self.problem._replace(families=self.mixture.limited_to(self.problem.families, among))

    def informed_by(self, residuals: Floats) -> Problem:
        """Let births be drawn where residuals (n_tiles, c, L) suggest, for searches that need no ratio."""
        families = self.mixture.informed(self.problem.families, residuals, self.problem.root_weight)
        return self.problem._replace(families=families)

    def cost_of_a_term(self, terms: TermSet) -> float:
        """Say what one more term costs, like those that there are, or like a first one; 1 where that is nothing."""
        problem, k = self.problem, len(terms)
        n_own = (
            round(count_terms(problem.families, terms) / k)
            if k
            else self.mixture.count_first_term(problem.families, terms.shared)
        )
        n_columns = (
            round(count_columns(problem.families, terms) / k) if k else int(problem.families.n_columns.min(initial=1))
        )
        sizes = range(self.k_max + 1)
        penalty = np.array([penalty_of_size(problem, size, n_columns, n_own, terms.shared) for size in sizes])
        k_max = int((penalty < UNAFFORDABLE).sum()) - 1
        k = min(k, max(k_max - 1, 0))
        cost = float(penalty[min(k + 1, k_max)] - penalty[k])
        return cost if cost > 0 else 1.0


def make_design(
    X: Floats,
    Y: Floats,
    weight: Floats,
    *,
    box: Box,
    linear: LinearTerm,
    mixture: FittedMixture,
    criterion: Criterion,
    ridge: bool = False,
) -> Design:
    """Prepare X (N, d), Y (N, c), weight (N,) > 0 for chains; `ridge` says whether coefficients have a prior."""
    outputs = OutputScale.of(Y, weight)
    root_weight = np.sqrt(weight)
    Y_padded = pad_rows((Y - outputs.mean) / outputs.scale * root_weight[:, None])
    smallest = np.maximum(RESIDUAL_ROUNDING, LAST_DIGIT * np.abs(Y).max(axis=0) / outputs.scale)
    m_fixed = linear.Q.shape[1]
    problem = Problem(
        families=mixture.families(box.to_unit(X), ridge=ridge, counts_levels_only=criterion.n_own_a_term > 0),
        root_weight=to_tiles(root_weight[:, None])[:, 0],
        linear=make_factor(linear.Q, Y_padded, m_fixed) if mixture.moves_shared else no_factor(),
        m_fixed=m_fixed,
        k_max=len(criterion.by_size) - 1,
        moves_shared=mixture.moves_shared,
        n_total=float(weight.sum()),
        degrees=float(weight.sum()),
        rss_floor=np.maximum(weight.sum() * smallest**2, np.finfo(np.float64).tiny),
        prior_rss=np.zeros(Y.shape[1]),
        criterion=criterion,
        smallest_new_share=SMALLEST_NEW_SHARE,
    )
    return _informed(Design(problem, box, mixture, linear, outputs, Y_padded))


def with_variant(design: Design, X: Floats, mixture: FittedMixture, criterion: Criterion, *, ridge: bool) -> Design:
    """Let a search choose between the families of a design and another variant of these; the data are shared."""
    problem = design.problem._replace(
        families=mixture.families(
            design.box.to_unit(X),
            ridge=ridge,
            counts_levels_only=criterion.n_own_a_term > 0,
            like=design.problem.families,
        ),
        criterion=criterion,
        k_max=len(criterion.by_size) - 1,
    )
    other = replace(design, problem=problem, mixture=mixture, variant=len(design.variants), others=())
    return replace(design, others=(*design.others, _informed(other)))


def charging_for_sets(design: Design) -> Design:
    """Charge a search for the sets of levels that its terms have, where a prior would: as many parameters, 1 each.

    The best of all 2^L sets explains so much more of the noise than one that is drawn, that a network which grows
    without a charge is made of them. Without categories, the design is as it was.
    """
    n_of_sets = design.mixture.worth_of_sets
    if n_of_sets == 0:
        return design
    problem = design.problem
    n_outputs = design.Y.shape[1]
    # By the count of all parameters, coefficients among them, which a column takes back.
    most = design.k_max * (n_outputs * problem.families.most_columns + n_of_sets)
    criterion = problem.criterion._replace(
        by_count=np.arange(most + 1, dtype=np.float64), a_column=problem.criterion.a_column - n_outputs
    )
    families = problem.families._replace(counts_levels_only=True)
    return replace(design, problem=problem._replace(families=families, criterion=criterion))


def _informed(design: Design) -> Design:
    """Let births be drawn where the data suggest, once and for all: so that the law does not depend on the state."""
    if not design.mixture.is_informed():
        return design
    Q = design.linear.Q
    return replace(design, problem=design.informed_by(to_tiles(design.Y - Q @ (Q.T @ design.Y))))


def count_distinct_rows(X: Floats, Y: Floats) -> int:
    """Count the distinct rows of [X, Y]. O(N log N)."""
    return int(number_distinct_rows(X, Y).max(initial=-1)) + 1


def number_distinct_rows(X: Floats, Y: Floats) -> Ints:
    """Give rows of [X, Y] numbers (N,), equal rows the same, by a random projection. O(N log N)."""
    table = np.hstack([X, Y])
    scale: Floats = np.nanmax(np.abs(table), axis=0, initial=0.0)
    is_gap = np.isnan(table)
    if is_gap.any():
        table, scale = np.where(is_gap, np.where(scale > 0, 3.0 * scale, 1.0), table), np.where(scale > 0, scale, 1.0)
    multipliers = np.random.default_rng(0).standard_normal((table.shape[1],))
    projection = np.zeros(len(table))
    # Column by column: rows that are equal then have equal sums, to the last bit.
    for j in range(table.shape[1]):
        if scale[j] > 0:
            projection += multipliers[j] * (table[:, j] / scale[j])
    numbers: Ints = np.unique(projection, return_inverse=True)[1]
    return numbers
