"""What was read of a file: columns, and what is wrong with some."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats
from saltus.inspection.document import count, join_names, one_line
from saltus.reading import Column as InputColumn
from saltus.reading.forms import find_number_forms
from saltus.reading.readers import numbers_of

LONGEST_QUOTE = 40

# What pandas calls a column without a name, such as its row numbers.
NAMELESS = re.compile(r"Unnamed: \d+|__index_level_\d+__")


class TableError(ValueError):
    """A table that cannot be read or used. The message says why, and what to do."""


@dataclass(frozen=True)
class Flaw:
    """Cells of a column that are not numbers: how many, and the first of them.

    Attributes
    ----------
    count : int
    text : str
        The first of them.
    place : str
        Where that is: "line 7".
    looks_like : {"text", "dates", "a number", "list values", ...}
        What it seems to be. A number may be written in a way that is not understood, such as 1,500 or 12 %.
    is_first : bool
        Whether it is in the first row.
    """

    count: int
    text: str
    place: str
    looks_like: str = "text"
    is_first: bool = False

    def __str__(self) -> str:
        return f"{quote(self.text)} in {self.place}"


@dataclass(frozen=True)
class Column:
    """A column: its numbers (N,), NaN where there is none, and cells that should not be there.

    Attributes
    ----------
    values : ndarray of shape (N,)
    flaw : Flaw or None
        Of cells that are not numbers.
    cells : ndarray of shape (N,) or None
        All cells as they are, text or Python's values, None where one is missing; kept where some are not numbers.
    """

    values: Floats
    flaw: Flaw | None = None
    cells: NDArray[Any] | None = None

    @property
    def n_numbers(self) -> int:
        """How many cells are numbers, infinite ones included."""
        return int((~np.isnan(self.values)).sum())

    @property
    def is_unusable(self) -> bool:
        """Whether it holds neither numbers nor text nor dates, such as lists."""
        return self.flaw is not None and self.cells is None

    @property
    def refusal(self) -> str | None:
        """Why this is no column of numbers; None for one that is, or would be but for a few cells."""
        flaw = self.flaw
        if flaw is not None and flaw.count > self.n_numbers and flaw.looks_like != "a number":
            return f"{flaw.looks_like}, such as {flaw}"
        return "empty" if self.flaw is None and self.n_numbers == 0 else None


@dataclass(frozen=True)
class Table:
    """A table: its columns by name, its cells as text, and how it was read.

    Attributes
    ----------
    source : str
        The path of the file.
    n_rows : int
        The header is not counted.
    columns : dict of str to Column
        Those that have a name.
    header : list of str
        The names of all columns, empty for those without.
    rows : list of list of str, or None
        All cells as the file has them, if they were to be kept.
    notes : tuple of str
        What had to be found out or passed over, in sentences.
    separator, decimal : str
        How numbers and columns are written.
    """

    source: str
    n_rows: int
    columns: dict[str, Column]
    header: list[str]
    rows: list[list[str]] | None = None
    notes: tuple[str, ...] = ()
    separator: str = ","
    decimal: str = "."

    def column(self, name: str) -> Column:
        """Take a column, or say which ones there are."""
        if name not in self.columns:
            raise TableError(f"{self.source} has no column {quote(name)}.{suggest(name, list(self.columns))}")
        return self.columns[name]

    def as_input(self, name: str, *, is_category: bool = False, is_wanted: bool = False) -> InputColumn:
        """Take a column as `fit` and `predict` do, which find out what it is; infinite numbers count as missing."""
        column = self.column(name)
        if column.is_unusable:
            raise TableError(f"{quote(name)} cannot be an input: it is {column.refusal}.")
        if column.cells is None:
            values: NDArray[Any] = np.where(np.isfinite(column.values), column.values, np.nan)
        else:
            values = column.cells
        decimal = self.decimal if self.decimal == "," else ""
        return InputColumn(name, values, is_category, decimal, is_wanted)

    def numbers(self, name: str) -> Floats:
        """Take a column of numbers, or say what else is in it."""
        column = self.column(name)
        if column.cells is not None:
            as_text = self.as_input(name)
            forms = find_number_forms([str(value) for value in as_text.present()], as_text.decimal)
            if len(forms) == 1:
                return numbers_of(as_text, forms[0])
        if column.refusal is not None:
            raise TableError(f"{quote(name)} is not a column of numbers: it is {column.refusal}.")
        if column.flaw is not None:
            raise TableError(self._complain(name, column, column.flaw))
        return column.values

    def _complain(self, name: str, column: Column, flaw: Flaw) -> str:
        if flaw.count > column.n_numbers:
            return f"{quote(name)} has numbers that cannot be read, such as {flaw}. {self._number_remedy(flaw)}"
        if flaw.text == name:
            return f"{self.source}, {flaw.place} repeats the header. Remove such lines."
        if flaw.is_first and flaw.count == 1:
            return f"{quote(name)} is a column of numbers but for {flaw}. If that is a line of units, remove it."
        few, them = ("one cell,", "it") if flaw.count == 1 else (f"{flaw.count} cells, the first of them", "them")
        remedy = f"Correct {them}, or count such cells as missing: --missing {quote(flaw.text)}."
        return f"{quote(name)} is a column of numbers but for {few} {flaw}. {remedy}"

    def _number_remedy(self, flaw: Flaw) -> str:
        if "," in flaw.text and self.decimal == ".":
            without = "If the comma separates thousands, write numbers without it."
            return without if "." in flaw.text else f"{without} If decimals come after it, say so: --decimal ,"
        return "Write numbers as 1234.5 or 1.2345e3, without other signs."


def without_false_names(names: Iterable[str], wanted: Collection[str] = ()) -> list[str]:
    """Take away names that were made up for columns without one, unless they are looked for."""
    return ["" if NAMELESS.fullmatch(name) and name not in wanted else name for name in names]


def quote(text: str) -> str:
    """Put what a file says in quotation marks, on one line and not too long."""
    line = one_line(text)
    return f"'{line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + '…'}'"


def suggest(name: str, names: list[str]) -> str:
    """Name what was perhaps meant, or what there is."""
    by_case = {other.casefold(): other for other in names}
    close = [by_case[match] for match in get_close_matches(name.casefold(), by_case, n=1)]
    meant = f" Did you mean {quote(close[0])}?" if close else ""
    return f"{meant} It has {count(len(names), 'column')}: {join_names(names)}."
