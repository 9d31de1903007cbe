"""Calls of what an author wrote, checked: an error says whose it is."""

from collections.abc import Callable

import numpy as np

from saltus._typing import Floats
from saltus.families.user.family import UserFamily


def evaluate_column(family: UserFamily, X: Floats, parameters: Floats, ranges: Floats) -> Floats:
    """Evaluate a term at N rows: (N,)."""
    return _checked(family, family.column, (len(X),), X, parameters, ranges)


def evaluate_derivatives(family: UserFamily, X: Floats, parameters: Floats, ranges: Floats) -> Floats:
    """Evaluate the derivatives of a term by its parameters: (N, p)."""
    return _checked(family, family.derivatives, (len(X), parameters.size), X, parameters, ranges)


def _checked(
    family: UserFamily,
    method: Callable[[Floats, Floats, Floats], Floats],
    shape: tuple[int, ...],
    X: Floats,
    parameters: Floats,
    ranges: Floats,
) -> Floats:
    try:
        values = np.asarray(method(X, parameters, ranges), dtype=np.float64)
    except Exception as error:
        raise RuntimeError(
            f"{family!r}.{method.__name__} raised {type(error).__name__}: {error}. It was given {len(X)} rows of "
            f"{X.shape[1]} inputs and the parameters {parameters.tolist()}. saltus.testing.check_family looks for such "
            f"errors."
        ) from error
    if values.shape != shape:
        raise RuntimeError(
            f"{family!r}.{method.__name__} must return an array of shape {shape}, got {values.shape}. Look at what it "
            f"does with X, whose shape was {X.shape}; saltus.testing.check_family looks for such errors."
        )
    return values
