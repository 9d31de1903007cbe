"""The inputs of a model, found by name among the columns of a table."""

from collections.abc import Sequence

import numpy as np

from saltus._typing import Floats
from saltus.cli.tables import Table, TableError
from saltus.cli.tables.table import suggest
from saltus.estimators import NetworkRegressor
from saltus.inspection.document import join_names


def match_inputs(table: Table, names: Sequence[str], model: NetworkRegressor) -> Floats:
    """Take the inputs (N, d) from the columns of their names; NaN where a value is missing or infinite."""
    absent = [name for name in names if name not in table.columns]
    if absent:
        hint = (
            "" if hasattr(model, "feature_names_in_") else " The model was fitted without names, so they are numbered."
        )
        close = suggest(absent[0], list(table.columns))
        raise TableError(f"{table.source} lacks {join_names(absent)}, which the model predicts from.{hint}{close}")
    X = np.stack([table.numbers(name) for name in names], axis=1)
    return np.where(np.isfinite(X), X, np.nan)


def describe_inputs(table: Table, X: Floats, model: NetworkRegressor) -> list[str]:
    """Say which columns are not used, which rows cannot be predicted, and which lie beyond what the model has seen."""
    inputs = model.data_notes_.inputs
    extra = [name for name in table.columns if name not in inputs.names]
    said = [f"Not used by the model: {join_names(extra)}."] if extra else []
    missing = np.isnan(X)
    if missing.any():
        counts = [f"{name} ({n})" for name, n in zip(inputs.names, missing.sum(axis=0), strict=True) if n]
        n_rows = int(missing.any(axis=1).sum())
        said.append(
            f"No prediction, as a value is missing or infinite: {n_rows} of {len(X)} rows; {join_names(counts)}."
        )
    beyond = (inputs.min > X) | (inputs.max < X)
    if beyond.any():
        counts = [f"{name} ({n})" for name, n in zip(inputs.names, beyond.sum(axis=0), strict=True) if n]
        n_rows = int(beyond.any(axis=1).sum())
        said.append(
            f"Outside the ranges that the model was fitted to, where predictions are guesses: {n_rows} of {len(X)} "
            f"rows; {join_names(counts)}."
        )
    return said


def match_rows(table: Table, model: NetworkRegressor) -> tuple[dict[str, Floats], list[str]]:
    """Take the complete rows of inputs and outputs, as arguments of `report`, and say what was left out."""
    notes = model.data_notes_
    X = match_inputs(table, notes.input_names, model)
    absent = [name for name in notes.output_names if name not in table.columns]
    if absent:
        rows, said = {"X": X}, [f"{table.source} lacks {join_names(absent)}, so that predictions are not scored."]
    else:
        Y = np.stack([table.numbers(name) for name in notes.output_names], axis=1)
        rows, said = {"X": X, "y": Y}, []
    complete = np.all([np.isfinite(values).all(axis=1) for values in rows.values()], axis=0)
    if not complete.any():
        raise TableError(
            f"No row of {table.source} has all of {join_names([*notes.input_names, *notes.output_names])}."
        )
    if not complete.all():
        said.append(f"{(~complete).sum()} of {len(X)} rows were left out, as a value is missing or infinite.")
    said.insert(0, f"Rows from {table.source}: {complete.sum()}.")
    return {name: values[complete] for name, values in rows.items()}, said
