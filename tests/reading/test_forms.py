"""Numbers and dates as people write them."""

import pytest

from saltus.reading.forms import find_date_forms, find_number_forms


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["12", "1e3", "-.5"], [12, 1000, -0.5]),
        (["5,284.41", "12"], [5284.41, 12]),
        (["1.234", "5.678"], [1.234, 5.678]),
        (["1.234,5", "2"], [1234.5, 2]),
        (["1,5", "2"], [1.5, 2]),
        (["0,125", "3,25"], [0.125, 3.25]),
        (["1,234,567", "8"], [1234567, 8]),
        (["6405,284", "770,619"], [6405.284, 770.619]),
        (["6,405", "0,506"], [6.405, 0.506]),
        (["1 234,5", "2,25"], [1234.5, 2.25]),
        (["1'234.5", "2.25"], [1234.5, 2.25]),
        (["12 %", "13.5 %", "7%"], [12, 13.5, 7]),
        (["$1,200", "$950", "$12,500", "$3,400"], [1200, 950, 12500, 3400]),
        (["€ 3,50", "€ 4,25"], [3.5, 4.25]),
        (["USD 5", "USD 7"], [5, 7]),
        (["3 kg", "4.5 kg"], [3, 4.5]),
        (["5 m2", "6 m2"], [5, 6]),
        (["21.5 °C", "-3 °C"], [21.5, -3]),
        (["(1,200.0)", "5"], [-1200, 5]),
        (["\N{MINUS SIGN}5", "+3.2"], [-5, 3.2]),
        (["true", "False", "2"], [1, 0, 2]),
        (["inf", "-Infinity", "1e999"], [float("inf"), -float("inf"), float("inf")]),
        (["1" * 400, "0." + "3" * 100], [float("inf"), 1 / 3]),
    ],
)
def test_numbers_are_read(cells, numbers):
    (form,) = find_number_forms(cells)
    assert [form.read(cell) for cell in cells] == numbers


@pytest.mark.parametrize(
    ("cells", "values"),
    [(["1,234", "5,678"], {1234, 1.234}), (["0,5", "1.234"], {1234, 1.234}), (["1,234", "2"], {1234, 1.234})],
)
def test_numbers_that_could_be_two_things_are_not_read(cells, values):
    forms = find_number_forms(cells)
    assert len(forms) == 2
    ambiguous = next(cell for cell in cells if len(cell) == 5)
    assert {form.read(ambiguous) for form in forms} == values


@pytest.mark.parametrize(
    "cells",
    [["yes", "no"], ["A1", "B2"], ["3 kg", "200 g"], ["$5", "€5"], ["<5", "7"], ["12-13"], ["10.0.0.1"], ["12_3"]],
)
def test_what_is_no_number_is_none(cells):
    assert find_number_forms(cells) == []


def test_a_number_that_is_written_otherwise_is_not_read():
    (form,) = find_number_forms(["3 kg", "4.5 kg"])
    assert form.read("3 g") is None
    assert form.read("many") is None
    assert form.read("7") == 7


def test_a_table_may_say_what_comes_before_decimals():
    assert [form.read("1,500") for form in find_number_forms(["1,500", "2,250"], ",")] == [1.5]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["2020-01-05", "2021-02-03"], "ISO"),
        (["2020-01-05 10:00", "2021-02-03 11:30"], "ISO"),
        (["2020-01-05T10:00:00Z"], "ISO"),
        (["31/12/2020", "1/2/2020"], "%d/%m/%Y"),
        (["12/31/2020", "1/2/2020"], "%m/%d/%Y"),
        (["31.12.2020 10:20"], "%d.%m.%Y %H:%M"),
        (["5 Jan 2020"], "%d %b %Y"),
        (["January 5, 2020"], "%B %d, %Y"),
        (["2020-01", "2020-02"], "%Y-%m"),
        (["10:30", "23:59"], "%H:%M"),
    ],
)
def test_dates_are_read(cells, form):
    assert find_date_forms(cells) == [form]


def test_dates_that_could_be_two_are_not_read():
    assert len(find_date_forms(["1/2/2020", "3/4/2020"])) == 2


@pytest.mark.parametrize("cells", [["abc 12"], ["12-13"], ["2020-13-01"], ["red"], ["2020-01-05", "later"]])
def test_what_is_no_date_is_none(cells):
    assert find_date_forms(cells) == []
