"""What `fit` and `predict` are given, checked by scikit-learn's rules and ours."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from saltus._typing import Floats, Ints
from saltus.estimators.notes import ColumnNotes, DataNotes, given_output_names, name_inputs, name_outputs

# Squares and products of values within these bounds can be represented.
SMALLEST_VALUE, LARGEST_VALUE = 1e-140, 1e140


class MissingTargetWarning(UserWarning):
    """Some rows lack their target, and were left out of a fit."""


@dataclass(frozen=True)
class TrainingData:
    """What `fit` was given, checked; rows of weight 0 and rows without a target are gone."""

    X: Floats  # (N, d)
    Y: Floats  # (N, c)
    weight: Floats  # (N,)
    n_levels: Ints  # (d,), of inputs that are categories; 0 for numbers
    single_output: bool  # y was one-dimensional


def check_data(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingData:
    """Check what `fit` was given, by scikit-learn's rules and ours, and note on the estimator what it was."""
    X, y, sample_weight = without_missing_targets(X, y, sample_weight)
    inputs, outputs = validate_data(
        estimator,
        X,
        y,
        multi_output=True,
        y_numeric=True,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        ensure_min_samples=2,
    )
    weight = _check_frequencies(sample_weight, inputs)
    present = weight > 0
    Y = np.asarray(outputs, dtype=np.float64).reshape(len(inputs), -1)
    data = TrainingData(
        inputs[present],
        Y[present],
        weight[present],
        np.zeros(inputs.shape[1], dtype=np.int64),
        single_output=np.ndim(outputs) == 1,
    )
    if np.isnan(data.X).all():
        raise ValueError("Every value of X is missing (NaN). A fit needs at least some.")
    feature_names = getattr(estimator, "feature_names_in_", None)
    check_magnitude(data.X, label_columns("X", feature_names, data.X.shape[1]))
    check_magnitude(data.Y, label_columns("y", given_output_names(y, data.Y.shape[1]), data.Y.shape[1]))
    estimator.data_notes_ = DataNotes(
        n_rows=len(data.X),
        total_weight=float(data.weight.sum()),
        inputs=ColumnNotes.of(name_inputs(feature_names, data.X.shape[1]), data.X, data.weight),
        outputs=ColumnNotes.of(name_outputs(y, data.Y.shape[1]), data.Y, data.weight),
    )
    return data


def without_missing_targets(
    X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[ArrayLike, ArrayLike, ArrayLike | None]:
    """Leave out the rows whose target is missing, and say so."""
    try:
        target = np.asarray(y)
        target = target.astype(np.float64) if target.dtype.kind == "O" else target
    except (TypeError, ValueError):
        return X, y, sample_weight  # scikit-learn's checks have something to say about that
    if target.dtype.kind != "f":
        return X, y, sample_weight
    is_missing = np.isnan(target) if target.ndim == 1 else np.isnan(target).any(axis=tuple(range(1, target.ndim)))
    if not np.ndim(target) or not is_missing.any() or is_missing.all() or len(target) != _num_samples(X):
        return X, y, sample_weight
    kept = np.flatnonzero(~is_missing)
    warnings.warn(
        f"The target is missing in {is_missing.sum()} of {len(target)} rows, which are left out of the fit.",
        MissingTargetWarning,
        stacklevel=5,
    )
    weight = None if sample_weight is None else _safe_indexing(np.asarray(sample_weight), kept)
    return _safe_indexing(X, kept), _safe_indexing(y, kept), weight


def check_inputs(estimator: BaseEstimator, X: ArrayLike) -> Floats:
    """Check what `predict` was given."""
    inputs: Floats = validate_data(estimator, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
    return inputs


def seed_sequence(random_state: int | np.random.RandomState | None) -> np.random.SeedSequence:
    """Turn scikit-learn's idea of a seed into NumPy's, from which chains draw theirs."""
    words = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.SeedSequence([int(word) for word in words])


def _check_frequencies(sample_weight: ArrayLike | None, X: Floats) -> Floats:
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if weight.sum() < 2:
        raise ValueError(
            f"sample_weight says how often each row counts, and must add up to at least 2. Got a sum of "
            f"{weight.sum():.6g}."
        )
    return weight


def check_magnitude(values: Floats, labels: Sequence[str]) -> None:
    """Raise if the squares of a column of values (N, n) overflow or vanish; messages name it by its label."""
    sizes = np.nanmax(np.abs(values), axis=0, initial=0.0)
    for label, size in zip(labels, sizes.tolist(), strict=True):
        if size > LARGEST_VALUE:
            raise ValueError(
                f"{label} holds values as large as {size:.3g}, whose squares overflow. Rescale it to stay below "
                f"{LARGEST_VALUE:g}."
            )
        if 0 < size < SMALLEST_VALUE:
            raise ValueError(
                f"{label} holds nothing larger than {size:.3g}, whose squares vanish. Rescale it to reach above "
                f"{SMALLEST_VALUE:g}."
            )


def label_columns(source: str, names: Iterable[object] | None, n_columns: int) -> list[str]:
    """Label the columns of X or y by their names, or by their numbers where they have none."""
    if names is not None:
        return [f"The column {str(name)!r} of {source}" for name in names]
    return [source] if n_columns == 1 else [f"{source}[:, {j}]" for j in range(n_columns)]
