"""Columns of all sorts become inputs."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from saltus.reading import Column, ColumnTable, TableReader, columns_of, is_table
from saltus.reading.learning import MOST_CODES, find_range
from saltus.reading.reader import find_categories
from saltus.reading.readers import MISSING, OTHER, WEEKDAYS, CategoryReader, parts_of_dates, useful_parts


def learn(table, weight=None, **options):
    columns = columns_of(table)
    reader = TableReader.learn(columns, np.ones(len(columns[0])) if weight is None else weight, **options)
    return reader, reader.read(columns)


def text(name, *cells):
    return Column(name, np.array(cells, dtype=object))


FRAMES = {
    "pandas": pd.DataFrame(
        {
            "number": [1.5, None, 3.0] * 4,
            "town": ["Rome", "Oslo", None] * 4,
            "grade": pd.Categorical(["a", "b", "a"] * 4),
            "code": pd.Categorical([1, 2, None] * 4),
            "whole": pd.array([1, None, 3] * 4, dtype="Int64"),
            "is": pd.array([True, False, None] * 4, dtype="boolean"),
            "when": pd.to_datetime(["2020-01-31 06:00", None, "2021-06-02 18:00"] * 4),
            "there": pd.to_datetime(["2020-01-31 06:00", None, "2021-06-02 18:00"] * 4).tz_localize("Asia/Tokyo"),
            "long": pd.to_timedelta([1, None, 3] * 4, unit="s"),
        }
    ),
    "polars": pl.DataFrame(
        {
            "number": [1.5, None, 3.0] * 4,
            "town": ["Rome", "Oslo", None] * 4,
            "grade": pl.Series(["a", "b", "a"] * 4, dtype=pl.Categorical),
            "code": pl.Series(["1", "2", None] * 4, dtype=pl.Enum(["1", "2", "9"])),
            "whole": [1, None, 3] * 4,
            "is": [True, False, None] * 4,
            "when": [datetime.datetime(2020, 1, 31, 6), None, datetime.datetime(2021, 6, 2, 18)] * 4,
            "there": pl.Series(
                [datetime.datetime(2020, 1, 31, 6), None, datetime.datetime(2021, 6, 2, 18)] * 4
            ).dt.replace_time_zone("Asia/Tokyo"),
            "long": [datetime.timedelta(seconds=1), None, datetime.timedelta(seconds=3)] * 4,
        }
    ),
}


@pytest.mark.parametrize("library", FRAMES)
def test_data_frames_of_each_library_are_read_alike(library):
    assert is_table(FRAMES[library])
    reader, X = learn(FRAMES[library])
    parts = ("days", "year", "day_of_year", "cos_of_year", "sin_of_year", "hour", "cos_of_day", "sin_of_day")
    dates = [f"{name}.{part}" for name in ("when", "there") for part in parts]
    categories = ["town", "grade", "code", "when.weekday", "there.weekday"]
    assert list(reader.names) == ["number", "whole", "is", *dates, "long", *categories]
    assert reader.levels[-5:] == (
        ("Oslo", "Rome", MISSING),
        ("a", "b"),
        ("1", "2", MISSING),
        *2 * [(*WEEKDAYS, MISSING)],
    )
    inputs = dict(zip(reader.names, X.T, strict=True))
    for name, values in {
        "number": [1.5, np.nan, 3.0],
        "whole": [1, np.nan, 3],
        "is": [1, 0, np.nan],
        "long": [1, np.nan, 3],
        "town": [1, 0, 2],
        "grade": [0, 1, 0],
        "code": [0, 1, 2],
        "when.hour": [6, np.nan, 18],
        "there.hour": [6, np.nan, 18],
        "when.year": [2020, np.nan, 2021],
        "when.day_of_year": [31, np.nan, 153],
        "when.weekday": [4, 7, 2],
    }.items():
        np.testing.assert_array_equal(inputs[name], values * 4, err_msg=name)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.zeros((3, 2)), False),
        (np.array([["1", "a"]]), True),
        (np.array([[1, 2.5]], dtype=object), True),
        (pd.DataFrame({"a": [1, 2], "b": [True, False]}), False),
        (pl.DataFrame({"a": [1, 2]}), False),
    ],
)
def test_what_has_to_be_read_column_by_column(X, expected):
    assert is_table(X) == expected


def test_arrays_of_objects_have_columns():
    columns = columns_of(np.array([[1, "a", None], [np.nan, "b", datetime.date(2020, 1, 1)]], dtype=object))
    assert [column.name for column in columns] == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(columns[0].values, [1, np.nan])
    assert columns[1].values.tolist() == ["a", "b"]
    assert np.isnat(columns[2].values).tolist() == [True, False]
    with pytest.raises(
        TypeError, match=r"must be a string or a real number, and the column 'x0' of X has 'dict', such as '\{\}'"
    ):
        columns_of(np.array([[{}, "a"]], dtype=object))


def test_our_own_table_takes_rows():
    table = ColumnTable((text("a", "x", "y", None), Column("b", np.arange(3.0))))
    assert (len(table), table.shape) == (3, (3, 2))
    some = table.take(np.array([2, 0]))
    assert np.array(some).tolist() == [[None, 2.0], ["x", 0.0]]


def test_rare_levels_share_a_place_where_unseen_ones_go():
    towns = ["Rome"] * 5 + ["Oslo"] * 4 + ["Lima", "Bonn", None, "NA"]
    reader, X = learn(ColumnTable((text("town", *towns),)))
    assert reader.levels == (("Oslo", "Rome", OTHER, MISSING),)
    assert X[:, 0].tolist() == [1] * 5 + [0] * 4 + [2, 2, 3, 3]
    new = (text("town", "Rome", "Cairo", "", "(other)"),)
    assert reader.read(new)[:, 0].tolist() == [1, 2, 3, 2]
    assert reader.unseen(new) == {"town": (1, ["Cairo"], OTHER)}
    assert reader.unseen((text("town", "Lima", "Bonn"),)) == {}  # rare, and not new


def test_where_no_level_is_rare_unseen_ones_and_gaps_count_as_the_most_frequent():
    reader, _ = learn(ColumnTable((text("town", *["Rome"] * 4, *["Oslo"] * 5),)))
    assert reader.levels == (("Oslo", "Rome"),)
    assert reader.read((text("town", "Cairo", None, "Rome"),))[:, 0].tolist() == [0, 0, 1]


def test_levels_count_by_the_weight_of_their_rows():
    table = ColumnTable((text("town", "Rome", "Oslo", "Lima", "Bonn", "Rome"),))
    reader, _ = learn(table, np.array([2.0, 3.0, 1.0, 1.0, 1.0]))
    assert reader.levels == (("Oslo", "Rome", OTHER),)


def test_a_thousand_levels_and_more_are_bounded():
    rng = np.random.default_rng(0)
    cells = [f"L{j}" for j in np.concatenate([np.repeat(np.arange(1500), 3), rng.integers(0, 300, 4000)])]
    reader, X = learn(ColumnTable((text("part", *cells),)))
    assert len(reader.levels[0]) == 1023
    assert set(np.unique(X)) == set(range(1023))


def test_numbers_can_be_categories():
    X = np.array([[1.0, 10.0], [2.0, 20.5], [np.nan, 10.0]] * 4)
    reader, read = learn(X, categorical_features=[1, 0])
    assert reader.levels == (("1", "2", MISSING), ("10", "20.5"))
    np.testing.assert_array_equal(read[:3], [[0, 0], [1, 1], [2, 0]])
    # As text or as a number, a level is the same.
    assert reader.read((text("x0", "1", "2.0"), text("x1", "20.5", "10")))[:, 1].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("from_dtype", [False, False, False]),
        (None, [False, False, False]),
        (["b"], [False, True, False]),
        ([0, -1], [True, False, True]),
        ([True, False, True], [True, False, True]),
    ],
)
def test_categories_are_named_numbered_or_marked(asked, expected):
    assert find_categories(asked, ["a", "b", "c"]).tolist() == expected


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["z"], "names 'z', and X has no such column: a, b, c"),
        ([7], "has the number 7, and X has 3 columns"),
        ([True], "has 1 truths, and X has 3 columns"),
        ([1.5], "Got"),
        (3, "Got 3"),
    ],
)
def test_categories_that_are_not_there_are_named(asked, message):
    with pytest.raises(ValueError, match=message):
        find_categories(asked, ["a", "b", "c"])


def test_text_needs_leave_to_be_a_category():
    with pytest.raises(ValueError, match="'a' of X holds text, such as 'x', and categorical_features=None allows no"):
        learn(ColumnTable((text("a", "x", "y", "x", "y"),)), categorical_features=None)


def test_what_says_nothing_is_left_out_with_a_reason():
    n = 40
    table = ColumnTable(
        (
            text("name", *(f"N{j}" for j in range(n))),
            Column("row id", np.arange(n) + 5.0),
            Column("year", np.arange(n) + 1980.0),
            Column("constant", np.full(n, 3.0)),
            Column("same date", np.full(n, np.datetime64("2020-01-01", "us"))),
            text("same", *["x"] * n),
            Column("empty", np.full(n, np.nan)),
            text("blank", *[None] * n),
            Column("rare", np.where(np.arange(n) < 2, 1.0, np.nan)),
            text("either", *["1,234", "5,678"] * (n // 2)),
            text("day", *["1/2/2020", "3/4/2020"] * (n // 2)),
            text("mixed", *(f"{j / 7}" for j in range(n - 2)), "n.d.", "n.d."),
        )
    )
    reader, _ = learn(table)
    assert reader.names == ("year",)
    assert reader.left_out == {
        "name": "nearly every row has a value of its own, such as 'N0'",
        "row id": "it numbers the rows; give it another name to keep it",
        "constant": "it is 3 in every row",
        "same date": "it is 2020-01-01T00:00:00.000000 in every row",
        "same": "it is 'x' in every row",
        "empty": "all of its values are missing",
        "blank": "all of its values are missing",
        "rare": "it has a value in 2 of 40 rows",
        "either": "its numbers can be read in 2 ways, as in '1,234'; write them with a point before decimals and "
        "nothing between thousands",
        "day": "its dates can be read in 2 ways, as in '1/2/2020'; write them as year-month-day, such as 2024-12-31",
        "mixed": "most of its values are numbers, but some are not, such as 'n.d.'; correct these, or count them as "
        "missing",
    }
    assert n - 2 > MOST_CODES
    with pytest.raises(ValueError, match=r"No column of X can be used\. same: it is 'x' in every row\."):
        learn(ColumnTable((text("same", *["x"] * n),)))


def test_numbers_in_text_are_read_and_remembered():
    reader, X = learn(ColumnTable((text("price", "$1,200.50", "$3", None, "$10"),)))
    np.testing.assert_array_equal(X[:, 0], [1200.5, 3, np.nan, 10])
    new = (text("price", "$2,000", "5", "a lot", "NA"),)
    np.testing.assert_array_equal(reader.read(new)[:, 0], [2000, 5, np.nan, np.nan])
    assert reader.unreadable(new) == {"price": (1, "a lot")}
    assert reader.unseen(new) == {}


def test_dates_in_text_are_read_and_remembered():
    reader, X = learn(ColumnTable((text("day", *["31/01/2020", "1/6/2020", None, "30/12/2021"] * 3),)))
    assert reader.names[:2] == ("day.days", "day.year")
    np.testing.assert_array_equal(X[:4, 0], [18292, 18414, np.nan, 18991])
    assert reader.unreadable((text("day", "2020-01-31"),)) == {"day": (1, "2020-01-31")}


def test_the_calendar():
    dates = np.array(["2024-02-29T06:00", "1969-12-31T00:00", "NaT"], dtype="datetime64[us]")
    parts = parts_of_dates(dates)
    assert parts["days"][:2].tolist() == [19782.25, -1]
    assert parts["year"][:2].tolist() == [2024, 1969]
    assert parts["day_of_year"][:2].tolist() == [60, 365]
    assert parts["hour"][:2].tolist() == [6, 0]
    assert parts["weekday"][:2].tolist() == [3, 2]
    np.testing.assert_allclose([parts["cos_of_day"][0], parts["sin_of_day"][0]], [0, 1], atol=1e-12)
    for each in parts.values():
        assert np.isnan(each[2])


@pytest.mark.parametrize(
    ("start", "step", "n", "expected"),
    [
        ("2020-01-01T00:00", "h", 200, {"days", "hour", "weekday"}),
        ("2020-01-01T00:00", "D", 100, {"days", "weekday"}),
        ("2020-01-01T00:00", "D", 800, {"days", "year", "day_of_year", "weekday"}),
        ("2020-01-01T00:00", "M", 50, {"days", "year", "day_of_year"}),
        ("1950-01-01T00:00", "Y", 50, {"days", "year"}),
        ("2020-01-06T00:00", "W", 30, {"days"}),
    ],
)
def test_dates_say_as_much_as_they_resolve(start, step, n, expected):
    dates = (np.datetime64(start).astype(f"datetime64[{step}]") + np.arange(n)).astype("datetime64[us]")
    assert {part for part in useful_parts(dates) if "_of_" not in part or part == "day_of_year"} == expected


def test_a_missing_date_has_a_weekday_of_its_own_or_the_most_frequent():
    days = np.datetime64("2024-01-01", "us") + np.timedelta64(1, "D") * np.array([0, 2, 2, 9, 10, 11])
    whole, _ = learn(ColumnTable((Column("day", days),)))
    gappy, X = learn(ColumnTable((Column("day", np.r_[days, np.datetime64("NaT", "us")]),)))
    assert (whole.levels[-1], gappy.levels[-1]) == (WEEKDAYS, (*WEEKDAYS, MISSING))
    assert X[:, -1].tolist() == [0, 2, 2, 2, 3, 4, 7]
    nothing = (text("day", None, "2024-01-02"),)
    assert whole.read(nothing)[:, -1].tolist() == [2, 1]
    assert gappy.read(nothing)[:, -1].tolist() == [7, 1]


def test_clocks_without_a_day_are_hours():
    reader, X = learn(ColumnTable((text("at", "06:00", "18:30", "23:15", "00:00"),)))
    assert reader.names == ("at.hour", "at.cos_of_day", "at.sin_of_day")
    assert X[:, 0].tolist() == [6, 18.5, 23.25, 0]


def test_a_wild_value_counts_as_the_nearest_of_the_others(rng):
    x = rng.standard_normal(200)
    low, high = x.min(), x.max()
    assert find_range(x, np.ones(200)) == (-np.inf, np.inf)
    x[3] = 1e6
    assert find_range(x, np.ones(200)) == (-np.inf, high if high != 1e6 else np.sort(x)[-2])
    x[4] = -1e6
    assert find_range(x, np.ones(200))[0] == pytest.approx(low, abs=1)
    assert find_range(np.r_[x, np.nan], np.ones(201)) == find_range(x, np.ones(200))
    # As a row of some weight, it is several.
    assert find_range(x, np.where(np.arange(200) == 3, 50.0, 1.0))[1] == np.inf


@pytest.mark.parametrize(
    "x",
    [
        np.r_[np.zeros(99), 1.0],
        np.r_[np.zeros(50), np.full(49, 1.0), 90.0],
        np.exp(3 * np.random.default_rng(0).standard_normal(500)),
        np.random.default_rng(0).standard_cauchy(500),
        np.array([1.0, 2.0, 1e9]),
    ],
    ids=["rare", "counts", "lognormal", "cauchy", "few"],
)
def test_long_tails_are_not_wild(x):
    assert find_range(x, np.ones(x.size)) == (-np.inf, np.inf)


def test_readers_of_files_are_checked():
    reader, _ = learn(ColumnTable((text("a", *["x", "y"] * 3), Column("b", np.arange(6.0)))))
    assert reader.is_sound
    category = next(each for each in reader.readers if isinstance(each, CategoryReader))
    for other in (
        TableReader(reader.readers, np.array([0, 0]), {}, 2),
        TableReader(reader.readers, reader.order, {}, 1),
        TableReader((), np.empty(0, dtype=np.int64), {}, 1),
        TableReader((CategoryReader(0, "a", category.labels, 5, 0),), np.array([0]), {}, 1),
        TableReader((CategoryReader(0, "a", ("x",), 0, 0),), np.array([0]), {}, 1),
    ):
        assert not other.is_sound


def test_text_that_says_other_or_missing_is_so():
    reader, X = learn(ColumnTable((text("a", "(other)", "(missing)", "x", None, "x", "x"),)))
    assert reader.levels == (("x", OTHER, MISSING),)
    assert X[:, 0].tolist() == [1, 2, 0, 2, 0, 0]
    assert reader.unseen((text("a", "(other)", "(missing)"),)) == {}


def test_codes_are_the_same_with_a_point_and_without():
    reader, _ = learn(ColumnTable((text("a", *["1", "2", "01"] * 4),)), categorical_features=["a"])
    assert reader.levels == (("01", "1", "2"),)
    assert reader.read((text("a", "1.0", "01", "2"),))[:, 0].tolist() == [1, 0, 2]


def test_dates_can_be_categories():
    days = np.tile(np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[us]"), 4)
    reader, X = learn(ColumnTable((Column("day", days),)), categorical_features=["day"])
    assert reader.levels == (("2024-01-01 00:00:00", "2024-02-01 00:00:00"),)
    assert X[:2, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (
            [*(f"2024-{1 + j % 12:02}-{1 + j % 28:02}" for j in range(40)), "later"],
            "are dates, but some are not.*later",
        ),
        ([f"{j} {'kg' if j % 2 else 'g'}" for j in range(40)], "numbers are not all written alike.*'0 g' and '1 kg'"),
        ([*(f"{j / 7}" for j in range(40)), "n.d."], "are numbers, but some are not, such as 'n.d.'"),
    ],
)
def test_what_keeps_text_from_being_numbers_or_dates_is_said(cells, reason):
    table = ColumnTable((text("a", *cells), Column("b", np.arange(len(cells)) / 2)))
    assert re.search(reason, learn(table)[0].left_out["a"])


@pytest.mark.parametrize("name", ["humid", "casino", "volcano"])
def test_words_that_end_like_an_identifier_are_none(name):
    assert learn(ColumnTable((Column(name, np.arange(40.0)), Column("b", np.arange(40) / 2))))[0].left_out == {}


@pytest.mark.parametrize("cell", ["1" + " " * 50_000 + "(", "x" * 50_000, "1-" * 25_000, "1" * 50_000 + "x"])
def test_long_text_is_read_in_no_time(cell):
    reader, _ = learn(ColumnTable((text("a", *[cell, "y"] * 4),)))
    assert set(reader.levels[0]) == {cell, "y"}


def test_the_only_column_is_kept_even_if_it_numbers_the_rows():
    reader, X = learn(ColumnTable((Column("index", np.arange(50.0)), Column("same", np.ones(50)))))
    assert reader.names == ("index",)
    assert reader.left_out == {"same": "it is 1 in every row"}
    assert X[:, 0].tolist() == list(range(50))
