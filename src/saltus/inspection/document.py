"""A small document, as text or as HTML: titled sections of sentences and tables."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

LINE_WIDTH = 100
MOST_NAMES = 10

Cell = str | int | float


def one_line(text: str) -> str:
    """Make a name that may hold anything fit for a line of text: no line breaks, no control characters."""
    return "".join(character if character.isprintable() else "\ufffd" for character in " ".join(text.split()))


def show(value: Cell, spec: str) -> str:
    """Write a cell: a word on one line, a number by its format, one that is not known as a dash."""
    if isinstance(value, str):
        return one_line(value)
    return format(value, spec) if np.isfinite(value) else "-"


def to_html(text: str) -> str:
    """Write a line of text, which may hold anything, as HTML that shows it; a percent sign stays with its number."""
    return escape(one_line(text)).replace(" %", "&nbsp;%")


def percent(share: float) -> str:
    """Write a share in percent, with as many decimals as it takes to tell it from 0 and 100 %; a dash for NaN."""
    if np.isnan(share):
        return "-"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    decimals = 1 if 0.001 <= share <= 0.999 else 3
    return f"{round(100 * share, decimals) + 0.0:.{decimals}f} %"  # adding 0 takes the sign off -0


def join_names(names: Sequence[str]) -> str:
    """Write "a, b and c"; of a long list, its beginning."""
    shown = [one_line(name) for name in names[:MOST_NAMES]]
    if len(names) > MOST_NAMES:
        return f"{', '.join(shown)} and {len(names) - MOST_NAMES} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def join_sizes(sizes: Iterable[int]) -> str:
    """Write whole numbers, three or more in a row as a range: "1, 2, 5 to 7 and 9"."""
    runs: list[list[int]] = []
    for size in sorted(sizes):
        if runs and size == runs[-1][-1] + 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return join_names(
        [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    )


def count(n: int, thing: str) -> str:
    """Write "1 term", "2 terms"."""
    return f"{n} {thing}{'s' * (n != 1)}"


def paragraphs(sentences: Iterable[str]) -> str:
    """Write each sentence on a line of its own, the first flush left, and wrap what is too long."""
    first, *others = sentences
    lines = [textwrap.fill(first, LINE_WIDTH)]
    lines += [
        textwrap.fill(sentence, LINE_WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        for sentence in others
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class TextTable:
    """Rows of cells under a header.

    Each column has a name and a format: that of its numbers, or "" for words. Numbers are flush right.
    """

    caption: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Cell]]

    @property
    def _names(self) -> list[str]:
        return [one_line(name) for name, _ in self.columns]

    @property
    def _formats(self) -> list[str]:
        return [spec for _, spec in self.columns]

    @property
    def _cells(self) -> list[list[str]]:
        return [[show(cell, spec) for cell, spec in zip(row, self._formats, strict=True)] for row in self.rows]

    def to_text(self) -> str:
        """Write it in columns."""
        lines = [self._names, *self._cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        sides = [">" if spec else "<" for spec in self._formats]
        return "\n".join(
            "   ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)).rstrip()
            for line in lines
        )

    def to_html(self) -> str:
        """Write it as a table that scrolls by itself where it is too wide."""
        classes = [' class="number"' if spec else "" for spec in self._formats]
        head = [
            f'<th scope="col"{style}>{to_html(name)}</th>' for style, name in zip(classes, self._names, strict=True)
        ]
        body = [
            [f"<td{style}>{to_html(cell)}</td>" for style, cell in zip(classes, row, strict=True)]
            for row in self._cells
        ]
        rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in body)
        caption = to_html(self.caption)
        return (
            f'<p class="caption">{caption}</p>\n'
            f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}">\n'
            f"<table>\n<thead><tr>{''.join(head)}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"
        )


@dataclass(frozen=True)
class Section:
    """A title, sentences, tables."""

    title: str
    sentences: tuple[str, ...]
    tables: tuple[TextTable, ...] = ()

    def to_text(self) -> str:
        """Write it with its body indented."""
        body = [textwrap.fill(" ".join(self.sentences), LINE_WIDTH - 2, break_on_hyphens=False)]
        body += [f"{textwrap.fill(table.caption, LINE_WIDTH - 2)}\n{table.to_text()}" for table in self.tables]
        return self.title + "\n" + textwrap.indent("\n\n".join(body), "  ")

    def to_html(self) -> str:
        """Write it under a heading of the third level."""
        said = f"<h3>{to_html(self.title)}</h3>\n<p>{to_html(' '.join(self.sentences))}</p>"
        return "\n".join([said, *(table.to_html() for table in self.tables)])
