"""Which columns and rows of a table a model is made of, and what is left out and why."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltus._typing import Bools, Floats
from saltus.cli.tables import Table, TableError
from saltus.cli.tables.table import quote
from saltus.estimators.checks import HOW_TO_CLASSIFY, check_magnitude
from saltus.inspection.document import count, join_names, one_line
from saltus.reading import ColumnTable, TableReader
from saltus.reading.readers import CategoryReader, DateReader

# Columns so correlated differ by their units at most, and rounding.
SAME = 1 - 1e-9
# Numbers that often stand for a missing value; they are suspected if they are so frequent.
SENTINELS, SUSPICIOUS = (-99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0), 3


@dataclass(frozen=True)
class Data:
    """What a model is fitted to.

    Attributes
    ----------
    X : ColumnTable
        The inputs as they come, of the rows that have a target.
    Y : ndarray of shape (N, c)
    inputs, targets : list of str
        The names of their columns.
    left_out : dict of str to str
        Other columns, and why.
    notes : list of str
        What else was left out, in sentences.
    categories : list of str
        Inputs that are categories by request.
    """

    X: ColumnTable
    Y: Floats
    inputs: list[str]
    targets: list[str]
    left_out: dict[str, str]
    notes: list[str]
    categories: list[str]

    def describe(self) -> list[str]:
        """Say in sentences what is predicted from what, and what was left out."""
        return [
            f"{join_names(self.targets)} from {count(len(self.inputs), 'input')}: {join_names(self.inputs)}.",
            *(f"Left out: {one_line(name)} ({why})." for name, why in self.left_out.items()),
            *self.notes,
        ]


def choose_data(
    table: Table,
    targets: Sequence[str],
    *,
    inputs: Sequence[str] = (),
    without: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> Data:
    """Choose inputs and rows for a fit.

    Parameters
    ----------
    table : Table
    targets : sequence of str
        The columns to predict.
    inputs : sequence of str
        The columns to predict from. Empty: all others that say something.
    without : sequence of str
        Columns not to predict from.
    categories : sequence of str
        Columns that are categories even if they hold numbers.
    """
    if not targets:
        raise TableError(
            f"No column to predict is given. Name one with --target: {table.source} has {', '.join(table.columns)}."
        )
    _check_names(table, targets, inputs, without, categories)
    Y = np.stack([_target_of(table, name) for name in targets], axis=1)
    has_target: Bools = np.asarray(np.isfinite(Y).all(axis=1))
    check_magnitude(Y[has_target], _labels(table, targets))
    dropped = _dropped_rows(Y, targets)
    if has_target.sum() < 2:
        rows = count(int(has_target.sum()), "row")
        raise TableError(f"{table.source} has {rows} with {join_names(targets)}, and a fit needs 2 or more. {dropped}")
    Y = Y[has_target]
    for name, values in zip(targets, Y.T, strict=True):
        if np.ptp(values) == 0:
            raise TableError(f"{quote(name)} is {values[0]:g} in every row: there is nothing to predict.")
    asked = inputs or [name for name in table.columns if name not in (*targets, *without)]
    unusable = (
        {} if inputs else {name: table.columns[name].refusal for name in asked if table.columns[name].is_unusable}
    )
    wanted = [
        table.as_input(name, is_category=name in categories, is_wanted=bool(inputs) or name in categories)
        for name in asked
        if name not in unusable
    ]
    if not wanted:
        raise TableError(
            f"{table.source} has no column to predict {join_names(targets)} from: "
            f"{'the others are left out by --drop' if without else 'it has no others'}."
        )
    X = ColumnTable(tuple(wanted)).take(has_target)
    reader = _read(table, X, targets)
    left_out = dict(reader.left_out) | {name: f"it is {why}" for name, why in unusable.items()}
    if not inputs:
        left_out |= {f"column {j + 1}": "it has no name" for j, name in enumerate(table.header) if not name}
    kept = ColumnTable(tuple(X.columns[each.column] for each in sorted(reader.readers, key=lambda each: each.column)))
    numbers = {each.name: X.columns[each.column].values for each in reader.numbers.values() if each.form is None}
    check_magnitude(np.stack([*numbers.values(), np.ones(len(Y))], axis=1), _labels(table, [*numbers, ""]))
    values = {**numbers, **dict(zip(targets, Y.T, strict=True))}
    notes = [
        dropped,
        *_classes(dict(zip(targets, Y.T, strict=True))),
        *_readings(reader, kept),
        *_suspicions(values),
        *_copies(numbers, Y, targets),
    ]
    names = [column.name for column in kept.columns]
    return Data(kept, Y, names, list(targets), left_out, notes, [name for name in names if name in categories])


def _read(table: Table, X: ColumnTable, targets: Sequence[str]) -> TableReader:
    """Find out which columns say something."""
    try:
        return TableReader.learn(X.columns, np.ones(len(X)))
    except ValueError as error:
        why = str(error).partition("No column of X can be used.")[2]
        raise TableError(f"{table.source} has no column to predict {join_names(targets)} from.{why}") from error


def _target_of(table: Table, name: str) -> Floats:
    try:
        return table.numbers(name)
    except TableError as error:
        flaw = table.column(name).flaw
        if flaw is None or flaw.looks_like != "text" or table.column(name).refusal is None:
            raise
        raise TableError(f"{error} A model predicts numbers. {HOW_TO_CLASSIFY}") from error


def _classes(targets: dict[str, Floats]) -> list[str]:
    """Say of a target that has two values only that it is predicted as a number."""
    said = []
    for name, values in targets.items():
        low, high = values.min(), values.max()
        if np.isin(values, (low, high)).all():
            what = f", the probability of {high:g}" if (low, high) == (0, 1) else ""
            said.append(
                f"{one_line(name)} is either {low:g} or {high:g}, and is predicted as a number{what}: saltus does not "
                f"offer classification yet."
            )
    return said


def _labels(table: Table, names: Sequence[str]) -> list[str]:
    return [f"The column {quote(name)} of {table.source}" for name in names]


def _readings(reader: TableReader, X: ColumnTable) -> list[str]:
    """Say which columns are no plain numbers, and how many values are missing."""
    said = []
    categories = [
        f"{one_line(each.name)} ({count(len(each.labels), 'level')})"
        for each in reader.readers
        if isinstance(each, CategoryReader)
    ]
    dates = [one_line(each.name) for each in reader.readers if isinstance(each, DateReader)]
    written = [one_line(each.name) for each in reader.numbers.values() if each.form is not None]
    if categories:
        said.append(f"Categories: {join_names(categories)}.")
    if dates:
        said.append(f"Dates: {join_names(dates)}.")
    if written:
        said.append(f"Numbers that are written with signs, units or separators: {join_names(written)}.")
    n_missing = {one_line(column.name): int(column.is_missing.sum()) for column in X.columns}
    lacking = [f"{name} ({n})" for name, n in n_missing.items() if n]
    if lacking:
        said.append(f"Values are missing in {join_names(lacking)}; the rows are used all the same.")
    return said


def resolve_names(table: Table, given: Sequence[str]) -> list[str]:
    """Take names of columns; one that is none may be several, with commas between them."""
    names = []
    for name in given:
        parts = [part.strip() for part in name.split(",")]
        several = name not in table.columns and len(parts) > 1 and all(part in table.columns for part in parts)
        names += parts if several else [name]
    return names


def _check_names(
    table: Table, targets: Sequence[str], inputs: Sequence[str], without: Sequence[str], categories: Sequence[str]
) -> None:
    for name in (*targets, *inputs, *without, *categories):
        table.column(name)
    for names, option in ((targets, "--target"), (inputs, "--input")):
        repeated = [name for j, name in enumerate(names) if name in names[:j]]
        if repeated:
            raise TableError(f"{option} {quote(repeated[0])} is given twice.")
    for name in inputs:
        if name in targets:
            raise TableError(f"{quote(name)} is the target, and cannot be an input as well.")
        if name in without:
            raise TableError(f"{quote(name)} is given with both --input and --drop.")


def _dropped_rows(Y: Floats, targets: Sequence[str]) -> str:
    lacking = ~np.isfinite(Y)
    n_dropped = int(lacking.any(axis=1).sum())
    if not n_dropped:
        return "Every row has a target."
    counts = [f"{name} ({n})" for name, n in zip(targets, lacking.sum(axis=0).tolist(), strict=True) if n]
    how = "missing or infinite" if np.isinf(Y).any() else "missing"
    were = "row was" if n_dropped == 1 else "rows were"
    return f"{n_dropped} of {len(Y)} {were} dropped, as the target is {how}: {join_names(counts)}."


def _copies(numbers: dict[str, Floats], Y: Floats, targets: Sequence[str]) -> list[str]:
    """Point out inputs that are a target in other units."""
    said = []
    for i, target in enumerate(targets):
        for name, values in numbers.items():
            known = ~np.isnan(values)
            if known.sum() > 2 and _correlation(values[known], Y[known, i]) > SAME:
                said.append(
                    f"{one_line(name)} is {one_line(target)} itself, or in other units. If it is not known beforehand: "
                    f"--drop {shlex.quote(name)}."
                )
    return said


def _correlation(x: Floats, y: Floats) -> float:
    """Find by how much two columns vary together, whatever their sign; 0 where one does not vary."""
    x, y = (values / (np.abs(values).max() or 1.0) for values in (x, y))  # so that no square overflows
    x, y = x - x.mean(), y - y.mean()
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    return abs(float(x @ y)) / lengths if lengths > 0 else 0.0


def _suspicions(values: dict[str, Floats]) -> list[str]:
    """Point out row numbers, and numbers far from all others that look like a sign."""
    said = []
    for name, column in values.items():
        if len(column) > SUSPICIOUS and np.all(np.diff(column) == 1):
            said.append(f"{one_line(name)} counts the rows. If it means nothing: --drop {shlex.quote(name)}.")
        for sentinel in SENTINELS:
            n = int((column == sentinel).sum())
            others = column[np.isfinite(column) & (column != sentinel)]
            if n >= SUSPICIOUS and len(others) and np.abs(others - sentinel).min() > np.ptp(others):
                said.append(
                    f"{one_line(name)} is {sentinel:g} in {n} rows, far from its other values. If that stands for a "
                    f"missing one: --missing {sentinel:g}."
                )
    return said
