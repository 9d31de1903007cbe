"""How columns depend on parameters: without jumps, periodic where that is said, with the derivatives that are given."""

from collections.abc import Iterator

import numpy as np

from saltus.families.user.differences import central_differences
from saltus.families.user.family import UserFamily
from saltus.testing.columns import same
from saltus.testing.subject import Subject, Term

# Places along a parameter where columns are compared, and how often the interval of the largest change is halved.
N_PLACES, N_HALVINGS = 60, 30
# What is left of a change, as a share of the largest value, is a jump.
SMALLEST_JUMP = 1e-3
# Derivatives may be off by this share of the largest, but at a kink, of which so many of the rows may be near one.
OFF, SHARE_AT_KINKS = 1e-4, 0.05


def check_periodic(subject: Subject) -> Iterator[str]:
    """Check that a periodic parameter has the same column at 0 and at 1."""
    for term, i, name in subject.parameters("periodic"):
        at_0, at_1 = (subject.column(term.with_parameter(i, end)) for end in (0.0, 1.0))
        if not same(at_0, at_1):
            yield (
                f"The parameter {name} of {subject.name} is called periodic, and columns at 0 and at 1 differ by "
                f"{np.abs(at_0 - at_1).max():.3g}. Make 1 a whole turn, or leave it out of periodic."
            )
            return


def check_derivatives(subject: Subject) -> Iterator[str]:
    """Check derivatives that are given against central differences."""
    family, name = subject.family, subject.name
    if type(family).derivatives is UserFamily.derivatives:
        return
    for term in subject.terms:
        arguments = subject.arguments(term)
        given = np.asarray(family.derivatives(*subject.arguments(term)), dtype=np.float64)
        expected = central_differences(family, *arguments)
        if given.shape != expected.shape:
            yield (
                f"{name}.derivatives must return a column for each parameter, shape {expected.shape}. Got "
                f"{given.shape}. Stack them with np.column_stack."
            )
            return
        for i in np.flatnonzero(subject.layout.is_smooth(len(term.inputs))):
            off = ~(np.abs(given[:, i] - expected[:, i]) <= OFF * max(np.abs(expected).max(), OFF))
            if off.mean() > SHARE_AT_KINKS:
                at = int(np.flatnonzero(off)[0])
                yield (
                    f"{name}.derivatives by {subject.layout.names(len(term.inputs))[i]} disagree with differences of "
                    f"columns at {off.mean():.0%} of rows. Got {given[at, i]:.6g} where the difference is "
                    f"{expected[at, i]:.6g}. Correct the formula, or leave derivatives out."
                )
                return


def find_jumps(subject: Subject) -> Iterator[str]:
    """Look for parameters in which columns jump, and that are not said to."""
    seen = set()
    for term, i, name in subject.parameters("smooth"):
        place = _jump(subject, term, i)
        if place is not None and name not in seen:
            seen.add(name)
            yield (
                f"Columns of {subject.name} jump as the parameter {name} passes {place:.4g}. Descents cannot see a "
                f"jump: add {name} to not_smooth, or make columns continuous in it."
            )


def _jump(subject: Subject, term: Term, i: int) -> float | None:
    """Find a place along a parameter where a column jumps at some row: by halving where it changes most."""
    places = np.linspace(0.0, 1.0, N_PLACES)
    columns = np.stack([subject.column(term.with_parameter(i, place)) for place in places])
    changes = np.abs(np.diff(columns, axis=0))
    scale = np.abs(columns).max()
    interval, row = np.unravel_index(int(changes.argmax()), changes.shape)
    low, high = places[interval], places[interval + 1]
    at_low, at_high = columns[interval, row], columns[interval + 1, row]
    for _ in range(N_HALVINGS):
        middle = 0.5 * (low + high)
        value = subject.column(term.with_parameter(i, middle))[row]
        if abs(value - at_low) > abs(at_high - value):
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    return float(low) if abs(at_high - at_low) > SMALLEST_JUMP * scale else None
