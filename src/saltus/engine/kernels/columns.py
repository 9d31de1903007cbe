"""What edits of terms do to the columns of the design.

The columns of a term follow each other, and those of terms are in the order of the terms. So an edit of terms is one of
columns: those of a term go out together, and those of a new term come in last.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue
from saltus._typing import Floats, Ints
from saltus.families.registry import Families, decode_term, first_column
from saltus.families.terms import Edits, Terms


@by_reference
class ColumnEdits(NamedTuple):
    """Changes of the design, B of them: at most two columns go out, at most two come in."""

    n_out: Ints  # (B,)
    out: Ints  # (B, 2), counted from the first after the fixed ones, the later first
    n_in: Ints  # (B,)
    family: Ints  # (B, 2), that of the term of each column that comes in
    decoded: Floats  # (B, 2, n), the columns that come in, as their families evaluate them


def make_column_edits(n_edits: int, n_decoded: int) -> ColumnEdits:
    """Allocate so many edits."""
    return ColumnEdits(
        n_out=np.zeros(n_edits, dtype=np.int64),
        out=np.zeros((n_edits, 2), dtype=np.int64),
        n_in=np.zeros(n_edits, dtype=np.int64),
        family=np.zeros((n_edits, 2), dtype=np.int64),
        decoded=np.ones((n_edits, 2, n_decoded)),
    )


@glue
def find_columns(families: Families, terms: Terms, edits: Edits, which: int, columns: ColumnEdits) -> None:
    """Set columns[which] to what edits[which] does to the design of the present terms. O(p)."""
    n_in, n_out = 0, 0
    for a in range(edits.n_in[which]):
        family = edits.family[which, a]
        for part in range(families.n_columns[family]):
            columns.family[which, n_in] = family
            decode_term(
                families,
                family,
                edits.choices[which, a],
                edits.incoming[which, a],
                part,
                columns.decoded[which, n_in],
            )
            n_in += 1
    for b in range(edits.n_out[which]):
        term = edits.out[which, b]
        first, n_columns = first_column(families, terms, term), families.n_columns[terms.family[term]]
        for part in range(n_columns):
            columns.out[which, n_out] = first + n_columns - 1 - part
            n_out += 1
    columns.n_in[which] = n_in
    columns.n_out[which] = n_out
