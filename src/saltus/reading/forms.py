"""Numbers and dates that are written as text, and how: found out from all cells of a column at once."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from math import isnan

# What stands around a number, and the number itself: a sign, a currency, digits with what separates them, a unit.
WRITTEN = re.compile(
    r"(?P<open>\()?\s*(?P<sign>[+-]?)\s*(?P<prefix>[$€£¥₹]|[A-Z]{3}\b)?\s*(?P<sign_after>[+-]?)\s*"
    r"(?P<core>\d[\d.,'\s]*?(?:e[+-]?\d+)?|[.,]\d+(?:e[+-]?\d+)?)\s*(?P<suffix>[^\d\s.,'()+_-][^\d()]*?\d?)?\s*(?P<close>\))?",
    re.IGNORECASE,
)
PLAIN = str.maketrans({"\N{MINUS SIGN}": "-", "\N{RIGHT SINGLE QUOTATION MARK}": "'", "\N{NO-BREAK SPACE}": " "})
TRUTHS = {"true": 1.0, "false": 0.0}
INFINITE = {f"{sign}{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "infinity")}
WORDS = TRUTHS | INFINITE

THREE = 3  # digits of a thousand
LONGEST = 64  # characters of a number or date; patterns take long to find that longer text is neither

# A sign, a currency, digits with what separates them, a unit.
Parts = tuple[float, str, str, str]

# What comes before decimals and what separates thousands, the usual ones first.
SYSTEMS = ((".", ","), (".", " "), (".", "'"), (",", "."), (",", " "))


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a column are written."""

    decimal: str
    thousands: str
    prefix: str = ""  # a currency
    suffix: str = ""  # a unit

    def read(self, text: str) -> float | None:
        """Read a cell; None if it is not written so."""
        found = _take_apart(text)
        if found is None:
            return _read_plain(text, self.decimal)
        _, prefix, _, suffix = found
        if (prefix or self.prefix, suffix or self.suffix) != (self.prefix, self.suffix):
            return None
        return self.read_parts(found)

    def read_parts(self, parts: Parts) -> float | None:
        """Read a cell that was taken apart, whatever its currency and unit."""
        sign, _, core, _ = parts
        if not _pattern_of(self.decimal, self.thousands).fullmatch(core):
            return None
        return sign * float(core.replace(self.thousands, "").replace(self.decimal, "."))


def _take_apart(text: str) -> Parts | None:
    """Find the sign, the currency, the digits and the unit of a number in text."""
    found = WRITTEN.fullmatch(text.strip().translate(PLAIN)) if len(text) <= LONGEST else None
    if found is None or bool(found["open"]) != bool(found["close"]) or (found["sign"] and found["sign_after"]):
        return None
    is_negative = bool(found["open"]) != ((found["sign"] or found["sign_after"]) == "-")
    return -1.0 if is_negative else 1.0, found["prefix"] or "", found["core"].strip(), (found["suffix"] or "").strip()


@lru_cache
def _pattern_of(decimal: str, thousands: str) -> "re.Pattern[str]":
    after = rf"(\{decimal}\d*)?(e[+-]?\d+)?"
    digits = rf"(\d+|[1-9]\d{{0,2}}(\{thousands}\d{{3}})+){after}|\{decimal}\d+(e[+-]?\d+)?"
    return re.compile(digits, re.IGNORECASE)


def find_number_forms(cells: Sequence[str], decimal: str = "") -> list[NumberForm]:
    """Find the ways in which all cells can be read as numbers: none, one, or several that disagree.

    A currency or a unit is the same in all cells that have one. Text that is written as computers write numbers is read
    so.
    """
    usual = NumberForm(decimal or ".", "," if decimal != "," else ".")
    if all(_read_plain(cell, usual.decimal) is not None for cell in cells):
        return [usual]
    parts = [found for cell in cells if (found := _take_apart(cell)) is not None]
    prefixes, suffixes = {found[1] for found in parts} - {""}, {found[3] for found in parts} - {""}
    n_words = sum(cell.strip().casefold() in WORDS for cell in cells)
    if len(parts) + n_words < len(cells) or len(prefixes) > 1 or len(suffixes) > 1:
        return []
    prefix, suffix = (next(iter(each), "") for each in (prefixes, suffixes))
    systems = [system for system in SYSTEMS if decimal in ("", system[0])]
    forms = [NumberForm(*system, prefix, suffix) for system in systems]
    values = [(form, [form.read_parts(each) for each in parts]) for form in forms]
    readings: list[tuple[NumberForm, list[float | None]]] = []
    for form, numbers in values:
        if None not in numbers and all(numbers != others for _, others in readings):
            readings.append((form, numbers))
    if not readings:
        return []
    # 1.234 is 1.234 where nothing says that points separate thousands.
    if readings[0][0].decimal == "." and not any("," in core for _, _, core, _ in parts):
        return [readings[0][0]]
    cores = [core for _, _, core, _ in parts]
    proved = [form for form, _ in readings if _is_proved(form, cores)]
    forms = proved if len(proved) == 1 else [form for form, _ in readings]
    if len(forms) == 1 and not proved:
        return [forms[0], NumberForm(forms[0].thousands, forms[0].decimal, prefix, suffix)]
    return forms


def _is_proved(form: NumberForm, cores: Sequence[str]) -> bool:
    """Say whether numbers can only be meant so, although a comma or a point may separate thousands or decimals.

    It is sure where a number has both, or two separators of thousands; where decimals are not three digits; and where
    numbers above 999 have a separator, and those below have none.
    """
    separated = [core for core in cores if form.thousands in core]
    if form.thousands not in (",", "."):
        return True
    if any(form.decimal in core or core.count(form.thousands) > 1 for core in separated):
        return True
    if not separated:
        otherwise = _pattern_of(form.thousands, form.decimal)
        return any(otherwise.fullmatch(core) is None for core in cores if form.decimal in core)
    others = [core for core in cores if form.thousands not in core]
    whole = [core for core in others if form.decimal not in core]
    many = len(separated) >= THREE and len(whole) == len(others) > 0
    return many and all(len(core) <= THREE for core in whole)


def _read_plain(cell: str, decimal: str) -> float | None:
    """Read a number that is written as computers do, or a word that stands for one; None if it is neither."""
    word = cell.strip().casefold()
    if word in WORDS:
        return WORDS[word]
    try:
        value = float(word if decimal == "." else word.replace(".", "x").replace(",", "."))
    except ValueError:
        return None
    return None if "_" in word or isnan(value) else value


def _from_iso(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)  # the clock on the wall knows weekdays and hours


def _from_form(form: str, text: str) -> datetime:
    return datetime.strptime(text, form)


ISO = "ISO"
DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y-%m", "%Y/%m", "%m/%Y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%b %Y", "%B %Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
CLOCKS = ("%H:%M", "%H:%M:%S")  # times of a day, which no date goes with
DATE_FORMS = (ISO, *CLOCKS, *(day + time for day in DAYS for time in TIMES))
# No date is written without one of these.
LOOKS_LIKE_A_DATE = re.compile(r".*\d.*[-/. :].*\d.*|.*[a-z]{3}.*\d.*", re.IGNORECASE)


def date_reader(form: str) -> Callable[[str], datetime]:
    """Make what reads a date that is written in one of the forms, or raises ValueError."""
    return _from_iso if form == ISO else partial(_from_form, form)


def find_date_forms(cells: Iterable[str]) -> list[str]:
    """Find the ways in which all cells can be read as dates: none, one, or several that disagree."""
    cells = [cell.strip() for cell in cells]
    if not all(len(cell) <= LONGEST and LOOKS_LIKE_A_DATE.fullmatch(cell) for cell in cells):
        return []
    readings: list[tuple[str, list[datetime]]] = []
    for form in DATE_FORMS:
        read = date_reader(form)
        try:
            dates = [read(cell) for cell in cells]
        except ValueError:
            continue
        if all(dates != others for _, others in readings):
            readings.append((form, dates))
    return [form for form, _ in readings]
