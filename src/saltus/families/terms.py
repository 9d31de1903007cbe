"""Terms of a network, as chains hold them, and edits of them.

A term is a number of its family and parameters in [0, 1], whatever these mean to the family. Some parameters are shared
by all terms of a family. Nothing here knows what a term looks like.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue
from saltus._typing import Floats, Ints

# The walk's standard deviation is walk_scale times one of 1, 1/4, 1/16. A fourth, 1/64, is accepted so often that
# its commits cost more than they find.
N_WALK_SCALES = 3
WALK_SCALE_RATIO = 0.25


@by_reference
class Terms(NamedTuple):
    """The terms of a network. Mutated by the edits that a chain accepts."""

    k: Ints  # (1,), how many of the rows below are in use
    family: Ints  # (k_max,), numbers of families in the registry
    parameters: Floats  # (k_max, p), in the unit cube
    shared: Floats  # (s,), the parameters that terms share


@by_reference
class Edits(NamedTuple):
    """Proposed changes, B of them: at most two terms go out, at most two come in. One is filled in place by a move."""

    n_out: Ints  # (B,)
    out: Ints  # (B, 2), which terms go out, the later first
    n_in: Ints  # (B,)
    family: Ints  # (B, 2), of the terms that come in
    incoming: Floats  # (B, 2, p), their parameters


def make_terms(k_max: int, n_parameters: int, shared: Floats) -> Terms:
    """Allocate room for k_max terms; there are none."""
    return Terms(
        k=np.zeros(1, dtype=np.int64),
        family=np.zeros(k_max, dtype=np.int64),
        parameters=np.zeros((k_max, n_parameters)),
        shared=shared.copy(),
    )


def copy_of_terms(terms: Terms) -> Terms:
    """Copy terms, with room for as many."""
    return Terms(terms.k.copy(), terms.family.copy(), terms.parameters.copy(), terms.shared.copy())


def make_edits(n_edits: int, n_parameters: int) -> Edits:
    """Allocate so many edits."""
    return Edits(
        n_out=np.zeros(n_edits, dtype=np.int64),
        out=np.zeros((n_edits, 2), dtype=np.int64),
        n_in=np.zeros(n_edits, dtype=np.int64),
        family=np.zeros((n_edits, 2), dtype=np.int64),
        incoming=np.zeros((n_edits, 2, n_parameters)),
    )


@glue
def pick(rng: np.random.Generator, k: int) -> int:
    """Draw one of 0..k-1 at random."""
    return min(int(rng.random() * k), k - 1)


@glue
def draw_walk_scale(rng: np.random.Generator, walk_scale: float) -> float:
    """Draw one of the walk's standard deviations."""
    scale = walk_scale
    for _ in range(pick(rng, N_WALK_SCALES)):
        scale *= WALK_SCALE_RATIO
    return scale


@glue
def copy_terms(source: Terms, to: Terms) -> None:
    """Copy terms and shared parameters. O(k p)."""
    k = source.k[0]
    to.k[0] = k
    for j in range(k):
        to.family[j] = source.family[j]
        for i in range(source.parameters.shape[1]):
            to.parameters[j, i] = source.parameters[j, i]
    for i in range(source.shared.size):
        to.shared[i] = source.shared[i]


@glue
def edit_terms(terms: Terms, edits: Edits, which: int) -> None:
    """Carry an edit out, in the order in which `commit` treats the columns. O(k p)."""
    family, parameters = terms.family, terms.parameters
    k, p = terms.k[0], parameters.shape[1]
    for a in range(edits.n_out[which]):
        for j in range(edits.out[which, a], k - 1):
            family[j] = family[j + 1]
            for i in range(p):
                parameters[j, i] = parameters[j + 1, i]
        k -= 1
    for a in range(edits.n_in[which]):
        family[k] = edits.family[which, a]
        for i in range(p):
            parameters[k, i] = edits.incoming[which, a, i]
        k += 1
    terms.k[0] = k
