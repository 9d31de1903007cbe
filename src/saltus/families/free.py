"""What a descent changes: the continuous parameters of terms, own and shared, as a point within bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from saltus._typing import Floats, Ints
from saltus.families.registry import Families
from saltus.families.terms import TermSet


@dataclass(frozen=True)
class FreeTerms:
    """The part of one family: coordinates of each of its terms, then of what they share."""

    data: Any  # what kernels see of the rows, for parameters scaled like x
    x: list[Floats]  # by terms
    low: list[Floats]
    high: list[Floats]
    decoded: Floats  # (q, n), the columns of the terms as kernels hold them
    unpack: Callable[[list[Floats], Floats], TermSet]  # finds the terms at other coordinates
    shared: Floats  # in use
    x_shared: Floats
    low_shared: Floats
    high_shared: Floats


@dataclass(frozen=True)
class FreeParameters:
    """The part of all families, as a point x: own parameters of the terms in their order, then shared ones."""

    families: Families
    terms: TermSet  # where it starts, of what they share only what is in use
    decoded: Floats  # (q, n), the columns of the terms as kernels hold them
    n_free: Ints  # (k,), coordinates of each term
    n_shared: int
    x: Floats  # (n,)
    low: Floats  # (n,)
    high: Floats  # (n,)
    unpack: Callable[[Floats], TermSet]
