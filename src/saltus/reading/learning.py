"""What to make of each column of a table: a number, a category, a date, or nothing, and why."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from saltus._typing import Floats
from saltus.families.inputs import MOST_LEVELS
from saltus.reading.columns import Column, quote, with_values
from saltus.reading.forms import CLOCKS, NumberForm, find_date_forms, find_number_forms
from saltus.reading.readers import (
    MISSING,
    OTHER,
    WEEKDAYS,
    CategoryReader,
    DateReader,
    NumberReader,
    Reader,
    dates_of,
    digests,
    label_of,
    numbers_of,
    useful_parts,
    weekdays_of,
)

# A level that fewer rows have is rare.
FEWEST_ROWS_A_LEVEL = 3.0
# Text with more different numbers in it than this is a column of numbers that has words in it.
MOST_CODES = 20
# Of so many cells it is found out whether most are numbers or dates.
MOST_LOOKED_AT = 1000
# Numbers are wild that are farther from all others than so many times their range, and no more than this share of rows.
WILD, MOST_WILD, FEWEST_ROWS_TO_JUDGE = 100.0, 0.005, 20
# What columns are called that number the rows.
IDENTIFIER = re.compile(
    r"(.*[\W_])?(id|ids|idx|index|key|uuid|guid|row|rows|rowid|rownames|no|nr|num|number|record|order|#)|"
    r"unnamed: \d+|",
    re.IGNORECASE,
)
IDENTIFIER_IN_CAMELS = re.compile(r".*[a-z](ID|Id|No|Nr)")


def learn_column(
    column: Column, number: int, weight: Floats, *, is_category: bool, may_be_category: bool
) -> Reader | str:
    """Choose how to read a column, the so-many-th of a table, whose rows have weights (N,) > 0; or say why not."""
    n_known = float(weight[~column.is_missing].sum())
    if n_known == 0:
        return "all of its values are missing"
    if n_known < FEWEST_ROWS_A_LEVEL and weight.sum() >= FEWEST_ROWS_TO_JUDGE:
        return f"it has a value in {n_known:g} of {weight.sum():g} rows"
    if column.is_dates and not is_category:
        return _learn_dates(column, number, "", weight)
    if is_category or column.is_category:
        return _learn_category(column, number, weight)
    if column.is_numbers:
        return learn_numbers(column, number, weight)
    cells = sorted({str(value) for value in column.present()})
    forms = find_number_forms(cells, column.decimal)
    if len(forms) == 1:
        read = with_values(column, numbers_of(column, forms[0]))
        found = learn_numbers(read, number, weight)
        return NumberReader(number, column.name, forms[0], found.low, found.high)
    if forms:
        return (
            f"its numbers can be read in {len(forms)} ways, as in {quote(_most_telling(cells, forms))}; write them "
            f"with a point before decimals and nothing between thousands"
        )
    dates = find_date_forms(cells)
    if len(dates) == 1:
        return _learn_dates(column, number, dates[0], weight)
    if dates:
        return (
            f"its dates can be read in {len(dates)} ways, as in {quote(cells[0])}; write them as year-month-day, "
            f"such as 2024-12-31"
        )
    if (flaw := _find_flaw(cells, column.decimal)) is not None:
        return flaw
    if not may_be_category:
        raise ValueError(
            f"The column {column.name!r} of X holds text, such as {quote(cells[0])}, and categorical_features=None "
            f"allows no categories. Leave it at 'from_dtype', or turn the column into numbers."
        )
    return _learn_category(column, number, weight)


def learn_numbers(column: Column, number: int, weight: Floats) -> NumberReader:
    """Read numbers as they are, but for wild ones."""
    low, high = find_range(column.values, weight)
    return NumberReader(number, column.name, None, low, high)


def find_range(values: Floats, weight: Floats) -> tuple[float, float]:
    """Find the range beyond which values (N,) are wild; infinite where none are."""
    low, high = -np.inf, np.inf
    known = np.isfinite(values)
    order = np.argsort(values[known], kind="stable")
    x, w = values[known][order], weight[known][order]
    if w.sum() < FEWEST_ROWS_TO_JUDGE:
        return low, high
    most = max(MOST_WILD * w.sum(), 1.0)
    first = int(np.searchsorted(np.cumsum(w), most, side="right"))
    last = len(x) - 1 - int(np.searchsorted(np.cumsum(w[::-1]), most, side="right"))
    if first >= last or x[first] == x[last]:
        return low, high
    reach = WILD * (x[last] - x[first])
    tame = x[(x >= x[first] - reach) & (x <= x[last] + reach)]
    return (
        float(tame[0]) if x[0] < tame[0] else low,
        float(tame[-1]) if x[-1] > tame[-1] else high,
    )


def numbers_the_rows(column: Column, values: Floats) -> bool:
    """Say whether a column is a running number, by its name and its values."""
    name = column.name.strip()
    if not (IDENTIFIER.fullmatch(name) or IDENTIFIER_IN_CAMELS.fullmatch(name)):
        return False
    present = values[~np.isnan(values)]
    if len(present) < FEWEST_ROWS_TO_JUDGE or len(present) < len(values) or (present % 1 != 0).any():
        return False
    return bool(np.unique(present).size == present.size and np.ptp(present) + 1 <= 2 * present.size)


def _learn_category(column: Column, number: int, weight: Floats) -> CategoryReader | str:
    """Give a code to every level that is not rare."""
    column = column.as_objects()
    distinct, which = column.distinct
    present = set(column.present())
    counts: dict[str, float] = {}
    for value, total in zip(distinct, np.bincount(which, weight, len(distinct)).tolist(), strict=True):
        if value in present:
            counts[label_of(value)] = counts.get(label_of(value), 0.0) + total
    n_missing = float(weight[column.is_missing].sum())
    n_all, n_others = sum(counts.values()), counts.pop(OTHER, 0.0)  # text that says so itself stands for other levels
    labels = sorted(counts, key=_in_order)
    kept = [label for label in labels if counts[label] >= FEWEST_ROWS_A_LEVEL]
    if not kept and len(labels) > max(2, MOST_CODES):
        return f"nearly every row has a value of its own, such as {quote(labels[0])}"
    if len(labels) - len(kept) < 2 and not n_others:
        kept = labels
    n_most = MOST_LEVELS - 2
    if len(kept) > n_most:
        kept = sorted(sorted(kept, key=lambda label: -counts[label])[:n_most], key=_in_order)
    n_rare = n_all - sum(counts[label] for label in kept)
    coded = [*kept, *([OTHER] if n_rare > 0 else []), *([MISSING] if n_missing > 0 else [])]
    if len(coded) < 2:
        return f"it is {quote(coded[0])} in every row"
    most_frequent = max(range(len(kept)), key=lambda code: counts[kept[code]], default=0)
    other = len(kept) if n_rare > 0 else most_frequent
    missing = len(coded) - 1 if n_missing > 0 else other
    rare = np.unique(digests(sorted(counts.keys() - set(kept))))
    return CategoryReader(number, column.name, tuple(coded), other, missing, rare)


def _find_flaw(cells: Sequence[str], decimal: str) -> str | None:
    """Say what keeps text from being read as numbers or dates, if most of it is; None where it is words."""
    some = cells[:: max(1, len(cells) // MOST_LOOKED_AT)]
    finders: dict[str, Callable[[Sequence[str]], Sequence[Any]]] = {
        "numbers": partial(find_number_forms, decimal=decimal),
        "dates": find_date_forms,
    }
    for what, find in finders.items():
        n_found = sum(bool(find([cell])) for cell in some)
        if n_found <= max(MOST_CODES, len(some) - n_found):
            continue
        stray = next((cell for cell in cells if not find([cell])), None)
        if stray is not None:
            return (
                f"most of its values are {what}, but some are not, such as {quote(stray)}; correct these, or count "
                f"them as missing"
            )
        other = next((cell for cell in cells if not find([cells[0], cell])), cells[-1])
        return f"its {what} are not all written alike, such as {quote(cells[0])} and {quote(other)}; write them alike"
    return None


def _in_order(label: str) -> tuple[int, float, str]:
    """Sort numbers by their value, and before words."""
    try:
        value = float(label)
    except ValueError:
        return 1, 0.0, label
    return (0, value, label) if value == value else (1, 0.0, label)


def _learn_dates(column: Column, number: int, form: str, weight: Floats) -> DateReader | str:
    dates = dates_of(column, form)
    present = dates[~np.isnat(dates)]
    if present.min() == present.max() and len(present) == len(dates):
        return f"it is {present[0]} in every row"
    days = weekdays_of(present)
    missing = int(np.bincount(days, weight[~np.isnat(dates)]).argmax()) if len(present) == len(dates) else len(WEEKDAYS)
    return DateReader(number, column.name, form, useful_parts(dates, have_days=form not in CLOCKS), missing)


def _most_telling(cells: Sequence[str], forms: Sequence[NumberForm]) -> str:
    return next((cell for cell in cells if len({form.read(cell) for form in forms} - {None}) > 1), cells[0])
