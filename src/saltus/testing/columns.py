"""What columns must be: finite, the same each time, of each row alone, about as large as 1, and different."""

from collections.abc import Iterator

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.choosing import FEWEST_ROWS
from saltus.testing.subject import Subject, Term

# Values that differ by less than this share of the largest are the same.
SAME = 1e-9
# A column that varies less than this, relative to its largest value, is constant.
FLAT = 1e-8
# The largest value of most columns should be between these.
SMALLEST, LARGEST = 0.05, 20.0
# How far beyond the rows a term that goes on is looked at, in their range.
BEYOND = 0.5


def same(one: Floats, other: Floats) -> bool:
    """Say whether values are the same but for rounding."""
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME * np.abs(other).max(initial=0.0), equal_nan=True))


def check_shape(subject: Subject) -> Iterator[str]:
    """Check that a column has a value for each row, without an error."""
    for term in subject.terms:
        try:
            column = subject.column(term)
        except Exception as error:
            yield (
                f"{subject.name}.column raised {type(error).__name__}: {error}. It was given {len(term.inputs)} inputs "
                f"and the parameters {term.parameters.tolist()}. It must take any in [0, 1]."
            )
            return
        if column.shape != (len(subject.X),):
            yield (
                f"{subject.name}.column must return one value for each row, shape {(len(subject.X),)}. Got "
                f"{column.shape}. Take columns of X as X[:, i]."
            )
            return


def check_finite(subject: Subject) -> Iterator[str]:
    """Check that columns are finite, where parameters are anywhere and where they are at an end."""
    ends = (term.with_parameter(i, end) for term, i, _ in subject.parameters() for end in (0.0, 1.0))
    for term in (*subject.terms, *ends):
        column = subject.column(term)
        if not np.isfinite(column).all():
            yield (
                f"{subject.name}.column is not finite at {int((~np.isfinite(column)).sum())} of {len(column)} rows "
                f"with the parameters {term.parameters.tolist()}. Such terms are refused. Make it finite for all in "
                f"[0, 1]."
            )
            return


def check_repeatable(subject: Subject) -> Iterator[str]:
    """Check that the same arguments give the same column, and are left as they are."""
    for term in subject.terms:
        arguments = subject.arguments(term)
        before = [each.copy() for each in arguments]
        first = np.array(subject.family.column(*arguments), dtype=np.float64)
        changed = [
            name
            for name, each, was in zip(("X", "parameters", "ranges"), arguments, before, strict=True)
            if not np.array_equal(each, was)
        ]
        if changed:
            yield f"{subject.name}.column changes its argument {changed[0]}. Work on a copy."
            return
        if not np.array_equal(first, subject.column(term), equal_nan=True):
            yield f"{subject.name}.column gives another column when it is called again. Draw nothing at random in it."
            return


def check_rows(subject: Subject) -> Iterator[str]:
    """Check that the value at a row depends on that row alone."""
    order = np.random.default_rng(0).permutation(len(subject.X))
    for term in subject.terms:
        column = subject.column(term)
        parts = {"in another order": order, "without the others": order[: len(order) // 3], "alone": order[:1]}
        for how, rows in parts.items():
            if not same(subject.column(term, subject.X[rows]), column[rows]):
                yield (
                    f"{subject.name}.column has other values for rows that are given {how}. Use no mean, maximum or "
                    f"sum over rows: `ranges` has the range of the data."
                )
                return


def check_size(subject: Subject) -> Iterator[str]:
    """Check that most columns vary, and are about as large as 1."""
    columns = np.stack([subject.column(term) for term in subject.terms])
    largest = np.abs(columns).max(axis=1)
    is_flat = np.ptp(columns, axis=1) <= FLAT * largest
    if is_flat.mean() > 0.5:
        yield (
            f"{subject.name}.column is constant over the rows for {is_flat.mean():.0%} of terms. Let parameters lead "
            f"to terms that vary within `ranges`."
        )
        return
    median = float(np.median(largest))
    if not SMALLEST <= median <= LARGEST:
        yield (
            f"Terms of {subject.name} should be about as large as 1 within the data: their coefficients have a prior "
            f"that says so. Got {median:.3g} for the largest value of a column, in the median. Scale it."
        )
        return
    is_faint = (columns**2).sum(axis=1) < FEWEST_ROWS
    if is_faint.mean() > 0.5:
        yield (
            f"{is_faint.mean():.0%} of the terms of {subject.name} have a sum of squares below 3 over {len(subject.X)} "
            f"rows, and are refused. Make terms wider."
        )


def check_beyond(subject: Subject) -> Iterator[str]:
    """Check that terms which go on beyond the data are finite there."""
    if subject.family.extrapolate != "free":
        return
    low, high = subject.X.min(axis=0), subject.X.max(axis=0)
    beyond = np.stack([low - BEYOND * (high - low), high + BEYOND * (high - low)])
    for term in subject.terms:
        column = subject.column(term, beyond)
        if not np.isfinite(column).all():
            yield (
                f"{subject.name}.column is not finite beyond the range of the data, and extrapolate is 'free'. Got "
                f"{column.tolist()}. Set extrapolate = 'hold', or make it finite there."
            )
            return


def check_effects(subject: Subject) -> Iterator[str]:
    """Check that every parameter and every input changes some column."""
    without_effect: dict[str, bool] = {}
    for term, i, name in subject.parameters():
        column = subject.column(term)
        moved = (subject.column(term.with_parameter(i, value)) for value in (0.1, 0.5, 0.9))
        is_idle = all(same(each, column) for each in moved)
        without_effect[name] = without_effect.get(name, True) and is_idle
    idle = [name for name, is_idle in without_effect.items() if is_idle]
    if idle:
        yield f"The parameter {idle[0]} of {subject.name} changes no column. Leave it out, or use it in column."
    shuffled = np.random.default_rng(1).permutation(len(subject.X))
    for g in subject.sizes:
        own = [term for term in subject.terms if len(term.inputs) == g]
        for i in range(g):
            if all(_ignores(subject, term, i, shuffled) for term in own):
                yield (
                    f"{subject.name}.column does not use input {i + 1} of {g}. Use all columns of X, or lower "
                    f"max_inputs."
                )
                return


def _ignores(subject: Subject, term: Term, i: int, shuffled: Ints) -> bool:
    """Say whether a column is the same with other values of one input."""
    X = subject.X.copy()
    X[:, term.inputs[i]] = X[shuffled, term.inputs[i]]
    return same(subject.column(term, X), subject.column(term))
