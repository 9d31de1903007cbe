"""What `fit` and `predict` are given, made into something that has rows and columns, or refused in a sentence."""

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Sorts of NumPy's arrays whose columns are read one by one: objects, text, bytes, dates and spans of time.
READ_BY_COLUMN = "OUSTMm"


def take_table(X: Any) -> Any:
    """Take X as it is, but for lists of cells that are no numbers, and for masked cells, which are missing."""
    refuse_what_has_no_rows("X", X)
    if isinstance(X, np.ndarray):
        X = unmasked(X)
    _refuse_names_that_are_given_twice(X)
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


def refuse_what_has_no_rows(name: str, values: Any) -> None:
    """Raise if X or y is of a type that has no rows, or not in an order."""
    if values is None or isinstance(values, str | bytes):
        found = "None" if values is None else f"text, {str(values)!r}"
        raise TypeError(f"{name} is {found}. Pass a table or an array.")
    if isinstance(values, dict) and not sparse.issparse(values):  # a DOK matrix is a dict
        raise TypeError(f"{name} is a dict, and has to be a table. Make one of it: pandas.DataFrame({name}).")
    if isinstance(values, set | frozenset | Iterator):
        raise TypeError(
            f"{name} is a {type(values).__name__}, which has no rows that can be counted. Pass list({name}), in the "
            f"order of the rows."
        )


def _refuse_names_that_are_given_twice(X: Any) -> None:
    names = X.columns if hasattr(X, "iloc") and hasattr(X, "columns") else None  # other libraries have no such frames
    if names is not None and not names.is_unique:
        repeated = names[names.duplicated()][0]
        raise ValueError(f"X has two columns named {repeated!r}. Rename one.")


def _take_lists(rows: Any) -> Any:
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        rows = [unmasked(row) for row in rows]
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
        return _in_double_precision(np.asarray(values))
    if not np.ma.is_masked(values):
        return _in_double_precision(np.asarray(values.data))
    if values.dtype.kind in "biuf":
        return _in_double_precision(np.ma.filled(values.astype(np.result_type(values, np.float64)), np.nan))
    objects = np.array(values.data, dtype=object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def _in_double_precision(values: NDArray[Any]) -> NDArray[Any]:
    """Take numbers of more digits as float64; those beyond its range are infinite, and refused as such."""
    if values.dtype.kind != "f" or values.dtype.itemsize <= 8:
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float64)
