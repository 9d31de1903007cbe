"""Predictions as columns, and as CSV."""

import csv
import io
import warnings

from saltus._typing import Floats
from saltus.cli.tables import Table
from saltus.estimators import NetworkRegressor, UnseenValuesWarning
from saltus.reading import ColumnTable

# What a formula of a spreadsheet begins with, among them the wide forms of these characters.
FORMULA_MARKS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")


def check_interval(model: NetworkRegressor, coverage: float | None) -> None:
    """Raise if intervals are asked of a model that has none."""
    if coverage is not None and not model._gives_intervals:
        raise ValueError(
            "--interval needs a model that was fitted with --bayes, and this one was not. Fit it again with --bayes."
        )


def predict_columns(model: NetworkRegressor, X: ColumnTable, coverage: float | None) -> dict[str, Floats]:
    """Predict each output, with the ends of its interval if a coverage is given; of unseen values others tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenValuesWarning)
        parts = {"": model.predict(X)}
        if coverage is not None:
            parts["_low"], parts["_high"] = model.predict_interval(X, coverage)
    return {
        name + ending: values.reshape(len(X), -1)[:, i]
        for i, name in enumerate(model.data_notes_.output_names)
        for ending, values in parts.items()
    }


def write_csv(table: Table, columns: dict[str, Floats], *, keep: bool) -> str:
    """Write predictions as the table is written, beside its own columns if they are kept."""
    given = table.header if keep else []
    taken = set(given)
    names = (f"{name}_predicted" if name in taken else name for name in columns)
    header = [*given, *map(harmless, names)]
    rows = table.rows if keep and table.rows is not None else [[] for _ in range(table.n_rows)]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=table.separator, lineterminator="\n")
    writer.writerow(header)
    written = [[_write(value, table.decimal) for value in column.tolist()] for column in columns.values()]
    writer.writerows([*row, *cells] for row, cells in zip(rows, zip(*written, strict=True), strict=True))
    return text.getvalue()


def harmless(name: str) -> str:
    """Put an apostrophe before a name that a spreadsheet would take for a formula, which may send data elsewhere.

    Names come from the model, which may be someone else's. The columns of the table that are kept stay as they were.
    """
    return f"'{name}" if name.lstrip(" ").startswith(FORMULA_MARKS) else name


def _write(value: float, decimal: str) -> str:
    return repr(value).replace(".", decimal)
