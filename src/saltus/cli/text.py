"""Sentences on a terminal."""

import textwrap
from collections.abc import Iterable

from saltus.inspection.document import LINE_WIDTH


def paragraphs(sentences: Iterable[str]) -> str:
    """Write each sentence on a line of its own, the first flush left, and wrap what is too long."""
    first, *others = sentences
    lines = [textwrap.fill(first, LINE_WIDTH)]
    lines += [
        textwrap.fill(sentence, LINE_WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        for sentence in others
    ]
    return "\n".join(lines)
