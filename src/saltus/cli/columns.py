"""Which columns and rows of a table a model is made of, and what is left out and why."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltus._typing import Bools, Floats
from saltus.cli.tables import Table, TableError
from saltus.cli.tables.table import quote
from saltus.estimators.checks import check_magnitude
from saltus.inspection.document import count, join_names, one_line

# An input that more than this share of rows lacks would cost more rows than it is worth.
MOST_MISSING = 0.5
# Columns so correlated differ by their units at most, and rounding.
SAME = 1 - 1e-9
# Numbers that often stand for a missing value; they are suspected if they are so frequent.
SENTINELS, SUSPICIOUS = (-99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0), 3


@dataclass(frozen=True)
class Data:
    """What a model is fitted to.

    Attributes
    ----------
    X, Y : ndarray of shape (N, d) and (N, c)
        Complete rows.
    inputs, targets : list of str
        The names of their columns.
    left_out : dict of str to str
        Other columns, and why.
    notes : list of str
        What else was left out, in sentences.
    """

    X: Floats
    Y: Floats
    inputs: list[str]
    targets: list[str]
    left_out: dict[str, str]
    notes: list[str]

    def describe(self) -> list[str]:
        """Say in sentences what is predicted from what, and what was left out."""
        return [
            f"{join_names(self.targets)} from {count(len(self.inputs), 'input')}: {join_names(self.inputs)}.",
            *(f"Left out: {one_line(name)} ({why})." for name, why in self.left_out.items()),
            *self.notes,
        ]


def choose_data(
    table: Table, targets: Sequence[str], *, inputs: Sequence[str] = (), without: Sequence[str] = ()
) -> Data:
    """Choose inputs and rows for a fit.

    Parameters
    ----------
    table : Table
    targets : sequence of str
        The columns to predict.
    inputs : sequence of str
        The columns to predict from. Empty: all others that are numbers and vary.
    without : sequence of str
        Columns not to predict from.
    """
    if not targets:
        raise TableError(
            f"Which column is to be predicted? Say so with --target. {table.source} has: {', '.join(table.columns)}."
        )
    _check_names(table, targets, inputs, without)
    values = {name: table.numbers(name) for name in targets}
    left_out: dict[str, str] = {}
    for name in inputs or [name for name in table.columns if name not in (*targets, *without)]:
        refusal = None if inputs else _refuse(table, name)
        if refusal is None:
            values[name] = table.numbers(name)
        else:
            left_out[name] = refusal
    if not inputs:
        left_out |= {f"column {j + 1}": "it has no name" for j, name in enumerate(table.header) if not name}
    complete = np.all([np.isfinite(column) for column in values.values()], axis=0)
    notes = [*_dropped_rows(values, complete), *_suspicions(values)]
    if complete.sum() < 2:
        why = "" if complete.all() else f" {' '.join(notes)}"
        raise TableError(f"{table.source} has {count(int(complete.sum()), 'complete row')}, and a fit needs more.{why}")
    constant = {name: column[complete][0] for name, column in values.items() if np.ptp(column[complete]) == 0}
    for name in targets:
        if name in constant:
            raise TableError(f"{quote(name)} is {constant[name]:g} in every row: there is nothing to predict.")
    left_out |= {name: f"{value:g} in every row" for name, value in constant.items()}
    chosen = [name for name in values if name not in (*targets, *constant)]
    if not chosen:
        why = "".join(f" {one_line(name)}: {reason}." for name, reason in left_out.items())
        raise TableError(f"{table.source} has no column to predict {join_names(targets)} from.{why}")
    X, Y = (_stack(table, values, names, complete) for names in (chosen, targets))
    notes += _copies(X, Y, chosen, targets)
    return Data(X, Y, chosen, list(targets), left_out, notes)


def _stack(table: Table, values: dict[str, Floats], names: Sequence[str], complete: Bools) -> Floats:
    stacked = np.stack([values[name][complete] for name in names], axis=1)
    check_magnitude(stacked, [f"The column {quote(name)} of {table.source}" for name in names])
    return stacked


def _check_names(table: Table, targets: Sequence[str], inputs: Sequence[str], without: Sequence[str]) -> None:
    for name in (*targets, *inputs, *without):
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


def _refuse(table: Table, name: str) -> str | None:
    """Say why a column is not taken for an input by itself."""
    column = table.columns[name]
    share = float(np.isnan(column.values).mean())
    if column.refusal is not None or column.flaw is not None:
        return column.refusal
    return f"missing in {share:.0%} of the rows" if share > MOST_MISSING else None


def _dropped_rows(values: dict[str, Floats], complete: Bools) -> list[str]:
    n_dropped = int((~complete).sum())
    if not n_dropped:
        return ["No values are missing."]
    lacking = {name: int((~np.isfinite(column)).sum()) for name, column in values.items()}
    counts = [f"{name} ({n})" for name, n in lacking.items() if n]
    infinite = any(np.isinf(column).any() for column in values.values())
    how = "missing or infinite" if infinite else "missing"
    were = "row was" if n_dropped == 1 else "rows were"
    return [f"{n_dropped} of {len(complete)} {were} dropped, as a value is {how}: {join_names(counts)}."]


def _copies(X: Floats, Y: Floats, inputs: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Point out inputs that are a target in other units."""
    X, Y = (values / np.abs(values).max(axis=0) for values in (X, Y))  # so that no square overflows
    with np.errstate(invalid="ignore"):  # of columns that vary in their last digits only
        X, Y = ((values - values.mean(axis=0)) / values.std(axis=0) for values in (X, Y))
    return [
        f"{one_line(name)} is {one_line(target)} itself, or in other units. If it is not known beforehand: "
        f"--drop {shlex.quote(name)}."
        for i, target in enumerate(targets)
        for name, correlation in zip(inputs, Y[:, i] @ X / len(X), strict=True)
        if abs(correlation) > SAME
    ]


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
