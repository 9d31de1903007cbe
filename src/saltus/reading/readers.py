"""How each column of a table becomes inputs: a number, the code of a level, or what there is to know of a date."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Bools, Floats, Ints
from saltus.reading.columns import Column
from saltus.reading.forms import ISO, NumberForm, date_reader

# What a level is called that stands for several rare ones, or for a missing value.
OTHER, MISSING = "(other)", "(missing)"

DAYS_A_YEAR = 365.25
HOURS_A_DAY = 24.0
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NO_DATE = np.datetime64("NaT", "us")
DAY = np.timedelta64(1, "D")
HOUR = np.timedelta64(1, "h")


@dataclass(frozen=True)
class NumberReader:
    """A column of numbers is one input. Numbers beyond its range count as the end of it."""

    column: int  # where it is among those of the table
    name: str
    form: NumberForm | None  # how text is read; None where the column is numbers by its type
    low: float
    high: float

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its inputs."""
        return (self.name,)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The levels of each input: none, as they are numbers."""
        return ((),)

    def read(self, column: Column) -> Floats:
        """Make the input (N, 1)."""
        return np.clip(numbers_of(column, self.form), self.low, self.high)[:, None]

    def is_unreadable(self, column: Column) -> Bools:
        """Say which cells hold something that is not understood."""
        return np.isnan(numbers_of(column, self.form)) & ~column.is_missing


@dataclass(frozen=True)
class CategoryReader:
    """A column of categories is one input, whose values are the codes of levels.

    Levels that were rare, or that data did not have, are read as `other`.
    """

    column: int
    name: str
    labels: tuple[str, ...]
    other: int  # the code of levels without one of their own
    missing: int  # the code of a missing value
    # The digests of the levels that were rare, in order: enough to know them again, and not to name them.
    rare: Annotated[Ints, "r"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its inputs."""
        return (self.name,)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The levels of each input."""
        return (self.labels,)

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each label that text may have."""
        return {label: code for code, label in enumerate(self.labels)}

    def read(self, column: Column) -> Floats:
        """Make the input (N, 1)."""
        return self._look_up(column, self.other)[:, None]

    def is_unseen(self, column: Column) -> Bools:
        """Say which cells are levels that the training rows did not have, not even rarely."""
        has_no_code = self._look_up(column, -1) < 0
        if self.rare.size and has_no_code.any():
            cells = column.as_objects().values
            rows = np.flatnonzero(has_no_code)
            has_no_code[rows] = ~np.isin(digests([label_of(cells[row]) for row in rows]), self.rare)
        return has_no_code

    def _look_up(self, column: Column, otherwise: int) -> Floats:
        column = column.as_objects()
        found = column.read_each(lambda value: self._code_of(label_of(value), otherwise), np.float64)
        return np.where(column.is_missing, float(self.missing), found)

    def _code_of(self, label: str, otherwise: int) -> int:
        """Find the code of a level, also if it is 1.0 there and 1 here, as where a column of codes has gaps."""
        same = label.removesuffix(".0") if label.endswith(".0") else f"{label}.0"
        return self.codes.get(label, self.codes.get(same, otherwise))


@dataclass(frozen=True)
class DateReader:
    """A column of dates is several inputs: the number of days since 1970, and what the calendar says of it."""

    column: int
    name: str
    form: str  # how text is read; "" where the column is dates by its type
    parts: Annotated[tuple[str, ...], "p"]  # of DATE_PARTS
    missing: int  # the code of the weekday where a date is missing; 7, a level of its own, if data lacked some

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its inputs."""
        return tuple(f"{self.name}.{part}" for part in self.parts)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The levels of each input."""
        days = (*WEEKDAYS, MISSING) if self.missing == len(WEEKDAYS) else WEEKDAYS
        return tuple(days if part == "weekday" else () for part in self.parts)

    def read(self, column: Column) -> Floats:
        """Make the inputs (N, p)."""
        parts = parts_of_dates(dates_of(column, self.form))
        parts["weekday"] = np.nan_to_num(parts["weekday"], nan=self.missing)
        return np.column_stack([parts[part] for part in self.parts])

    def is_unreadable(self, column: Column) -> Bools:
        """Say which cells hold something that is not understood."""
        return np.isnat(dates_of(column, self.form)) & ~column.is_missing


Reader = NumberReader | CategoryReader | DateReader
READERS = (NumberReader, CategoryReader, DateReader)


def numbers_of(column: Column, form: NumberForm | None) -> Floats:
    """Read the numbers (N,) of a column, NaN where there is none."""
    if column.is_numbers:
        return column.values
    if column.is_dates:
        return np.full(len(column), np.nan)
    form = form or NumberForm(".", ",")

    def read(cell: Any) -> float:
        number = form.read(cell) if isinstance(cell, str) else cell
        return np.nan if number is None else float(number)

    return np.where(column.is_missing, np.nan, column.read_each(read, np.float64))


def dates_of(column: Column, form: str) -> NDArray[np.datetime64]:
    """Read the dates (N,) of a column, NaT where there is none."""
    if column.is_dates:
        return column.values
    if column.is_numbers:
        return np.full(len(column), NO_DATE)
    read_text = date_reader(form or ISO)  # dates by their type are ISO's where they come in a file of text

    def read(cell: Any) -> np.datetime64:
        try:
            return np.datetime64(read_text(cell.strip()), "us")
        except (ValueError, AttributeError):
            return NO_DATE

    return column.read_each(read, "datetime64[us]")


def digests(labels: Sequence[str]) -> Ints:
    """Make a number of 64 bits of each label (n,), the same for 1 and 1.0."""
    made = [
        blake2b(label.removesuffix(".0").encode("utf-8", "surrogatepass"), digest_size=8).digest() for label in labels
    ]
    return np.frombuffer(b"".join(made), dtype="<i8").astype(np.int64)


def label_of(value: Any) -> str:
    """Name the level that a value is: whole numbers without a point."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)


def parts_of_dates(dates: NDArray[np.datetime64]) -> dict[str, Floats]:
    """Find the day number, and what the calendar says of dates (N,): each (N,), NaN where a date is missing.

    Cosines and sines are the waves of a year and of a day.
    """
    known = ~np.isnat(dates)
    day = dates.astype("datetime64[D]")
    first = dates.astype("datetime64[Y]")

    def present(values: Any) -> Floats:
        return np.where(known, values, np.nan)

    days = present((dates - np.datetime64("1970-01-01", "us")) / DAY)
    hour = present((dates - day) / HOUR)
    day_of_year = present((dates - first) / DAY)
    of_year, of_day = 2 * np.pi * day_of_year / DAYS_A_YEAR, 2 * np.pi * hour / HOURS_A_DAY
    with np.errstate(invalid="ignore"):
        return {
            "days": days,
            "year": present(first.astype(np.int64) + 1970.0),
            "day_of_year": 1.0 + np.floor(day_of_year),
            "cos_of_year": np.cos(of_year),
            "sin_of_year": np.sin(of_year),
            "hour": hour,
            "cos_of_day": np.cos(of_day),
            "sin_of_day": np.sin(of_day),
            "weekday": present(weekdays_of(day)),
        }


def weekdays_of(dates: NDArray[np.datetime64]) -> Ints:
    """Find the weekdays (N,) of dates, 0 for Monday."""
    days: Ints = dates.astype("datetime64[D]").astype(np.int64)
    return (days + 3) % 7  # 1970 began on a Thursday


DATE_PARTS = tuple(parts_of_dates(np.empty(0, dtype="datetime64[us]")))


OF_DAY = ("hour", "cos_of_day", "sin_of_day")
OF_YEAR = ("day_of_year", "cos_of_year", "sin_of_year")


def useful_parts(dates: NDArray[np.datetime64], *, have_days: bool = True) -> tuple[str, ...]:
    """Choose what to know of dates (N,), by how far apart and how finely they are: more would say the same again."""
    if not have_days:
        return OF_DAY
    present = dates[~np.isnat(dates)]
    parts = ["days"]
    span = (present.max() - present.min()) / DAY
    months, days = (np.unique(present.astype(f"datetime64[{unit}]")) for unit in "MD")
    in_month = np.unique(days - days.astype("datetime64[M]").astype("datetime64[D]"))
    if span >= DAYS_A_YEAR:
        parts.append("year")
        if np.unique(months.astype(np.int64) % 12).size > 1:
            parts += OF_YEAR
    hours = np.unique(present - present.astype("datetime64[D]"))
    if hours.size > 1:
        parts += OF_DAY
    weekdays = np.unique(weekdays_of(days))
    if weekdays.size > 1 and in_month.size > 1 and span >= 7:
        parts.append("weekday")
    return tuple(parts)


def names_of(readers: Sequence[Reader]) -> tuple[str, ...]:
    """Name the inputs of readers, one after the other."""
    return tuple(name for reader in readers for name in reader.names)
