"""The columns of a table, whichever library made it: numbers, dates, or values of any kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from saltus._typing import Bools, Floats, Ints
from saltus.reading.arrays import READ_BY_COLUMN

# Cells of text that hold no value, in lower case.
MISSING_WORDS = frozenset(
    [
        *("", "-", "--", ".", "?", "na", "n/a", "nan", "-nan", "<na>", "null", "none", "nat"),
        *("(missing)", "#n/a", "#na", "#div/0!", "#value!", "#num!", "#ref!", "#name?", "#null!"),
        *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
    ]
)

SECONDS_A_MINUTE, MINUTES_AN_HOUR = 60.0, 60.0
NUMBERS = (int, float, np.number, np.bool_, Decimal, Fraction)
LONGEST_QUOTE = 40


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
    return isinstance(X, np.ndarray) and X.dtype.kind in READ_BY_COLUMN and X.ndim == 2


def columns_of(X: Any) -> tuple[Column, ...]:
    """Take the columns of a data frame or of an array; columns without names are x0, x1, ..."""
    if isinstance(X, ColumnTable):
        return X.columns
    frame = _frame_of(X)
    if frame is not None:
        return tuple(_column_of_series(frame[:, j]) for j in range(frame.shape[1]))
    return tuple(make_column(f"x{j}", values) for j, values in enumerate(np.asarray(X).T))


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
    if values.dtype.kind == "m":
        return Column(name, _seconds(values))
    if values.dtype.kind in "biuf":
        return Column(name, values.astype(np.float64))
    kept = [_take_value(value) for value in values.tolist()]
    sorts = set(map(type, kept)) - {type(None)}
    # Beside numbers or dates, text may only say that there is none.
    if len(sorts) > 1 and all(map(_is_absent, {value for value in kept if isinstance(value, str)})):
        kept = [None if isinstance(value, str) else value for value in kept]
        sorts = {sort for sort in sorts if not issubclass(sort, str)}
    if all(issubclass(sort, timedelta) for sort in sorts):
        spans = [np.timedelta64("NaT", "us") if value is None else np.timedelta64(value, "us") for value in kept]
        return Column(name, _seconds(np.array(spans, dtype="timedelta64[us]")))
    if all(issubclass(sort, NUMBERS) for sort in sorts):
        return Column(name, np.array([np.nan if value is None else _number(value) for value in kept], dtype=np.float64))
    if all(issubclass(sort, date | np.datetime64) for sort in sorts):
        dates = [np.datetime64("NaT", "us") if value is None else _clock(value) for value in kept]
        return Column(name, np.array(dates, dtype="datetime64[us]"))
    if all(issubclass(sort, time) for sort in sorts):
        return Column(name, np.array([np.nan if value is None else hours_of(value) for value in kept]))
    for sort in sorts:
        if not issubclass(sort, (str, *NUMBERS)):
            raise TypeError(
                _describe_strangers(name, sort, next(value for value in kept if type(value) is sort), sorts)
            )
    return Column(name, objects_of(kept))


def _describe_strangers(name: str, sort: type, example: Any, sorts: set[type]) -> str:
    found = f"the column {name!r} of X has {sort.__name__!r}, such as {quote(str(example))}"
    if issubclass(sort, date | np.datetime64 | time | timedelta):
        others = " and ".join(sorted(repr(other.__name__) for other in sorts if other is not sort))
        return f"{found}, beside {others}. A column holds one of these: correct the other cells, or make them None."
    return (
        f"float() argument must be a string or a real number, and {found}. A column holds numbers, text, dates or "
        f"times: make it one of these, such as text by astype(str), or leave it out."
    )


def _take_value(value: Any) -> Any:
    """Take a value as it is, bytes as text and spans of time as Python's; None where it says that there is none."""
    if isinstance(value, str):
        return value
    if _is_nothing(value):
        return None
    if isinstance(value, np.timedelta64):
        return value.astype("timedelta64[us]").item()
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _is_nothing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    if value is None or isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return value is None or bool(value != value)  # NaN and NaT alone differ from themselves
    return type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")  # of pandas and NumPy


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return float("inf")


def _seconds(spans: NDArray[np.timedelta64]) -> Floats:
    return np.asarray(spans / np.timedelta64(1, "s"), dtype=np.float64)


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


def quote(text: str) -> str:
    """Put a cell in quotation marks, on one line and not too long."""
    line = " ".join(text.split())
    return f"'{line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + '…'}'"
