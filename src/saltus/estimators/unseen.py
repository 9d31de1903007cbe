"""What rows to be predicted hold that the training rows did not: levels of categories, and gaps."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from saltus._typing import Floats
from saltus.estimators.notes import ColumnNotes
from saltus.reading import Column, TableReader
from saltus.reading.columns import quote
from saltus.reading.readers import MISSING, CategoryReader

HOW_SURE = "Prediction intervals of such rows are no wider for it, and may be too narrow."


class UnseenValuesWarning(UserWarning):
    """Rows to be predicted have levels that no training row has, or lack values that every training row has."""


def settle_unseen(estimator: Any, inputs: Floats, columns: Sequence[Column]) -> Floats:
    """Put means for gaps that are new, and warn once of all that is new; for what `predict` and its like call.

    Rows are given as the model reads them, (N, d), and as the columns they came in; () where columns are inputs.
    """
    said = list(describe_unseen(estimator, inputs, columns))
    if said:
        warnings.warn(" ".join(said), UnseenValuesWarning, stacklevel=4)  # the line that called the method
    is_gap = np.isnan(inputs)
    return np.where(is_gap, means_for_new_gaps(estimator.data_notes_.inputs), inputs) if is_gap.any() else inputs


def means_for_new_gaps(notes: ColumnNotes) -> Floats:
    """Find what a gap counts as, (d,): the mean of an input without gaps in the training rows; NaN for others.

    Terms know what to do at gaps that they were fitted with; at others they would do anything.
    """
    return np.where(notes.missing == 0, notes.mean, np.nan)


def describe_unseen(estimator: Any, inputs: Floats, columns: Sequence[Column]) -> Iterator[str]:
    """Say which levels and gaps are new, and what such rows count as."""
    reader: TableReader = estimator._reader
    for name, (n, levels, stand_in) in reader.unseen(columns).items() if columns else ():
        shown = ", ".join(map(quote, levels))
        yield (
            f"The column {name!r} has levels in {_rows(n)} that no training row has, such as {shown}: these rows count "
            f"as {stand_in!r}."
        )
    gaps = list(_describe_gaps(reader, estimator.data_notes_.inputs, inputs, columns))
    yield from gaps
    if gaps and estimator._gives_intervals:
        yield HOW_SURE


def _describe_gaps(reader: TableReader, notes: ColumnNotes, inputs: Floats, columns: Sequence[Column]) -> Iterator[str]:
    is_gap = np.isnan(inputs)
    is_new = is_gap.any(axis=0) & (notes.missing == 0)
    for each, places in zip(reader.readers, reader.places, strict=True):
        if isinstance(each, CategoryReader):
            n_missing = int(columns[each.column].is_missing.sum()) if MISSING not in each.labels else 0
            stand_in = repr(each.labels[each.missing])
        else:
            n_missing = int(is_gap[:, places[0]].sum()) if is_new[places[0]] and each.name not in reader.left_out else 0
            mean = notes.mean[places[0]]
            stand_in = f"{mean:.4g}, its mean" if len(places) == 1 else "the mean of the training dates"
        if n_missing:
            yield (
                f"The column {each.name!r} has no value in {_rows(n_missing)}, and every training row has one: these "
                f"rows count as {stand_in}."
            )


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"
