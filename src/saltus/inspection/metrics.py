"""How well a model predicts given rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_consistent_length

from saltus._thinning import spread_out
from saltus._typing import Floats
from saltus.estimators import NetworkRegressor
from saltus.estimators.checks import check_inputs, read_targets, without_missing_targets
from saltus.inspection.document import count
from saltus.reading import take_table

# Intervals are slow to find: so many rows, evenly spaced, are enough to count those inside.
MOST_INTERVALS = 2000


@dataclass(frozen=True)
class Score:
    """How well one output is predicted."""

    output: str
    r_squared: float  # NaN where the output does not vary
    rmse: float
    mae: float
    inside: float  # the share of rows inside their interval; NaN for a model that has none


def check_rows(model: NetworkRegressor, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Check rows of inputs (N, d) and outputs (N, c) that a model is to be compared with.

    y is read as `fit` reads it; rows without one are left out.
    """
    X, y, _ = without_missing_targets(take_table(X), read_targets(model, y), None)
    inputs = check_inputs(model, X)
    with np.errstate(invalid="ignore"):
        observed: Floats = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(inputs, observed)
    observed = observed.reshape(len(observed), -1)
    n_outputs = len(model.data_notes_.output_names)
    if observed.shape[1] != n_outputs:
        raise ValueError(f"y must have {count(n_outputs, 'column')}, as in fit. Got {observed.shape[1]}.")
    return inputs, observed


def score_rows(model: NetworkRegressor, inputs: Floats, observed: Floats, coverage: float = 0.9) -> list[Score]:
    """Score the predictions of each output at checked rows."""
    residuals = observed - model._predict_mean(inputs)
    variance = observed.var(axis=0)
    mse = (residuals**2).mean(axis=0)
    ratio = np.divide(mse, variance, out=np.full(mse.shape, np.nan), where=variance > 0)
    inside = np.full(mse.shape, np.nan)
    if model._gives_intervals:
        part = spread_out(len(inputs), MOST_INTERVALS)
        _, low, high = model._predict_band(inputs[part], coverage)
        inside = ((low <= observed[part]) & (observed[part] <= high)).mean(axis=0)
    columns = zip(1.0 - ratio, np.sqrt(mse), np.abs(residuals).mean(axis=0), inside, strict=True)
    return [
        Score(name, *map(float, values)) for name, values in zip(model.data_notes_.output_names, columns, strict=True)
    ]
