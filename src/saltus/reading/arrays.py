"""What `fit` and `predict` are given, made into something that has rows and columns, or refused in a sentence."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

# Sorts of NumPy's arrays whose columns are read one by one: objects, text, bytes, dates and spans of time.
READ_BY_COLUMN = "OUSTMm"


def take_table(X: Any) -> Any:
    """Take X as it is, but for lists of cells that are no numbers, and for masked cells, which are missing."""
    if isinstance(X, np.ndarray):
        X = unmasked(X)
    native = nw.from_native(X, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        raise ValueError(f"X is a {type(X).__name__}, which has no rows before it is computed. Call X.collect() first.")
    if isinstance(native, nw.DataFrame) and not native.shape[1]:
        raise ValueError(f"Found array with 0 feature(s) (shape={native.shape}) while a minimum of 1 is required.")
    fields = getattr(getattr(X, "dtype", None), "names", None)
    if fields:
        raise ValueError(
            f"X is a structured array, with fields {', '.join(fields)}. Make a table of it: pandas.DataFrame(X)."
        )
    if isinstance(X, list | tuple):
        X = _take_lists(X)
    if len(getattr(X, "shape", (0, 0))) == 1:
        raise ValueError(
            "Expected 2D array, got 1D array instead: a table has rows and columns. Reshape your data: one column is "
            "X.reshape(-1, 1), or X.to_frame() of a series, and one row is X.reshape(1, -1)."
        )
    return X


def _take_lists(rows: Any) -> Any:
    sized = [row for row in rows if isinstance(row, list | tuple | np.ndarray) and np.ndim(row) == 1]
    widths = {len(row) for row in sized}
    if len(widths) > 1:
        raise ValueError(
            f"The rows of X have different lengths, between {min(widths)} and {max(widths)} cells. Give every row one "
            f"cell for each column, None where there is no value."
        )
    if len(sized) < len(rows) or not rows:
        return rows
    if np.array([list(row) for row in rows]).dtype.kind not in READ_BY_COLUMN:
        return rows
    return np.array([list(row) for row in rows], dtype=object)


def unmasked(values: Any) -> NDArray[Any]:
    """Make masked values missing: NaN among numbers, None elsewhere."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    if values.dtype.kind in "biuf":
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    objects = np.array(values.data, dtype=object)
    objects[np.ma.getmaskarray(values)] = None
    return objects
