"""Moves, tried one at a time."""

import numpy as np

from saltus.families.terms import make_edits
from tests.kernels import propose, terms_of

K_MAX, SPLIT_SCALE, WALK_SCALE = 8, 0.2, 0.1


def apply(parameters, edits, which):
    """Carry an edit out in NumPy."""
    kept = np.delete(parameters, edits.out[which, : edits.n_out[which]], axis=0)
    return np.vstack([kept, edits.incoming[which, : edits.n_in[which]]])


def as_set(parameters):
    """Put terms in an order that does not depend on how they came about."""
    return parameters[np.lexsort(parameters.T)]


def try_move(rng, move, parameters, k_max=K_MAX):
    """Propose: (new parameters, log_green), or None where the move is null."""
    edits, which = make_edits(3, 0, parameters.shape[1]), int(rng.integers(3))
    terms = terms_of(parameters, K_MAX)
    feasible, log_green = propose(rng, move, terms, k_max, SPLIT_SCALE, WALK_SCALE, edits, which)
    np.testing.assert_array_equal(terms.parameters[: len(parameters)], parameters)
    assert terms.k[0] == len(parameters)
    assert not edits.family[which, : edits.n_in[which]].any(), "there is one family, number 0"
    return (apply(parameters, edits, which), log_green) if feasible else None
