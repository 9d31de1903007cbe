"""New terms: nominated by forward selection on rows in memory, scored by all rows in one pass, chosen by log pi."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from saltus._tiles import TILE
from saltus._typing import Floats, Ints
from saltus.engine.kernels.state import State, Workspace, make_workspace, start_record, start_state
from saltus.engine.kernels.target import penalties
from saltus.engine.problem.design import Design
from saltus.engine.rows.fit import Fit
from saltus.engine.rows.questions import Products, Scores
from saltus.engine.rows.rows import Inquiry
from saltus.engine.search.policy import SearchPolicy
from saltus.engine.search.selection import MOST_TILES, make_pool, select
from saltus.engine.search.starts import set_independent_terms
from saltus.families.registry import count_own_parameters, count_shared_parameters
from saltus.families.terms import TermSet, terms_as_value

# Floating-point operations that evaluating a term for a row takes, about.
OF_AN_EVALUATION = 25.0
# Of a candidate less than this share of whose squares is new, products do not tell what is.
RESOLVED = 1e-6


def nominate(
    rng: np.random.Generator, design: Design, terms: TermSet, n_steps: int, policy: SearchPolicy
) -> TermSet | None:
    """Bring so many terms in one by one, by rows in memory; return those that promised most each time."""
    problem = design.problem._replace(k_max=min(len(terms) + n_steps, design.k_max))
    state = start_state(problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    set_independent_terms(design, state, terms)
    work, record = make_workspace(problem, state, n_edits=policy.finalists), start_record(state, 1)
    pool = make_pool(problem, policy.candidates_of(int(design.box.varies.sum())), policy.finalists)
    is_informed = design.mixture.is_informed()
    found = []
    for _ in range(n_steps):
        if is_informed:
            informed = design.informed_by(state.factor.tiles[:, : design.Y.shape[1]])
            problem = problem._replace(families=informed.families)
        if select(rng, problem, state, work, record, pool, 1) == 0:
            break
        found.append(_finalists(state, work, policy.nominees_a_step))
    nominees = design.mixture.empty(terms.shared)
    for each in found:
        nominees = nominees.followed_by(each)
    return nominees if len(nominees) else None


def flops_of_growth(fit: Fit, n_rows: int, n_few: int, n_steps: int, policy: SearchPolicy) -> float:
    """Count the floating-point operations of so many nominations by a few rows, and of the choice by all."""
    n_surveyed = min(n_few, MOST_TILES * TILE)
    of_a_step = OF_AN_EVALUATION * policy.candidates * n_surveyed + 2.0 * policy.finalists * n_few * fit.m
    n_nominees = n_steps * policy.nominees_a_step
    return n_steps * of_a_step + n_rows * n_nominees * (OF_AN_EVALUATION + 2.0 * (n_nominees + fit.m))


def _finalists(state: State, work: Workspace, n_most: int) -> TermSet:
    """Copy the candidates that the last choice was made among, those that promised most first."""
    n, edits = min(int(work.drawn.n_edits[0]), n_most), work.edits
    shared = terms_as_value(state.terms).shared
    return TermSet(edits.family[:n, 0].copy(), edits.choices[:n, 0].copy(), edits.incoming[:n, 0].copy(), shared)


@dataclass
class Race:
    """Candidates beside a fit: what is left of their columns once those that were chosen are in. Mutable."""

    rss: Floats  # (c,)
    along: Floats  # (c, p), what is left of the columns times the residuals
    gram: Floats  # (p, p), and times each other
    smallest: Floats  # (p,), squares of a column, below which nothing is known of it

    @classmethod
    def of(cls, fit: Fit, products: Products) -> "Race":
        """Take what the design explains off the columns of candidates."""
        shared = solve_triangular(fit.R, products.design, trans="T", check_finite=False)
        return cls(
            np.maximum(fit.rss, fit.of.problem.rss_floor),
            products.residuals.copy(),
            products.gram - shared.T @ shared,
            RESOLVED * np.diag(products.gram),
        )

    def rss_with(self, first: Ints, second: Ints) -> Floats:
        """Find RSS (k, c) with each of the terms that have these columns; the second is -1 where there is only one."""
        squared = np.diag(self.gram)
        known = squared > self.smallest
        pivot = np.where(known, squared, 1.0)
        gain = np.where(known, self.along**2 / pivot, 0.0).T[first]
        pairs = np.flatnonzero(second >= 0)
        if pairs.size:
            a, b = first[pairs], second[pairs]
            slope = self.gram[a, b] / pivot[a]
            rest = squared[b] - slope * self.gram[a, b]
            new = (self.along[:, b] - slope * self.along[:, a]).T
            gain[pairs] += np.where(
                (rest > self.smallest[b]) & known[a], new.T**2 / np.where(rest > 0, rest, 1.0), 0.0
            ).T
        found: Floats = np.maximum(self.rss - gain, 1e-12 * self.rss)
        return found

    def bring_in(self, column: int) -> None:
        """Take what a column explains off all others, and off RSS. O(p^2)."""
        pivot = self.gram[column, column]
        if pivot > self.smallest[column]:
            along, row = self.along[:, column].copy(), self.gram[column].copy()
            self.rss = np.maximum(self.rss - along**2 / pivot, 1e-12 * self.rss)
            self.along -= np.outer(along, row / pivot)
            self.gram -= np.outer(row, row / pivot)
        self.smallest[column] = np.inf


def choose(fit: Fit, candidates: TermSet, charge: float, n_most: int) -> Inquiry[TermSet]:
    """Choose among candidates by all rows, one by one, while log pi less a charge for each rises. One pass."""
    target, problem = fit.of, fit.of.problem
    products = yield Scores(target.frame, fit.terms, fit.alpha, candidates)
    race = Race.of(fit, products)
    families, c = problem.families, len(fit.rss)
    n_columns = families.n_columns[candidates.family]
    first = np.cumsum(n_columns) - n_columns
    second = np.where(n_columns > 1, first + 1, -1)

    def own(terms: TermSet) -> Ints:
        each = zip(terms.family, terms.choices, strict=True)
        return np.array(
            [count_own_parameters(families, f, choices, terms.shared) for f, choices in each], dtype=np.int64
        )

    of_candidates, n_own = own(candidates), int(own(fit.terms).sum())
    n_shared = count_shared_parameters(families, fit.terms.shared)
    k, q = fit.k, fit.m - target.frame.m_fixed

    def penalty(sizes: Ints, columns: Ints, of_terms: Ints) -> Floats:
        return penalties(problem.criterion, c, sizes, columns, of_terms, n_shared)

    chosen: list[int] = []
    while len(chosen) < n_most and k + 1 < len(problem.criterion.by_size):
        before = penalty(*(np.array([each]) for each in (k, q, n_own)))[0]
        after = penalty(np.full(len(candidates), k + 1), q + n_columns, n_own + of_candidates)
        log_ratio = np.log(race.rss_with(first, second) / race.rss).sum(axis=1)
        gain = -0.5 * problem.degrees * log_ratio - (after - before) - charge
        gain[chosen] = -np.inf
        best = int(gain.argmax())
        if not gain[best] > 0:
            break
        chosen.append(best)
        for column in range(first[best], first[best] + n_columns[best]):
            race.bring_in(column)
        k, q, n_own = k + 1, q + int(n_columns[best]), n_own + int(of_candidates[best])
    return candidates.take(np.array(chosen, dtype=np.int64))
