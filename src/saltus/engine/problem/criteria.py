"""Information criteria as penalties on the number of basis functions.

Every criterion is -log likelihood + P(k), with P(0) = 0, k basis functions, c outputs, and N rows. A basis
function costs its c coefficients, and its centre as many parameters as `center_cost` says: one in the paper,
the number d of its coordinates in full, and two more for a width of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from saltus._typing import Floats

# Values of log pi this near are as good as the same. So are, with many rows, those that differ by this for each row,
# as they do where the variance of what is left differs by twice this share.
SAME, SAME_A_ROW = 1.0, 1e-4

# Stands for a penalty that is infinite, so that a chain can tell up from down.
UNAFFORDABLE = 1e8

# What a width counts for. By 1, networks with widths of their own win too often: errors on MacKay's robot arm data,
# medians of 10 seeds, were A .00569, B .00492; by 2, .00564 and .00490. Over the noisy tasks of benchmarks/compare,
# errors were 1.05 and 1.06 of a Gaussian process's.
WIDTH_COST = 2


@dataclass(frozen=True)
class Counts:
    """What the penalties depend on."""

    n_total: float  # N, the sum of the weights
    n_outputs: int  # c
    n_fixed: int  # columns of the linear term, the constant included
    center_parameters: int  # d, or 1 by the paper's count; the inputs switched on, where the metric is learned
    n_relevances: int = 0  # parameters of a learned metric
    own_widths: bool = False  # whether a basis function has one


def _n_parameters(counts: Counts, k: Floats) -> Floats:
    return (counts.n_outputs + counts.center_parameters) * k + counts.n_relevances


def _aic(counts: Counts, k: Floats) -> Floats:
    return _n_parameters(counts, k)


def _bic(counts: Counts, k: Floats) -> Floats:
    return 0.5 * np.log(counts.n_total) * _n_parameters(counts, k)


def _hqc(counts: Counts, k: Floats) -> Floats:
    return np.log(max(np.log(counts.n_total), 1.0)) * _n_parameters(counts, k)


def _ebic(counts: Counts, k: Floats) -> Floats:
    """BIC and ln C(N, k): a uniform prior over sets of k of N candidate centres (Chen & Chen 2008, gamma 1)."""
    n = counts.n_total
    log_choices = gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1)
    return np.where(k <= n, _bic(counts, k) + log_choices, np.inf)


def _aicc(counts: Counts, k: Floats) -> Floats:
    """Hurvich & Tsai's correction, for each output with its share of the centres' parameters."""
    n = counts.n_total
    share = counts.center_parameters / counts.n_outputs

    def total(n_relevances: int, k: Floats) -> Floats:
        parameters = counts.n_fixed + 1 + (1 + share) * k + n_relevances / counts.n_outputs  # 1 for the variance
        spare = n - parameters - 1
        corrected = counts.n_outputs * parameters * n / np.where(spare > 0, spare, 1.0)
        return np.where(spare > 0, corrected, np.inf)

    at_zero = total(0, np.zeros(1))[0]
    if not np.isfinite(at_zero):
        return np.where(k == 0, 0.0, np.inf)
    return total(counts.n_relevances, k) - at_zero


CRITERIA: dict[str, Callable[[Counts, Floats], Floats]] = {
    "aic": _aic,
    "bic": _bic,
    "mdl": _bic,
    "aicc": _aicc,
    "hqc": _hqc,
    "ebic": _ebic,
}


def penalty_table(criterion: str | float, counts: Counts, k_max: int, *, full_cost: bool = True) -> Floats:
    """Tabulate P(k) for k = 0..k_max, or as far as it is finite. A number is the constant C of P(k) = C k.

    Without `full_cost`, a centre counts for one parameter, as in the paper.
    """
    counts = replace(
        counts, center_parameters=counts.center_parameters + WIDTH_COST * counts.own_widths if full_cost else 1
    )
    k = np.arange(k_max + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        if isinstance(criterion, str):
            penalty = CRITERIA[criterion](counts, k)
        else:
            # A relevance is one of the c + 1 parameters that the paper counts in C.
            penalty = float(criterion) * (k + counts.n_relevances / (counts.n_outputs + 1))
    # A chain that starts where P is infinite could not tell up from down.
    return penalty[np.isfinite(penalty)]


def learned_metric_table(criterion: str | float, counts: Counts, k_max: int, *, full_cost: bool = True) -> Floats:
    """Tabulate P(k, a) for k = 0..k_max and a = 0..d inputs that are switched on, (k_max + 1, d + 1).

    Each of the a relevances is a parameter, where there are basis functions to use them; in full, a centre has a
    coordinates.
    """
    columns = [
        penalty_table(criterion, replace(counts, center_parameters=a, n_relevances=a), k_max, full_cost=full_cost)
        for a in range(counts.center_parameters + 1)
    ]
    n_sizes = max(len(columns[min(1, counts.center_parameters)]), 1)
    # What is infinite only when many inputs are on costs so much that they are switched off first.
    # Each basis function more costs something too, so that these are left out where no input can be.
    share = np.arange(n_sizes) / n_sizes
    table: Floats = UNAFFORDABLE * (np.arange(1.0, len(columns) + 1.0) + share[:, None])
    for a, column in enumerate(columns):
        n = min(len(column), n_sizes)
        table[:n, a] = column[:n]
    table[0] = 0.0
    return table


def criterion_value(log_posterior: float, n_total: float, n_outputs: int) -> float:
    """Turn log pi into -log likelihood + P(k): the likelihood at its maximum over coefficients and variances."""
    return -log_posterior + 0.5 * n_total * n_outputs * (float(np.log(2 * np.pi / n_total)) + 1)


def resolution(n_total: float) -> float:
    """Say how near two values of log pi are that are as good as the same, for rows of this total weight."""
    return max(SAME, SAME_A_ROW * n_total)


def count_near(values: Floats, near: float) -> int:
    """Count the values of log pi that are near the best, it included."""
    return int((values >= values.max() - near).sum())
