"""Tables as people write them."""

import csv
import sys
from decimal import Decimal

import numpy as np
import pytest

from saltus.cli.tables import TableError, delimited, parquet, read_table
from saltus.reading import TableReader

ROWS = "1,2.5,3\n4,5,6\n7,8e-1,9\n"


def table_of(tmp_path, text, name="table.csv", encoding="utf-8", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return read_table(path, **options)


def test_numbers_are_read_to_the_last_bit(tmp_path, rng):
    values = np.r_[rng.standard_normal(500) * 10.0 ** rng.integers(-300, 300, 500), 0.1, 1 / 3, 5e-324]
    table = table_of(tmp_path, "x\n" + "\n".join(map(repr, values.tolist())) + "\n")
    np.testing.assert_array_equal(table.numbers("x"), values)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("a,b,y\n" + ROWS, "utf-8"),
        ("a,b,y\n" + ROWS, "utf-8-sig"),
        ("a,b,y\n" + ROWS, "utf-16"),
        ("a,b,y\r\n" + ROWS.replace("\n", "\r\n"), "utf-8"),
        ('"a", "b" , y\n' + ROWS.replace(",", " , "), "utf-8"),
        ("a,b,y,\n" + ROWS.replace("\n", ",\n"), "utf-8"),
        ("\n\na,b,y\n\n" + ROWS + "\n\n", "utf-8"),
        ("# made by hand\n# units: m, s, kg\na,b,y\n" + ROWS, "utf-8"),
        ("# a,b,y\n" + ROWS, "utf-8"),
        ("a;b;y\n" + ROWS.replace(",", ";"), "utf-8"),
        ("a;b;y\n" + ROWS.replace(",", ";").replace(".", ",").replace("8e-1", "0,8"), "utf-8"),
        ("sep=;\na;b;y\n" + ROWS.replace(",", ";"), "utf-8"),
        ("a\tb\ty\n" + ROWS.replace(",", "\t"), "utf-8"),
        ("a|b|y\n" + ROWS.replace(",", "|"), "utf-8"),
        (" a   b y\n" + ROWS.replace(",", "   "), "utf-8"),
    ],
)
def test_the_way_a_file_is_written_is_found_out(tmp_path, text, encoding):
    table = table_of(tmp_path, text, encoding=encoding)
    assert list(table.columns) == ["a", "b", "y"]
    np.testing.assert_array_equal(table.numbers("b"), [2.5, 5, 0.8])
    np.testing.assert_array_equal(table.numbers("y"), [3, 6, 9])


def test_what_was_found_out_is_said(tmp_path):
    table = table_of(tmp_path, "Temp °C;y\n1,5;2\n2,5;3\n", encoding="cp1252")
    assert list(table.columns) == ["Temp °C", "y"]
    assert [sentence.split()[-1] for sentence in table.notes] == ["Windows-1252.", "semicolons.", "comma."]
    assert (table.separator, table.decimal) == (";", ",")


def test_a_comma_in_a_name_does_not_hide_semicolons(tmp_path):
    table = table_of(tmp_path, "speed, m/s;y\n1,5;2\n2,5;3\n")
    np.testing.assert_array_equal(table.numbers("speed, m/s"), [1.5, 2.5])


def test_points_among_decimal_commas_are_not_taken_for_decimals(tmp_path):
    table = table_of(tmp_path, "a;y\n" + "0,5;1\n" * 400 + "1.234;2\n")
    with pytest.raises(TableError, match=r"but for one cell, '1\.234' in line 402"):
        table.numbers("a")
    reader = TableReader.learn([table.as_input("y"), table.as_input("a")], np.ones(401))
    assert "can be read in 2 ways, as in '1.234'" in reader.left_out["a"]


def test_decimal_commas_in_quotes_are_read_if_they_are_announced(tmp_path):
    text = 'a,y\n"1,500","2,250"\n"2,500","3,250"\n'
    with pytest.raises(TableError, match=r"cannot be read, such as '1,500' in line 2\. .* --decimal ,"):
        table_of(tmp_path, text).numbers("a")
    np.testing.assert_array_equal(table_of(tmp_path, text, decimal=",").numbers("a"), [1.5, 2.5])


def test_missing_values_have_many_names(tmp_path):
    cells = ["", "NA", "n/a", "NaN", "null", "None", "-", "?", ".", "#DIV/0!", "<NA>"]
    table = table_of(tmp_path, "a,y\n" + "\n".join(f"{cell},1" for cell in cells) + "\n3,1\n")
    np.testing.assert_array_equal(table.numbers("a"), [np.nan] * len(cells) + [3])


def test_other_names_can_be_given(tmp_path):
    table = table_of(tmp_path, "a,y\n-999.0,1\nbroken,2\n3,-999\n", missing=["-999", "Broken"])
    np.testing.assert_array_equal(table.numbers("a"), [np.nan, np.nan, 3])
    np.testing.assert_array_equal(table.numbers("y"), [1, 2, np.nan])


def test_truths_infinities_and_a_typographers_minus_are_numbers(tmp_path):
    table = table_of(tmp_path, "a\ntrue\nFalse\ninf\n\N{MINUS SIGN}2\n")
    np.testing.assert_array_equal(table.numbers("a"), [1, 0, np.inf, -2])


@pytest.mark.parametrize(
    ("cells", "refusal"),
    [
        ("red blue 3", "text, such as 'red' in line 2"),
        ("12_3 12_4 12_5", "text, such as '12_3' in line 2"),
        ("1.2.3 10.0.0.1 3.4.5.6", "dates, such as '1.2.3' in line 2"),
        ("2024-01-31 2024-02-01 x", "dates, such as '2024-01-31' in line 2"),
        ("12:30 12:31 12:32", "dates, such as '12:30' in line 2"),
        (", , ,", "empty"),
        ("1 2 x", None),
        ("1,500 2,500 3,500", None),
        ("12% 13% 14%", None),
    ],
)
def test_columns_that_are_not_numbers_say_what_they_are(tmp_path, cells, refusal):
    rows = "".join(f'"{cell}"\n' if cell != "," else '""\n' for cell in cells.split())
    assert table_of(tmp_path, "a\n" + rows).columns["a"].refusal == refusal


def test_a_few_bad_cells_are_named(tmp_path):
    rows = ["1"] * 20 + ["<0.01", "2", "n.d."]
    table = table_of(tmp_path, "# comment\na,y\n" + "".join(f"{cell},1\n" for cell in rows))
    with pytest.raises(TableError, match=r"'a' is a column of numbers but for 2 cells, .* '<0\.01' in line 23\. "):
        table.numbers("a")


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    table = table_of(tmp_path, 'name,a\n"two\nlines",1\n\nx,2\ny,oops\n')
    with pytest.raises(TableError, match="'oops' in line 6"):
        table.numbers("a")


def test_a_line_of_units_is_recognised(tmp_path):
    with pytest.raises(TableError, match=r"but for 'kg' in line 2\. If that is a line of units, remove it"):
        table_of(tmp_path, "a,y\nm,kg\n1,2\n3,4\n").numbers("y")


def test_a_header_that_comes_again_is_recognised(tmp_path):
    with pytest.raises(TableError, match=r", line 4 repeats the header\. Remove such lines\."):
        table_of(tmp_path, "a,y\n1,2\n3,4\na,y\n5,6\n").numbers("y")


def test_a_comma_before_three_digits_and_a_point_separates_thousands(tmp_path):
    table = table_of(tmp_path, 'a,b\n"1,234.5","1,234"\n"2,345.6","2,345"\n')
    np.testing.assert_array_equal(table.numbers("a"), [1234.5, 2345.6])
    with pytest.raises(TableError, match=r"'1,234' in line 2\. .* If decimals come after it, say so: --decimal ,$"):
        table.numbers("b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("# only\n# comments\n", "has no header and no rows"),
        ("a,b,y\n", "has a header and no rows"),
        (",,\n1,2,3\n", "has a header without names"),
        (ROWS, "has no header: its first line is numbers, such as '1'"),
        ("a,b,a\n" + ROWS, "has two columns named 'a': 1 and 3"),
        ("a,b,y\n" + ROWS + "1,2\n", r"line 5 has 2 cells, and the header has 3 \(separated by commas\)"),
        ("a,b,y\n" + ROWS + "1,2,3,4\n", "line 5 has 4 cells, and the header has 3"),
        ("a,y\n1,5,2,5\n3,5,4,5\n", "line 2 has 4 cells, .* decimals come after a comma"),
        ('a,b,y\n1,"2,3\n4,5,6\n', "line 2 has a quotation mark that is not closed"),
        (b"PK\x03\x04 and so on", "an Excel workbook"),
        (b"\x1f\x8b and so on", "compressed by gzip"),
        (b"a,b\n1,\x00\xff\x03\n", "it is not text"),
        (b"a,b\n1,\x81\n", "is not text"),
        (b"PAR1 but no more", "cannot be read as Parquet"),
    ],
)
def test_what_is_no_table_is_refused_in_words(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        table_of(tmp_path, text)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"), [({"separator": "ab"}, "A separator is one"), ({"decimal": ";"}, "Decimals come after")]
)
def test_bad_options_are_refused(tmp_path, options, message):
    with pytest.raises(TableError, match=message):
        table_of(tmp_path, "a;b\n1;2\n", **options)


def test_names_may_be_numbers_if_they_are_looked_for(tmp_path):
    table = table_of(tmp_path, "400,410,420\n" + ROWS, wanted=["410"])
    np.testing.assert_array_equal(table.numbers("410"), [2.5, 5, 0.8])


def test_an_unknown_column_is_answered_with_the_closest(tmp_path):
    with pytest.raises(TableError, match=r"no column 'Temprature'\. Did you mean 'temperature'\? It has 2 columns"):
        table_of(tmp_path, "temperature,y\n1,2\n").numbers("Temprature")


def test_columns_without_a_name_are_kept_apart(tmp_path):
    table = table_of(tmp_path, ",a\n0,5\n1,6\n", keep_rows=True)
    assert (table.header, list(table.columns)) == (["", "a"], ["a"])
    assert table.rows == [["0", "5"], ["1", "6"]]


def test_names_that_pandas_made_up_are_no_names(tmp_path):
    table = table_of(tmp_path, "Unnamed: 0,a\n0,5\n1,6\n")
    assert (table.header, list(table.columns)) == (["", "a"], ["a"])
    assert "Unnamed: 0" in table_of(tmp_path, "Unnamed: 0,a\n0,5\n", wanted=["Unnamed: 0"]).columns


def test_the_index_of_a_frame_is_no_column(tmp_path, frame):
    frame.set_index([[5, 3, 4]]).to_parquet(tmp_path / "table.parquet")
    table = read_table(tmp_path / "table.parquet", keep_rows=True)
    assert list(table.columns) == list(frame.columns)
    assert {len(row) for row in table.rows} == {len(table.header)}


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(
        {
            "whole": [1, 2, 3],
            "float": [0.5, None, 1e300],
            "truth": [True, False, True],
            "written": ["1.5", "NA", "x"],
            "text": ["a", "b", None],
            "date": pandas.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "decimal": [Decimal("1.25"), None, Decimal(2)],
            "nothing": [None, None, None],
        }
    )


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_parquet_is_read_alike_by_each_library(tmp_path, monkeypatch, frame, library):
    pytest.importorskip(library)
    frame.to_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr(parquet, "READERS", {library: parquet.READERS[library]})
    table = read_table(tmp_path / "table.parquet", keep_rows=True)
    expected = {"whole": [1, 2, 3], "float": [0.5, np.nan, 1e300], "truth": [1, 0, 1], "decimal": [1.25, np.nan, 2]}
    for name, values in expected.items():
        np.testing.assert_array_equal(table.numbers(name), values)
    assert table.columns["text"].refusal == "text, such as 'a' in row 1"
    assert table.columns["date"].refusal.startswith("dates, such as '2024-01-01")
    assert table.columns["nothing"].refusal == "empty"
    with pytest.raises(TableError, match="but for one cell, 'x' in row 3"):
        table.numbers("written")
    assert table.rows[1][:5] == ["2", "", "False", "NA", "b"]


def test_parquet_without_a_library_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(parquet, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'saltus\[parquet\]'\. CSV takes nothing"):
        read_table(tmp_path / "table.parquet")


def test_csv_needs_no_other_library(tmp_path, monkeypatch):
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    assert table_of(tmp_path, "a,y\n1,2\n").n_rows == 1


def test_cells_may_be_long(tmp_path):
    before = csv.field_size_limit()
    table = table_of(tmp_path, f'note,y\n"{"a" * 200_000}",1\nb,2\n')
    np.testing.assert_array_equal(table.numbers("y"), [1, 2])
    assert csv.field_size_limit() == before


def test_a_cell_without_end_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "LONGEST_CELL", 1000)
    long = f'"{"a" * 2000}'
    with pytest.raises(TableError, match=r"first 300 lines: field larger than .* Is a quotation mark missing\?"):
        table_of(tmp_path, f"note,y\n{long},1\n")
    with pytest.raises(TableError, match=r"line 402: field larger than .* Is a quotation mark missing\?"):
        table_of(tmp_path, "note,y\n" + "b,1\n" * 400 + f"{long},1\n")
