"""Distance metrics: r^2 = (x - mu)' M (x - mu).

A metric is handed to kernels as a matrix `to_metric` (q, d) that takes the unit cube of the centres to
coordinates in which the distance is Euclidean.
"""

import numpy as np

from saltus._typing import Floats

# Directions in which the inputs vary less than this share of their largest variance have no inverse.
SINGULAR = 1e-12


def metric_factor(metric: str | Floats, U: Floats, weight: Floats, box_width: Floats) -> Floats:
    """Find `to_metric` for inputs U (N, d) in the unit cube, whose sides are `box_width` in the user's units.

    The pseudo-inverse of a singular covariance is taken in the unit cube, so that units do not matter.
    """
    if not isinstance(metric, str):
        return _root(metric * np.outer(box_width, box_width))
    if metric == "euclidean":
        return np.diag(box_width)
    centred = U - np.average(U, axis=0, weights=weight)
    covariance = (centred * weight[:, None]).T @ centred / weight.sum()
    if metric in ("standardized", "learned"):  # relevances are learned on top
        return np.diag(1.0 / np.sqrt(np.diag(covariance)))
    return _inverse_root(covariance)


def squared_distances(X_metric: Floats, centers_metric: Floats) -> Floats:
    """Find the squared distances (N, k) between rows (N, q) and centres (k, q). O(N k q).

    A coordinate that is missing, NaN, is left out.
    """
    squared = np.zeros((len(X_metric), len(centers_metric)))
    for i in range(X_metric.shape[1]):
        along = (X_metric[:, i, None] - centers_metric[:, i]) ** 2
        squared += np.nan_to_num(along) if np.isnan(X_metric[:, i]).any() else along
    return squared


def check_metric_matrix(metric: object, n_features: int) -> Floats:
    """Check a metric given as a matrix: (d, d), finite, symmetric, positive semidefinite."""
    matrix = np.asarray(metric, dtype=np.float64)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"A metric given as a matrix must have shape ({n_features}, {n_features}), one row and column for "
            f"each feature. Got shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("A metric given as a matrix must be finite. Got NaN or infinity in it.")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0):
        raise ValueError("A metric given as a matrix must be symmetric. Pass (M + M.T) / 2 if that is meant.")
    smallest = np.linalg.eigvalsh(matrix).min(initial=0.0)
    if smallest < -SINGULAR * np.abs(matrix).max(initial=0.0):
        raise ValueError(
            f"A metric given as a matrix must be positive semidefinite. Got an eigenvalue of {smallest:.3g}."
        )
    if not matrix.any():
        raise ValueError("A metric given as a matrix must not be all zero: every distance would be 0.")
    return matrix


def _root(matrix: Floats) -> Floats:
    """Find A (q, d) with A'A = matrix, q its rank."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > SINGULAR * values.max(initial=0.0)
    return np.sqrt(values[kept])[:, None] * vectors[:, kept].T


def _inverse_root(matrix: Floats) -> Floats:
    """Find A (q, d) with A'A the pseudo-inverse of matrix, q its rank."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > SINGULAR * values.max(initial=0.0)
    return vectors[:, kept].T / np.sqrt(values[kept])[:, None]
