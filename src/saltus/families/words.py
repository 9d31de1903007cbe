"""What families say of themselves, as plain values for those who write and draw."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from saltus._typing import Bools, Floats, Ints

MINUS = "\N{MINUS SIGN}"


class InputName(str):
    """The name of an input, which knows what the levels of a category are called; a number has none."""

    levels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, levels: Sequence[str] = ()) -> "InputName":
        """Name an input."""
        named = cls(name)
        named.levels = tuple(levels)
        return named


def names_of_levels(name: str, codes: Ints) -> list[str]:
    """Name levels by their codes."""
    levels = name.levels if isinstance(name, InputName) else ()
    return [levels[code] if code < len(levels) else str(code) for code in codes.tolist()]


class Numbers(NamedTuple):
    """A table: a caption, columns with a name and a format each, and rows."""

    caption: str
    columns: list[tuple[str, str]]
    rows: list[tuple[str | int | float, ...]]


class PageTerms(NamedTuple):
    """The columns of terms as values that JSON holds, for a page that evaluates them: see `page.js`.

    Columns of several networks that have the same heading go together.
    """

    heading: dict[str, Any]  # the kind of terms, and what they have in common
    columns: list[Any]
    profiles: dict[str, str]  # the functions that they use, in JavaScript, by name


def finite_or_none(values: Floats | None) -> list[float | None] | None:
    """Make a list that JSON holds: None for what is not finite."""
    return None if values is None else [value if np.isfinite(value) else None for value in values.tolist()]


class InputUse(NamedTuple):
    """How terms use the inputs. Where all inputs are used whatever the data say, only `why_all` says so."""

    probability: Floats | None = None  # (d,), that terms use the input: 0 or 1 for one network
    amount: Floats | None = None  # (d,), how much
    name: str = ""  # of the amount
    meaning: str = ""  # of the amount, a sentence
    why_all: str = ""  # a sentence


def round_digits(values: Floats, digits: int) -> Floats:
    """Keep so many significant digits."""
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"), otypes=[np.float64])(values)


def on_all_inputs(values: Floats, varies: Bools) -> Floats:
    """Put values of the inputs that vary (v,) where they belong among all (d,); 0 for the others."""
    found = np.zeros(len(varies))
    found[varies] = values
    return found
