"""Parquet, by whichever library is there."""

from collections.abc import Callable, Collection
from datetime import date, time
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from saltus.cli.tables.cells import NAN, ColumnReader, Grammar
from saltus.cli.tables.table import Column, Flaw, Table, TableError, quote, without_false_names
from saltus.reading.columns import make_column, objects_of

Values = list[tuple[str, list[Any]]]


def _by_pyarrow(path: Path) -> Values:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return [(name, column.to_pylist()) for name, column in zip(table.column_names, table.columns, strict=True)]


def _by_polars(path: Path) -> Values:
    import polars

    return [(series.name, series.to_list()) for series in polars.read_parquet(path)]


def _by_pandas(path: Path) -> Values:
    import pandas

    frame = pandas.read_parquet(path)
    present = frame.notna()
    return [(str(name), frame[name].astype(object).where(present[name], None).tolist()) for name in frame.columns]


# pandas needs a second library for this format; it may be fastparquet.
READERS: dict[str, Callable[[Path], Values]] = {"pyarrow": _by_pyarrow, "polars": _by_polars, "pandas": _by_pandas}


def read_parquet(path: Path, grammar: Grammar, *, as_text: Collection[str] = (), keep_rows: bool = False) -> Table:
    """Read a Parquet file."""
    library = next((name for name in READERS if find_spec(name) is not None), None)
    if library is None:
        raise ImportError(
            f"{path} is a Parquet file, which takes pyarrow, polars or pandas to read: pip install 'saltus[parquet]'. "
            f"CSV takes nothing."
        )
    try:
        values = READERS[library](path)
    except ImportError:
        raise
    except Exception as error:  # each library has errors of its own
        raise TableError(f"{path} cannot be read as Parquet by {library}: {error}") from error
    names = without_false_names(name for name, _ in values)
    repeated = [name for j, name in enumerate(names) if name and name in names[:j]]
    if repeated:
        raise TableError(f"{path} has two columns named {quote(repeated[0])}. Rename one.")
    columns = {
        name: column_of(cells, grammar, as_text=name in as_text)
        for name, (_, cells) in zip(names, values, strict=True)
        if name
    }
    n_rows = len(values[0][1]) if values else 0
    if not n_rows:
        raise TableError(f"{path} has no rows.")
    rows = _as_text([cells for _, cells in values]) if keep_rows else None
    return Table(str(path), n_rows, columns, names, rows)


def _as_text(columns: list[list[Any]]) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in zip(*columns, strict=True)]


def column_of(cells: list[Any], grammar: Grammar, *, as_text: bool = False) -> Column:
    """Make a column of Python's values: numbers as they are, text as in CSV."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if all(issubclass(kind, (bool, int, float, Decimal)) for kind in kinds):
        values = np.array([NAN if cell is None else float(cell) for cell in cells], dtype=np.float64)
        values[np.isin(values, grammar.missing_numbers)] = NAN
        return Column(values)
    if kinds == {str}:
        reader = ColumnReader(grammar)
        reader.take(["" if cell is None else cell for cell in cells], [f"row {j + 1}" for j in range(len(cells))])
        is_text = reader.has_flaws or as_text
        return reader.finish([None if cell is None else grammar.text(cell) for cell in cells] if is_text else None)
    present = [j for j, cell in enumerate(cells) if cell is not None]
    first = present[0]
    nothing, place = np.full(len(cells), NAN), f"row {first + 1}"
    kind = "dates" if isinstance(cells[first], (date, time)) else "text"
    try:
        return Column(
            nothing, Flaw(len(present), str(cells[first]), place, kind), make_column("", objects_of(cells)).values
        )
    except TypeError:  # lists, or the like
        return Column(nothing, Flaw(len(present), str(cells[first]), place, f"{type(cells[first]).__name__} values"))
