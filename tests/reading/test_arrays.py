"""Whatever holds a table becomes columns, or is refused in a sentence."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from saltus.reading import columns_of, is_table, take_table, unmasked
from saltus.reading.columns import make_column


@pytest.mark.parametrize(
    "rows",
    [
        [[1, "a"], [2, "b"]],
        ([1, "a"], (2, "b")),
        [np.array([1, "a"], dtype=object), np.array([2, "b"], dtype=object)],
    ],
)
def test_lists_of_cells_are_tables(rows):
    taken = take_table(rows)
    assert is_table(taken)
    assert [column.values.tolist() for column in columns_of(taken)] == [[1, 2], ["a", "b"]]


def test_numbers_in_lists_stay_lists():
    rows = [[1, 2.5], [3, 4.5]]
    assert take_table(rows) is rows
    assert not is_table(rows)


def test_dates_in_lists():
    (column,) = columns_of(take_table([[datetime.date(2024, 1, 1)], [None]]))
    assert np.isnat(column.values).tolist() == [False, True]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, "a"], [2]], "rows of X have different lengths, between 1 and 2 cells"),
        (pd.Series(["a", "b"]), "Expected 2D array, got 1D array"),
        (pl.Series([1.0, 2.0]), "Expected 2D array, got 1D array"),
        (np.array([(1.0, "a")], dtype=[("x", float), ("t", "U1")]), "structured array, with fields x, t.*DataFrame"),
        (pl.LazyFrame({"a": [1]}), r"X is a LazyFrame, .* Call X.collect\(\) first"),
        (pd.DataFrame(index=range(3)), "0 feature"),
    ],
)
def test_what_has_no_columns_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        take_table(X)


def test_what_is_masked_is_missing():
    numbers = np.ma.array([[1, 2]], mask=[[False, True]])
    np.testing.assert_array_equal(take_table(numbers), [[1, np.nan]])
    assert take_table(np.ma.array([["a", "b"]], mask=[[True, False]])).tolist() == [[None, "b"]]
    assert unmasked(np.ma.array([1, 2])).tolist() == [1, 2]


NAN = float("nan")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([1, None, "n/a", Decimal("NaN"), Decimal("2.5"), pd.NA, np.ma.masked], [1, NAN, NAN, NAN, 2.5, NAN, NAN]),
        ([10**400, -1], [np.inf, -1]),
        ([datetime.timedelta(seconds=2), np.timedelta64(3, "m"), pd.NaT], [2, 180, NAN]),
        ([datetime.time(6, 30), None], [6.5, NAN]),
        ([True, np.int8(3), np.float32(0.5)], [1, 3, 0.5]),
    ],
)
def test_cells_that_are_numbers(cells, expected):
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    np.testing.assert_array_equal(make_column("a", values).values, expected)


def test_spans_of_time_are_seconds():
    spans = np.array([1, "NaT", 3], dtype="timedelta64[m]")
    np.testing.assert_array_equal(make_column("a", spans).values, [60, np.nan, 180])


def test_bytes_are_text():
    assert make_column("a", np.array([b"x", b"\xff"])).values.tolist() == ["x", "\\xff"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (pd.Period("2020-01", "M"), "the column 'a' of X has 'Period', such as '2020-01'.*text by astype"),
        ([1, 2], "has 'list', such as"),
        (1j, "has 'complex'"),
        (datetime.date(2024, 1, 1), "has 'date', such as '2024-01-01', beside 'str'"),
        (datetime.timedelta(1), "has 'timedelta', .* beside 'str'"),
    ],
)
def test_cells_of_other_sorts_are_named(cell, message):
    values = np.empty(2, dtype=object)
    values[:] = [cell, "word"]
    with pytest.raises(TypeError, match=message):
        make_column("a", values)
