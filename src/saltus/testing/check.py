"""Whether a family that a user wrote keeps what it promises."""

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from saltus._typing import Floats
from saltus.families.user.family import UserFamily
from saltus.families.user.layout import check_layout
from saltus.testing.columns import (
    check_beyond,
    check_effects,
    check_finite,
    check_repeatable,
    check_rows,
    check_shape,
    check_size,
)
from saltus.testing.models import check_model
from saltus.testing.slopes import check_derivatives, check_periodic, find_jumps
from saltus.testing.subject import Subject
from saltus.testing.values import check_counts, check_value, check_words

# Rows that a family is looked at by default: so many, of one input more than a term has at most.
N_ROWS = 150
# Fewer rows than this say little.
FEWEST = 20

# Those of a group need what those before have found to be well.
GROUPS: tuple[tuple[Callable[[Subject], Iterator[str]], ...], ...] = (
    (check_value, check_shape),
    (check_finite, check_repeatable),
    (check_rows, check_size),
    (check_beyond, check_effects, check_periodic, check_derivatives, check_counts, check_words),
)


class FamilyError(AssertionError):
    """A family of the user breaks a rule. `problems` lists what `check_family` found."""

    def __init__(self, name: str, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__(f"{name} has {len(problems)} problem(s):\n" + "\n".join(f"- {each}" for each in problems))


def check_family(family: UserFamily, X: ArrayLike | None = None, *, fit: bool = True, random_state: int = 0) -> None:
    """Check that a family which you wrote keeps the rules; raise an error that says what is wrong, and what to do.

    Columns must be finite, equal each time, functions of each row alone, and about as large as 1; derivatives must be
    those of the columns; a periodic parameter must give the same column at 0 and at 1; equal options must make equal
    families; and it must be possible to fit, describe and save a small model. A warning says so if columns jump in a
    parameter that is not in `not_smooth`. The moves of chains belong to the library, and need no check.

    Parameters
    ----------
    family : UserFamily
        An object of your family, with the options that you mean to use.
    X : array-like of shape (n_samples, n_features), default=None
        Rows like those that you have, if the family is not defined between 0 and 1, or is meant for other units.
    fit : bool, default=True
        Whether to fit a small model; the first takes some seconds, to compile.
    random_state : int, default=0
        Seed of the random terms that are checked.

    Raises
    ------
    FamilyError
        An AssertionError, which lists all problems.

    Examples
    --------
    >>> import numpy as np
    >>> from saltus import UserFamily
    >>> from saltus.testing import check_family
    >>> class Largest(UserFamily):
    ...     '''The input, over its largest value.'''
    ...
    ...     def column(self, X, parameters, ranges):
    ...         return X[:, 0] / X[:, 0].max()
    >>> try:
    ...     check_family(Largest())
    ... except AssertionError as error:
    ...     print(error.problems[0][:62])
    Largest.column has other values for rows that are given alone.
    """
    if not isinstance(family, UserFamily):
        raise TypeError(f"check_family takes an object of a subclass of UserFamily, as MyFamily() is. Got {family!r}.")
    name = type(family).__name__
    try:
        check_layout(family)
    except ValueError as error:
        raise FamilyError(name, (str(error),)) from None
    rng = np.random.default_rng(random_state)
    subject = Subject.of(rng, family, _rows(rng, family, X))
    for group in GROUPS:
        _raise_if_any(name, tuple(problem for check in group for problem in check(subject)))
    for jump in find_jumps(subject):
        warnings.warn(jump, stacklevel=2)
    if fit:
        _raise_if_any(name, tuple(check_model(subject)))


def _rows(rng: np.random.Generator, family: UserFamily, X: ArrayLike | None) -> Floats:
    if X is None:
        return rng.random((N_ROWS, int(family.max_inputs) + 1))
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < FEWEST or not (np.ptp(rows, axis=0) > 0).all() or not np.isfinite(rows).all():
        raise ValueError(
            f"X must have at least {FEWEST} rows of finite numbers, and inputs that vary. Got the shape {rows.shape}. "
            f"Take some rows of your data."
        )
    return rows


def _raise_if_any(name: str, problems: tuple[str, ...]) -> None:
    if problems:
        raise FamilyError(name, problems)
