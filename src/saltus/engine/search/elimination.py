"""Backward elimination: terms go out one by one, the cheapest to lose first, all the way down.

Coefficients are refitted by algebra alone: with G the inverse of the Gram matrix of the columns less the linear term
and a their coefficients, losing column j raises RSS by a_j^2 / G_jj, after which G less g_j g_j' / G_jj is that of the
rest. A term of two columns loses one after the other.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri

from saltus._typing import Bools, Floats, Ints
from saltus.engine.kernels.target import penalties
from saltus.engine.problem.problem import Problem
from saltus.families.registry import count_own_parameters, count_shared_parameters
from saltus.families.terms import TermSet

# Of columns that are all but dependent rounding would leave nothing, or less: this share is left.
EPSILON = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Path:
    """The order in which terms go out, and log pi with all of them, then with one less, and so on down to none."""

    order: Ints  # (k,)
    log_posterior: Floats  # (k + 1,)

    def best(self, terms: TermSet) -> TermSet:
        """Find the terms that are left where log pi is highest."""
        return terms.without(self.order[: self.log_posterior.argmax()])


def eliminate(problem: Problem, terms: TermSet, R: Floats, Z: Floats, rss: Floats) -> Path:
    """Find the path, given R (q, q) of the columns less the linear term, Z (q, c) and rss (c,). O(q^3).

    What a prior adds to the residual sums of squares is a part of rss.
    """
    k, degrees, c = len(terms), problem.degrees, problem.rss_floor.size
    each = zip(terms.family, terms.choices, strict=True)
    counts = [count_own_parameters(problem.families, f, choices, terms.shared) for f, choices in each]
    n_own = np.array(counts, dtype=np.int64)
    n_shared = count_shared_parameters(problem.families, terms.shared)
    n_columns = problem.families.n_columns[terms.family]
    inverse = dtrtri(R)[0] if k > 0 else R
    G, a = inverse @ inverse.T, inverse @ Z
    left, rss = np.arange(k), np.maximum(rss, problem.rss_floor)
    total, q = int(n_own.sum()), int(n_columns.sum())
    log_posterior = np.empty(k + 1)
    start = penalties(problem.criterion, c, np.array([k]), np.array([q]), np.array([total]), n_shared)[0]
    log_posterior[0] = -0.5 * degrees * np.log(rss).sum() - start
    order = np.empty(k, dtype=np.int64)
    for step in range(k):
        first = np.cumsum(n_columns[left]) - n_columns[left]
        without = rss + rises(G, a, first, n_columns[left] > 1)
        sizes = np.full(left.size, k - step - 1)
        of_rest = penalties(problem.criterion, c, sizes, q - n_columns[left], total - n_own[left], n_shared)
        values = -0.5 * degrees * np.log(without).sum(axis=1) - of_rest
        j = int(values.argmax())
        order[step], log_posterior[step + 1] = left[j], values[j]
        total -= n_own[left[j]]
        q -= int(n_columns[left[j]])
        rss = without[j]
        for _ in range(n_columns[left[j]]):
            G, a = without_column(G, a, int(first[j]))
        left = np.delete(left, j)
    return Path(order, log_posterior)


def rises(G: Floats, a: Floats, first: Ints, is_pair: Bools) -> Floats:
    """Find what RSS (k, c) rises by where each term is lost, whose first column is `first`, of two if it is a pair."""
    pivot = np.diag(G)[first][:, None]
    found: Floats = a[first] ** 2 / pivot
    one = first[is_pair]
    if one.size:
        along = G[one, one + 1][:, None] / pivot[is_pair]
        second = np.diag(G)[one + 1][:, None]
        left = np.maximum(second - along * G[one, one + 1][:, None], EPSILON * second)
        found[is_pair] += (a[one + 1] - along * a[one]) ** 2 / left
    return found


def without_column(G: Floats, a: Floats, j: int) -> tuple[Floats, Floats]:
    """Take column j out of the inverse of the Gram matrix and of the coefficients. O(q^2)."""
    column, pivot = G[:, j].copy(), G[j, j]
    a = np.delete(a - np.outer(column, a[j] / pivot), j, axis=0)
    smallest = EPSILON * np.diag(G)
    G = G - np.outer(column, column / pivot)
    np.fill_diagonal(G, np.maximum(np.diag(G), smallest))
    keep = np.arange(len(G)) != j
    return G[np.ix_(keep, keep)], a
