"""Models of fewer terms than the best: what they cost, and what they are."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from sklearn.base import clone

from saltus.engine.problem.criteria import criterion_value
from saltus.engine.results.chains import AnnealResult, BestState
from saltus.engine.search.paths import SizePath

if TYPE_CHECKING:
    from saltus.estimators.searched import SearchedModel

M = TypeVar("M", bound="SearchedModel")


@dataclass(frozen=True)
class Size:
    """A network of `path_` with so many terms: its criterion value and its error.

    Attributes
    ----------
    n_terms : int
    criterion : float
        The value of the criterion, as in `criterion_value_`.
    leave_one_out : float
        The root mean square error of predictions of training rows, each left out in turn, in units of y; with several
        outputs, the mean over the outputs.
    """

    n_terms: int
    criterion: float
    leave_one_out: float


def sizes_of(path: SizePath, n_total: float) -> tuple[Size, ...]:
    """List what each number of terms costs, from all down to none."""
    n_outputs = path.rss.shape[1]
    return tuple(
        Size(k, criterion_value(float(path.log_posterior[k]), n_total, n_outputs), float(path.leave_one_out[k].mean()))
        for k in range(path.largest, -1, -1)
    )


def smallest_within(path: SizePath, per_cent: float) -> int:
    """Find the smallest number of terms whose error with rows left out is within so many per cent of the least.

    All, where no number is so for every output.
    """
    errors = path.leave_one_out
    if not errors.size:
        return 0
    with np.errstate(over="ignore"):
        within = (errors <= (1 + per_cent / 100) * errors.min(axis=0)).all(axis=1)
    return int(within.argmax()) if within.any() else path.largest


def model_with_terms(model: M, k: int) -> M:
    """Make a fitted model of the network with k terms."""
    path, n_total = model._path, model._n_total
    if path is None:
        raise ValueError(
            "This model has no smaller networks: it was fitted to too many rows to keep them. Fit again with "
            "a smaller k_max."
        )
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= path.largest:
        raise ValueError(
            f"n_terms must be a whole number between 0 and {path.largest}, the size of the best network. Got {k!r}."
        )
    chain = model.result_.chains[model.result_.best_chain]
    scale = chain.best.network.outputs.scale
    best = BestState(
        network=path.network(chain.best.network, n_total, k),
        variant=chain.best.variant,
        rss=path.rss[k] * scale**2,
        log_posterior=float(path.log_posterior[k]),
        iteration=chain.best.iteration,
    )
    status = f"{model.result_.status} Of its best network, {k} of {path.largest} terms were kept."
    smaller: M = clone(model)
    for name, value in vars(model).items():
        smaller.__dict__.setdefault(name, value)
    result = AnnealResult((replace(chain, best=best, local_optima=(best,)),), 0, status, model.result_.ended_early)
    smaller._keep_result(result, (best.network,), np.ones(1))
    return smaller
