"""Information criteria: what a model is charged for its parameters.

Every criterion is -log likelihood + P(n, k), with n the number of all parameters beyond the linear term's and the
noise's, k the number of terms, and P(0, 0) = 0. A term costs its coefficients, c for each of its columns, and its own
parameters, of which the paper counts one and the family knows the full number; the parameters that terms share come on
top where there are terms.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from saltus._typing import Floats
from saltus.engine.problem.problem import Criterion


@dataclass(frozen=True)
class Counts:
    """What the penalties depend on, beside n and k."""

    n_total: float  # N, the sum of the weights
    n_outputs: int  # c
    n_fixed: int  # columns of the linear term, the constant included
    n_distinct: float = np.inf  # rows that differ, where they are fewer than N


def _aic(counts: Counts, n: Floats) -> Floats:
    return n


def _bic(counts: Counts, n: Floats) -> Floats:
    return 0.5 * np.log(counts.n_total) * n


def _hqc(counts: Counts, n: Floats) -> Floats:
    return np.log(max(np.log(counts.n_total), 1.0)) * n


def _aicc(counts: Counts, n: Floats) -> Floats:
    """Hurvich & Tsai's correction, for each output with its share of the parameters."""
    total = counts.n_fixed + 1 + n / counts.n_outputs  # 1 for the variance
    spare = counts.n_total - total - 1
    corrected = counts.n_outputs * total * counts.n_total / np.where(spare > 0, spare, 1.0)
    penalty: Floats = np.where(spare > 0, corrected, np.inf)
    return penalty - penalty[0] if np.isfinite(penalty[0]) else np.where(n == 0, 0.0, np.inf)


CRITERIA: dict[str, Callable[[Counts, Floats], Floats]] = {
    "aic": _aic,
    "bic": _bic,
    "mdl": _bic,
    "aicc": _aicc,
    "hqc": _hqc,
    "ebic": _bic,
}


def _log_choices(n_total: float, k: Floats) -> Floats:
    """Evaluate ln C(N, k): a uniform prior over sets of k of N candidate terms (EBIC; Chen & Chen 2008, gamma 1)."""
    log_choices = gammaln(n_total + 1) - gammaln(k + 1) - gammaln(np.maximum(n_total - k, 0) + 1)
    return np.where(k <= n_total, log_choices, np.inf)


def make_criterion(
    criterion: str | float,
    counts: Counts,
    k_max: int,
    *,
    n_own: tuple[int, int],
    n_shared: int,
    n_own_a_term: int = 0,
    n_of_sets: int = 0,
    n_columns: tuple[int, int] = (1, 1),
) -> Criterion:
    """Tabulate P, and find how many terms can be afforded.

    Terms have n_own parameters each: from the first, with as few of the n_shared shared parameters as there can be,
    none or one, to the second, with all; or each counts for n_own_a_term, where that is not 0, and up to n_of_sets
    more for its sets of levels. They have from the first to the second of n_columns. A number is the cost C of one
    term of one column in P = C k: it counts as the paper does, c + 1 parameters a term, and a shared parameter, or one
    coefficient more, as one of these. Where all parameters are as many as N - 1, P is infinite.
    """
    if not isinstance(criterion, str):
        n_own_a_term = 1
    n_least, n_most = (n_own_a_term, n_own_a_term + n_of_sets) if n_own_a_term > 0 else n_own
    n_all = k_max * (n_columns[1] * counts.n_outputs + n_most) + n_shared
    n, k = np.arange(n_all + 1, dtype=np.float64), np.arange(k_max + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        if isinstance(criterion, str):
            by_count = CRITERIA[criterion](counts, n)
            by_size = _log_choices(counts.n_total, k) if criterion == "ebic" else np.zeros(k.size)
        else:
            by_count, by_size = float(criterion) * (n / (counts.n_outputs + 1)), np.zeros(k.size)
    by_count[counts.n_fixed + n / counts.n_outputs >= counts.n_total - 1] = np.inf
    by_count[0] = 0.0
    # A chain that starts where P is infinite could not tell up from down.
    by_count, by_size = by_count[np.isfinite(by_count)], by_size[np.isfinite(by_size)]
    n_affordable = max(by_count.size - 1 - min(n_shared, 1), 0) // (n_columns[0] * counts.n_outputs + n_least)
    return Criterion(by_count, by_size[: n_affordable + 1], n_own_a_term)


def free_criterion(k_max: int, n_a_term: int, n_shared: int) -> Criterion:
    """Charge nothing for k_max terms of n_a_term parameters at most and n_shared in common: they have a prior instead.

    The coefficients of a term are among its parameters.
    """
    return Criterion(np.zeros(k_max * n_a_term + n_shared + 1), np.zeros(k_max + 1), 0)


def criterion_value(log_posterior: float, n_total: float, n_outputs: int) -> float:
    """Turn log pi into -log likelihood + P: the likelihood at its maximum over coefficients and variances."""
    return -log_posterior + 0.5 * n_total * n_outputs * (float(np.log(2 * np.pi / n_total)) + 1)


def count_near(values: Floats, near: float) -> int:
    """Count the values of log pi that are near the best, it included."""
    return int((values >= values.max() - near).sum())
