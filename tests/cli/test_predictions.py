"""Predictions as they are written."""

import csv
import io

import numpy as np
import pytest

from saltus.cli.predictions import write_csv
from saltus.cli.tables import read_table


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("@SUM(A1)", "'@SUM(A1)"),
        ('=HYPERLINK("http://x"&A1)', '\'=HYPERLINK("http://x"&A1)'),
        ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        (" =1+1", "' =1+1"),
        ("\t=1+1", "'\t=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("lift (=L)", "lift (=L)"),
    ],
)
def test_a_name_is_not_taken_for_a_formula(tmp_path, name, written):
    (tmp_path / "t.csv").write_text("@a,b\n=1,2\n", encoding="utf-8")
    table = read_table(tmp_path / "t.csv", keep_rows=True)
    columns = {name: np.array([-0.5]), f"{name}_low": np.array([-1.0])}
    header, cells = csv.reader(io.StringIO(write_csv(table, columns, keep=True)))
    assert header == ["@a", "b", written, f"{written}_low"], "columns of the table stay as they were"
    assert cells == ["=1", "2", "-0.5", "-1.0"]
