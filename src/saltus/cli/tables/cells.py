"""From cells of text to columns of numbers."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltus.cli.tables.table import Column, Flaw
from saltus.reading.columns import MISSING_WORDS, objects_of
from saltus.reading.forms import TRUTHS

DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{1,2}:\d{2}(:\d{2}.*)?")
NUMBER = re.compile(
    r"[<>~+$€£-]{0,2}\s?(?=[.,]?\d)(\d{1,3}([,.'\s]\d{3})+|\d*)([.,]\d+)?([ed][+-]?\d+)?\s?[%$€£]?", re.IGNORECASE
)
NAN = float("nan")


@dataclass(frozen=True)
class Grammar:
    """How cells are read.

    Attributes
    ----------
    missing : frozenset of str
        Words that stand for a missing value, in lower case.
    missing_numbers : tuple of float
        Numbers that do.
    decimal_comma : bool
        Whether decimals come after a comma. A point is no part of a number then, as it may separate thousands.
    """

    missing: frozenset[str] = MISSING_WORDS
    missing_numbers: tuple[float, ...] = ()
    decimal_comma: bool = False

    @classmethod
    def of(cls, missing: Sequence[str]) -> "Grammar":
        """Add words and numbers to those that stand for a missing value."""
        known = cls()
        numbers = [known.number(text) for text in missing]
        words = {text.strip().casefold() for text in missing}
        return cls(MISSING_WORDS | words, tuple(number for number in numbers if number is not None))

    def text(self, cell: str) -> str | None:
        """Read a cell as text; None where it is missing."""
        return None if cell.strip().casefold() in self.missing else cell.strip()

    def number(self, cell: str) -> float | None:
        """Read a cell: a number, NaN where it is missing, None where it is something else."""
        try:
            # float() would take 12_3, which is a name rather than a number.
            if "_" not in cell and not self.decimal_comma:
                return float(cell)
        except ValueError:
            pass
        word = cell.strip().casefold()
        if word in self.missing:
            return NAN
        if word in TRUTHS:
            return TRUTHS[word]
        return self._unusual(word)

    def _unusual(self, word: str) -> float | None:
        if "_" in word or (self.decimal_comma and "." in word):
            return None
        word = word.replace("\N{MINUS SIGN}", "-")
        try:
            return float(word.replace(",", ".") if self.decimal_comma else word)
        except ValueError:
            return None


class ColumnReader:
    """Takes the cells of a column, some at a time."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._values = array("d")
        self._n_flaws = 0
        self._first_flaw = ("", "", False)

    def take(self, cells: Sequence[str], places: Sequence[str]) -> None:
        """Read more cells; places say where they are."""
        numbers = [self._grammar.number(cell) for cell in cells]
        for j, number in enumerate(numbers):
            if number is None:
                if not self._n_flaws:
                    self._first_flaw = (cells[j].strip(), places[j], len(self._values) + j == 0)
                self._n_flaws += 1
        self._values.extend(NAN if number is None else number for number in numbers)

    @property
    def has_flaws(self) -> bool:
        """Whether cells were not numbers so far."""
        return self._n_flaws > 0

    def finish(self, cells: Sequence[str | None] | None = None) -> Column:
        """Make the column, with its cells as text where these were read again."""
        values = np.array(self._values, dtype=np.float64)
        values[np.isin(values, self._grammar.missing_numbers)] = NAN
        text, place, is_first = self._first_flaw
        flaw = Flaw(self._n_flaws, text, place, looks_like(text), is_first) if self._n_flaws else None
        return Column(values, flaw, None if cells is None else objects_of(cells))


def looks_like(text: str) -> str:
    """Say what a cell that is not understood seems to be."""
    if DATE.fullmatch(text):
        return "dates"
    return "a number" if NUMBER.fullmatch(text) else "text"
