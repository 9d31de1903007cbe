"""Information criteria as penalties on the number of basis functions.

Every criterion is -log likelihood + P(k), with P(0) = 0, k basis functions, c outputs, and N rows. A basis
function costs its c coefficients, and its centre as many parameters as `center_cost` says: one in the paper,
the number d of its coordinates in full.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from saltus._typing import Floats


@dataclass(frozen=True)
class Counts:
    """What the penalties depend on."""

    n_total: float  # N, the sum of the weights
    n_outputs: int  # c
    n_fixed: int  # columns of the linear term, the constant included
    center_parameters: int  # d, or 1 by the paper's count


def _per_basis(counts: Counts) -> int:
    return counts.n_outputs + counts.center_parameters


def _aic(counts: Counts, k: Floats) -> Floats:
    return _per_basis(counts) * k


def _bic(counts: Counts, k: Floats) -> Floats:
    return 0.5 * _per_basis(counts) * np.log(counts.n_total) * k


def _hqc(counts: Counts, k: Floats) -> Floats:
    return _per_basis(counts) * np.log(max(np.log(counts.n_total), 1.0)) * k


def _ebic(counts: Counts, k: Floats) -> Floats:
    """BIC and ln C(N, k): a uniform prior over sets of k of N candidate centres (Chen & Chen 2008, gamma 1)."""
    n = counts.n_total
    log_choices = gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1)
    return np.where(k <= n, _bic(counts, k) + log_choices, np.inf)


def _aicc(counts: Counts, k: Floats) -> Floats:
    """Hurvich & Tsai's correction, for each output with its share of the centres' parameters."""
    n = counts.n_total
    share = counts.center_parameters / counts.n_outputs

    def total(k: Floats) -> Floats:
        parameters = counts.n_fixed + 1 + (1 + share) * k  # 1 for the variance
        spare = n - parameters - 1
        corrected = counts.n_outputs * parameters * n / np.where(spare > 0, spare, 1.0)
        return np.where(spare > 0, corrected, np.inf)

    at_zero = total(np.zeros(1))[0]
    return np.where(k == 0, 0.0, total(k) - (at_zero if np.isfinite(at_zero) else 0.0))


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
    if not full_cost:
        counts = replace(counts, center_parameters=1)
    k = np.arange(k_max + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        penalty = CRITERIA[criterion](counts, k) if isinstance(criterion, str) else float(criterion) * k
    # A chain that starts where P is infinite could not tell up from down.
    return penalty[np.isfinite(penalty)]


def criterion_value(log_posterior: float, n_total: float, n_outputs: int) -> float:
    """Turn log pi into -log likelihood + P(k): the likelihood at its maximum over coefficients and variances."""
    return -log_posterior + 0.5 * n_total * n_outputs * (float(np.log(2 * np.pi / n_total)) + 1)
