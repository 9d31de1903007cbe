"""CSV and its relatives: what separates columns, where the header is, which cells are numbers."""

import csv
import math
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.tables.cells import ColumnReader, Grammar
from saltus.cli.tables.table import Table, TableError, quote, without_false_names
from saltus.inspection.document import count

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
SAMPLE = 300  # lines, from which the separator is found out
LONGEST_CELL = 10_000_000  # characters; a longer one is a quotation mark that is not closed
BLOCK = 5000  # rows that are read at a time

GRAMMARS = (Grammar(), Grammar(decimal_comma=True))
WITH_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
WITH_POINT = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How a file is written. None where it has to be found out."""

    separator: str | None
    decimal: str | None

    @classmethod
    def of(cls, separator: str | None, decimal: str | None) -> "Dialect":
        """Check what was asked for."""
        separator = {"\\t": "\t", "tab": "\t", "space": " "}.get(separator or "", separator)
        if separator is not None and (len(separator) != 1 or separator in "\"'\r\n"):
            raise TableError(f"A separator is one character, such as ; or tab. Got {quote(separator)}.")
        if decimal not in (None, ".", ","):
            raise TableError(f"Decimals come after . or , and not after {quote(decimal)}.")
        return cls(separator, decimal)


@dataclass(frozen=True)
class Layout:
    """Where things are in a file."""

    separator: str
    decimal: str
    header: list[str]
    n_skipped: int  # lines before the first row
    notes: tuple[str, ...]


@contextmanager
def cells_may_be_long() -> Iterator[None]:
    """Take cells of more than the 131 072 characters that Python's csv module takes, in the whole process meanwhile."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


@cells_may_be_long()
def read_delimited(
    path: Path,
    dialect: Dialect,
    grammar: Grammar,
    *,
    wanted: Collection[str] = (),
    as_text: Collection[str] = (),
    keep_rows: bool = False,
) -> Table:
    """Read a text file of columns with a header."""
    asked = (dialect, grammar, wanted, as_text, keep_rows)
    with path.open("rb") as file:
        encoding = "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return _read(path, encoding, *asked)
    except UnicodeDecodeError as error:
        if encoding == "utf-16":
            raise TableError(f"{path} is not text: {error}.") from error
    try:
        table = _read(path, "cp1252", *asked)
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not text: {error}.") from error
    return replace(table, notes=(f"{path} is not in UTF-8, and was read as Windows-1252.", *table.notes))


def _read(
    path: Path,
    encoding: str,
    dialect: Dialect,
    grammar: Grammar,
    wanted: Collection[str],
    as_text: Collection[str],
    keep_rows: bool,
) -> Table:
    with path.open(encoding=encoding, newline="") as file:
        layout = find_layout(str(path), list(islice(file, SAMPLE)), dialect, wanted)
    grammar = replace(grammar, decimal_comma=layout.decimal == ",")
    readers = [ColumnReader(grammar) for _ in layout.header]
    rows: list[list[str]] = []
    n_rows = 0
    for block in _blocks(path, encoding, layout):
        places = [place for place, _ in block]
        for reader, cells in zip(readers, zip(*(cells for _, cells in block), strict=True), strict=True):
            reader.take(cells, places)
        rows += (cells for _, cells in block if keep_rows)
        n_rows += len(block)
    if not n_rows:
        raise TableError(f"{path} has a header and no rows.")
    # Text is read a second time, so that a table of numbers is never held as text.
    named = list(zip(layout.header, readers, strict=True))
    texts = {j: list[str | None]() for j, (name, reader) in enumerate(named) if reader.has_flaws or name in as_text}
    for block in _blocks(path, encoding, layout) if texts else ():
        for j, text in texts.items():
            text += [grammar.text(cells[j]) for _, cells in block]
    columns = {name: reader.finish(texts.get(j)) for j, (name, reader) in enumerate(named) if name}
    return Table(
        source=str(path),
        n_rows=n_rows,
        columns=columns,
        header=layout.header,
        rows=rows if keep_rows else None,
        notes=layout.notes,
        separator=layout.separator,
        decimal=layout.decimal,
    )


def _blocks(path: Path, encoding: str, layout: Layout) -> Iterator[list[tuple[str, list[str]]]]:
    """Go through the rows, so many at a time."""
    with path.open(encoding=encoding, newline="") as file:
        for _ in islice(file, layout.n_skipped):
            pass
        numbered = _split(str(path), file, layout)
        while block := list(islice(numbered, BLOCK)):
            yield block


def _split(source: str, lines: Iterator[str], layout: Layout) -> Iterator[tuple[str, list[str]]]:
    """Go through the rows, each with the line that it begins in, and as many cells as the header."""
    width = len(layout.header)
    reader = _cells(lines, layout.separator)
    while True:
        line = layout.n_skipped + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TableError(f"{source}, line {line}: {error}. Is a quotation mark missing?") from error
        if not cells:
            continue
        if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
            cells = cells[:width]
        if len(cells) != width:
            raise TableError(_ragged(source, line, cells, layout))
        yield f"line {line}", cells


def _cells(lines: Iterator[str], separator: str) -> "Reader":
    if separator == " ":
        lines = (line.strip() for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _ragged(source: str, line: int, cells: list[str], layout: Layout) -> str:
    if any("\n" in cell for cell in cells):
        return f"{source}, line {line} has a quotation mark that is not closed, or not where it should be."
    width, named = len(layout.header), SEPARATORS.get(layout.separator, quote(layout.separator))
    found = f"{source}, line {line} has {count(len(cells), 'cell')}, and the header has {width}"
    if layout.separator == "," and len(cells) == 2 * width:
        return f"{found}. Where decimals come after a comma, something else must separate columns, such as a semicolon."
    if len(cells) > width:
        return f"{found} (separated by {named}). Does a name lack there, or do quotation marks here?"
    return f"{found} (separated by {named}). Is the line cut off?"


def find_layout(source: str, lines: Sequence[str], dialect: Dialect, wanted: Collection[str]) -> Layout:
    """Find out from its first lines how a file is written, and where its header is."""
    comments, separator = [], dialect.separator
    n_skipped = 0
    for line in lines:
        text = line.strip()
        if text.lower().startswith("sep=") and len(text) == 5 and separator is None:
            separator = text[-1]
        elif text.startswith("#"):
            comments.append(text.lstrip("#").strip())
        elif text:
            break
        n_skipped += 1
    sample = lines[n_skipped:]
    separator = separator or _find_separator(sample)
    try:
        rows = [[cell.strip() for cell in row] for row in _cells(iter(sample), separator) if row]
    except csv.Error as error:
        raise TableError(f"{source}, within its first {SAMPLE} lines: {error}. Is a quotation mark missing?") from error
    notes = []
    commented = [cell.strip() for cell in next(_cells(iter(comments[-1:]), separator), [])]
    if rows and _all_numbers(rows[0]) and len(commented) == len(rows[0]) and not _all_numbers(commented):
        header, body = commented, rows
    elif not rows:
        raise TableError(f"{source} has no header and no rows.")
    else:
        header, body = rows[0], rows[1:]
        n_skipped += _cells_end(sample, separator)
    decimal = dialect.decimal or _find_decimal(body, separator)
    if dialect.separator is None and separator != ",":
        notes.append(f"Columns are separated by {SEPARATORS.get(separator, quote(separator))}.")
    if dialect.decimal is None and decimal == ",":
        notes.append("Decimals come after a comma.")
    return Layout(separator, decimal, _check_header(source, header, wanted), n_skipped, tuple(notes))


def _cells_end(lines: Sequence[str], separator: str) -> int:
    """Count the lines that the first row takes: quoted names may span several."""
    reader = _cells(iter(lines), separator)
    next(reader)
    return reader.line_num


def _find_separator(sample: Sequence[str]) -> str:
    """Choose what makes rows as long as the header; of those, what makes cells numbers; of those, the most columns."""

    def merit(separator: str) -> tuple[float, float, int]:
        try:
            header, *rows = [row for row in _cells(iter(sample), separator) if row] or [[]]
        except csv.Error:
            return 0.0, 0.0, 0
        if len(header) < 2:
            return 0.0, 0.0, 0
        as_long = [row for row in rows if len(row) == len(header)]
        if separator == " " and len(as_long) < len(rows):  # words are separated by spaces anyway
            return 0.0, 0.0, 0
        cells = [cell for row in as_long for cell in row]
        numbers = sum(_is_number(cell) for cell in cells)
        return len(as_long) / max(len(rows), 1), numbers / max(len(cells), 1), len(header)

    return max(SEPARATORS, key=merit)


def _find_decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    has_comma = any(WITH_COMMA.fullmatch(cell) for cell in cells)
    return "," if has_comma and not any(WITH_POINT.fullmatch(cell) for cell in cells) else "."


def _is_number(cell: str) -> bool:
    numbers = (grammar.number(cell) for grammar in GRAMMARS)
    return any(number is not None and not math.isnan(number) for number in numbers)


def _all_numbers(cells: Sequence[str]) -> bool:
    return len(cells) > 0 and all(map(_is_number, cells))


def _check_header(source: str, header: list[str], wanted: Collection[str]) -> list[str]:
    if _all_numbers(header) and not set(header) & set(wanted):
        raise TableError(
            f"{source} has no header: its first line is numbers, such as {quote(header[0])}. Write the names of the "
            f"columns above it."
        )
    header = without_false_names(header, wanted)
    while header and not header[-1]:  # a separator at the end of the line
        header = header[:-1]
    if not any(header):
        raise TableError(f"{source} has a header without names.")
    for j, name in enumerate(header):
        if name and name in header[:j]:
            raise TableError(
                f"{source} has two columns named {quote(name)}: {header.index(name) + 1} and {j + 1}. Rename one."
            )
    return header
