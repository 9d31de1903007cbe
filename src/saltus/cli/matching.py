"""The inputs of a model, found by name among the columns of a table."""

from typing import Any

import numpy as np

from saltus._typing import Bools
from saltus.cli.tables import Table, TableError
from saltus.cli.tables.table import suggest
from saltus.estimators import NetworkRegressor
from saltus.estimators.unseen import describe_unseen
from saltus.inspection.document import join_names, one_line
from saltus.reading import Column, ColumnTable
from saltus.reading.readers import CategoryReader


def column_names(model: NetworkRegressor) -> list[str]:
    """Name the columns that a model was fitted to, those that it left out too."""
    names = [str(name) for name in getattr(model, "feature_names_in_", map("x{}".format, range(model.n_features_in_)))]
    for reader in model._reader.readers:  # which know columns that are named by numbers, as scikit-learn does not
        names[reader.column] = reader.name
    return names


def category_names(model: NetworkRegressor) -> list[str]:
    """Name the columns whose text is to be kept as it is."""
    return [reader.name for reader in model._reader.readers if isinstance(reader, CategoryReader)]


def match_inputs(table: Table, model: NetworkRegressor) -> ColumnTable:
    """Take the columns that the model was fitted to; one that it left out may be absent."""
    names, unused = column_names(model), model.data_notes_.left_out
    absent = [name for name in names if name not in table.columns and name not in unused]
    if absent:
        hint = (
            "" if hasattr(model, "feature_names_in_") else " The model was fitted without names, so they are numbered."
        )
        close = suggest(absent[0], list(table.columns))
        raise TableError(f"{table.source} lacks {join_names(absent)}, which the model predicts from.{hint}{close}")
    nothing = np.full(table.n_rows, np.nan)
    used = [name in table.columns and name not in unused for name in names]
    found = [
        table.as_input(name) if is_used else Column(name, nothing) for name, is_used in zip(names, used, strict=True)
    ]
    for column, reader in ((found[each.column], each) for each in model._reader.numbers.values()):
        if reader.form is None:
            table.numbers(column.name)  # or it says what else is in it
    return ColumnTable(tuple(found))


def describe_inputs(table: Table, X: ColumnTable, model: NetworkRegressor) -> list[str]:
    """Say which columns are not used, which values are missing or new, and which lie beyond what the model has seen."""
    inputs, names = model.data_notes_.inputs, column_names(model)
    extra = [name for name in table.columns if name not in names or name in model.data_notes_.left_out]
    said = [f"Not used by the model: {join_names(extra)}."] if extra else []
    used = [X.columns[reader.column] for reader in model._reader.readers]
    missing = np.array([column.is_missing for column in used])
    if missing.any():
        counts = [f"{one_line(column.name)} ({n})" for column, n in zip(used, missing.sum(axis=1), strict=True) if n]
        said.append(
            f"A value is missing or infinite in {missing.any(axis=0).sum()} of {len(X)} rows, which are predicted all "
            f"the same: {join_names(counts)}."
        )
    values = model._reader.read(X.columns)
    said += describe_unseen(model, values, X.columns)
    beyond = (inputs.min > values) | (inputs.max < values)
    if beyond.any():
        counts = [f"{name} ({n})" for name, n in zip(inputs.names, beyond.sum(axis=0), strict=True) if n]
        n_rows = int(beyond.any(axis=1).sum())
        said.append(
            f"Outside the ranges that the model was fitted to, where predictions are guesses: {n_rows} of {len(X)} "
            f"rows; {join_names(counts)}."
        )
    return said


def match_rows(table: Table, model: NetworkRegressor) -> tuple[dict[str, Any], list[str]]:
    """Take inputs, and the outputs where there are any, as arguments of `report`, and say what was left out."""
    X, names = match_inputs(table, model), model.data_notes_.output_names
    absent = [name for name in names if name not in table.columns]
    if absent:
        said = [f"{table.source} lacks {join_names(absent)}, so that predictions are not scored."]
        return {"X": X}, [f"Rows from {table.source}: {len(X)}.", *said]
    Y = np.stack([table.numbers(name) for name in names], axis=1)
    has_target: Bools = np.asarray(np.isfinite(Y).all(axis=1))
    if not has_target.any():
        raise TableError(f"No row of {table.source} has {join_names(names)}.")
    said = [f"Rows from {table.source}: {has_target.sum()}."]
    if not has_target.all():
        said.append(f"{(~has_target).sum()} of {len(X)} rows were left out, as the target is missing or infinite.")
    return {"X": X.take(has_target), "y": Y[has_target]}, said
