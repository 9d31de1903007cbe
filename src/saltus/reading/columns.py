"""The columns of a table, whichever library made it: numbers, dates, or values of any kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from saltus._typing import Bools, Ints

# Cells of text that hold no value, in lower case.
MISSING_WORDS = frozenset(
    [
        *("", "-", "--", ".", "?", "na", "n/a", "nan", "-nan", "<na>", "null", "none", "nat"),
        *("#n/a", "#na", "#div/0!", "#value!", "#num!", "#ref!", "#name?", "#null!"),
        *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
    ]
)

SECONDS_A_MINUTE, MINUTES_AN_HOUR = 60.0, 60.0


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    values : ndarray of shape (N,)
        float64, NaN where a value is missing; datetime64[us], NaT where one is; or objects, text or numbers, None where
        one is missing.
    is_category : bool
        Whether its type says that it is a category.
    decimal : str
        What comes before decimals in text, where the table says so; "" where it does not.
    is_wanted : bool
        Whether it was asked for by name, and is used even if it seems to number the rows.
    """

    name: str
    values: NDArray[Any]
    is_category: bool = False
    decimal: str = ""
    is_wanted: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def distinct(self) -> tuple[list[Any], Ints]:
        """The distinct values of a column of objects, and which of them each row has, (N,)."""
        seen: dict[Any, int] = {}
        which = np.array([seen.setdefault(value, len(seen)) for value in self.values.tolist()], dtype=np.int64)
        return list(seen), which

    @cached_property
    def is_missing(self) -> Bools:
        """Which values (N,) are missing."""
        if self.is_dates:
            return np.isnat(self.values)
        if self.is_numbers:
            return np.isnan(self.values)
        distinct, which = self.distinct
        return np.array([_is_absent(value) for value in distinct], dtype=bool)[which]

    def present(self) -> list[Any]:
        """List the distinct values of a column of objects that are not missing."""
        return [value for value in self.distinct[0] if not _is_absent(value)]

    def as_objects(self) -> "Column":
        """Make the same column with values of any kind, None where one is missing."""
        if self.values.dtype == object:
            return self
        values = self.values.astype(object)
        values[self.is_missing] = None
        return with_values(self, values)

    def read_each(self, read: Callable[[Any], Any], dtype: Any) -> NDArray[Any]:
        """Read the values of a column of objects, equal ones once."""
        distinct, which = self.distinct
        return np.array([read(value) for value in distinct], dtype=dtype)[which]

    @property
    def is_numbers(self) -> bool:
        """Whether all values are numbers, by their type."""
        return self.values.dtype.kind == "f"

    @property
    def is_dates(self) -> bool:
        """Whether all values are dates, by their type."""
        return self.values.dtype.kind == "M"


@dataclass(frozen=True)
class ColumnTable:
    """A table that was made here, such as one read from a file: `fit` and `predict` take it for X."""

    columns: tuple[Column, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self.columns[0]), len(self.columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Make an array of objects, as NumPy asks for."""
        return np.array([column.as_objects().values for column in self.columns], dtype=object).T

    def take(self, rows: Ints | Bools) -> "ColumnTable":
        """Take some of the rows."""
        return ColumnTable(tuple(with_values(each, each.values[rows]) for each in self.columns))


def with_values(column: Column, values: NDArray[Any]) -> Column:
    """Make the same column with other values."""
    return Column(column.name, values, column.is_category, column.decimal, column.is_wanted)


def is_table(X: Any) -> bool:
    """Say whether X has columns that are no numbers, by their types, and has to be read column by column."""
    if isinstance(X, ColumnTable):
        return True
    frame = _frame_of(X)
    if frame is not None:
        return not all(dtype.is_numeric() or dtype == nw.Boolean for dtype in frame.schema.dtypes())
    if isinstance(X, list | tuple):
        return any(isinstance(row, list | tuple) and any(isinstance(cell, str) for cell in row) for row in X)
    return getattr(X, "dtype", None) is not None and getattr(X.dtype, "kind", "") in "OUSMT" and np.ndim(X) == 2


def columns_of(X: Any) -> tuple[Column, ...]:
    """Take the columns of a data frame, of an array of objects, or of lists; columns without names are x0, x1, ..."""
    if isinstance(X, ColumnTable):
        return X.columns
    frame = _frame_of(X)
    if frame is not None:
        return tuple(_column_of_series(frame[:, j]) for j in range(frame.shape[1]))
    table = np.asarray(X) if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"Expected 2D array, got {table.ndim}D array instead: a table has rows and columns.")
    return tuple(make_column(f"x{j}", table[:, j]) for j in range(table.shape[1]))


def _frame_of(X: Any) -> "nw.DataFrame[Any] | None":
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _column_of_series(series: "nw.Series[Any]") -> Column:
    name, dtype = str(series.name), series.dtype
    if dtype in (nw.Categorical, nw.Enum):
        values = [None if _is_nothing(value) else value for value in series.to_list()]
        return Column(name, objects_of(values), is_category=True)
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Column(name, series.cast(nw.Float64).to_numpy().astype(np.float64))
    if dtype in (nw.Datetime, nw.Date):
        if getattr(dtype, "time_zone", None) is not None:
            series = series.dt.replace_time_zone(None)  # the clock on the wall knows weekdays and hours
        return Column(name, series.to_numpy().astype("datetime64[us]"))
    if dtype == nw.Duration:
        microseconds = series.dt.total_microseconds().cast(nw.Float64).to_numpy()
        return Column(name, microseconds.astype(np.float64) / 1e6)
    return make_column(name, objects_of(series.to_list()))


def objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """Make an array of Python's values."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def make_column(name: str, values: NDArray[Any]) -> Column:
    """Make a column of Python's values: all numbers, all dates, or what there is."""
    if values.dtype.kind == "M":
        return Column(name, values.astype("datetime64[us]"))
    if values.dtype.kind in "biuf":
        return Column(name, values.astype(np.float64))
    kept = objects_of([None if _is_nothing(value) else value for value in values.tolist()])
    present = [value for value in kept if value is not None]
    if all(isinstance(value, int | float | np.number | np.bool_ | Decimal | Fraction) for value in present):
        numbers = [np.nan if value is None else float(value) for value in kept]
        return Column(name, np.array(numbers, dtype=np.float64))
    if all(isinstance(value, date | np.datetime64) for value in present):
        dates = [np.datetime64("NaT") if value is None else _clock(value) for value in kept]
        return Column(name, np.array(dates, dtype="datetime64[us]"))
    if all(isinstance(value, time) for value in present):
        return Column(name, np.array([np.nan if value is None else hours_of(value) for value in kept]))
    for value in present:
        if not isinstance(value, str | int | float | np.number | np.bool_ | Decimal | Fraction):
            raise TypeError(
                f"float() argument must be a string or a real number, and the column {name!r} of X has "
                f"{type(value).__name__!r}. Columns may hold numbers, text, dates and times."
            )
    return Column(name, kept)


def _is_nothing(value: Any) -> bool:
    if value is None or isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return value is None or bool(value != value)  # NaN and NaT alone differ from themselves
    return type(value).__name__ in ("NAType", "NaTType")  # pandas' own


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in MISSING_WORDS)


def _clock(value: date | np.datetime64) -> np.datetime64:
    """Take the date and the time on the wall, whatever the time zone."""
    if isinstance(value, datetime):
        return np.datetime64(value.replace(tzinfo=None), "us")
    return (
        value.astype("datetime64[us]") if isinstance(value, np.datetime64) else np.datetime64(value.isoformat(), "us")
    )


def hours_of(value: time) -> float:
    """Say how many hours after midnight a time is."""
    minutes = value.minute + (value.second + 1e-6 * value.microsecond) / SECONDS_A_MINUTE
    return value.hour + minutes / MINUTES_AN_HOUR
