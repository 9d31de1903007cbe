"""Terms are copied and edited as NumPy would do it."""

import numpy as np
import pytest

from saltus.families.terms import copy_of_terms, make_edits, make_terms
from tests.kernels import copy_terms, edit_terms, terms_of

K_MAX, H, P = 7, 2, 3


def random_terms(rng, k):
    terms = terms_of(rng.random((k, P)), K_MAX, shared=rng.random(2), n_choices=H)
    terms.family[:k] = rng.integers(0, 5, k)
    terms.choices[:k] = rng.integers(0, 9, (k, H))
    return terms


def same(one, other):
    """Whether the terms in use, and what they share, are alike."""
    k = one.k[0]
    return (
        other.k[0] == k
        and np.array_equal(one.family[:k], other.family[:k])
        and np.array_equal(one.choices[:k], other.choices[:k])
        and np.array_equal(one.parameters[:k], other.parameters[:k])
        and np.array_equal(one.shared, other.shared)
    )


def test_there_are_no_terms_at_first():
    terms = make_terms(K_MAX, H, P, np.array([0.5, 2.0]))
    assert terms.k[0] == 0
    assert terms.choices.shape == (K_MAX, H)
    assert terms.parameters.shape == (K_MAX, P)
    np.testing.assert_array_equal(terms.shared, [0.5, 2.0])


@pytest.mark.parametrize("k", [0, 1, K_MAX])
def test_a_copy_is_the_same_and_its_own(rng, k):
    source, to = random_terms(rng, k), random_terms(rng, 4)
    beyond = to.parameters[k:].copy()
    copy_terms(source, to)
    assert same(source, to)
    np.testing.assert_array_equal(to.parameters[k:], beyond)
    copy = copy_of_terms(source)
    assert same(source, copy)
    for one, other in zip(copy, source, strict=True):
        assert not np.shares_memory(one, other)


def test_edits_are_carried_out_as_numpy_would(rng):
    kinds = set()
    for _ in range(500):
        k = int(rng.integers(0, K_MAX + 1))
        n_out = int(rng.integers(0, min(k, 2) + 1))
        n_in = int(rng.integers(0, min(2, K_MAX - k + n_out) + 1))
        terms, edits, which = random_terms(rng, k), make_edits(3, H, P), int(rng.integers(3))
        out = np.sort(rng.choice(k, n_out, replace=False))[::-1] if n_out else np.empty(0, dtype=int)
        edits.n_out[which], edits.n_in[which] = n_out, n_in
        edits.out[which, :n_out] = out
        edits.family[which] = rng.integers(0, 5, 2)
        edits.choices[which] = rng.integers(0, 9, (2, H))
        edits.incoming[which] = rng.random((2, P))
        parameters = np.vstack([np.delete(terms.parameters[:k], out, axis=0), edits.incoming[which, :n_in]])
        choices = np.vstack([np.delete(terms.choices[:k], out, axis=0), edits.choices[which, :n_in]])
        family = np.concatenate([np.delete(terms.family[:k], out), edits.family[which, :n_in]])
        shared = terms.shared.copy()
        edit_terms(terms, edits, which)
        assert terms.k[0] == k - n_out + n_in
        np.testing.assert_array_equal(terms.parameters[: terms.k[0]], parameters)
        np.testing.assert_array_equal(terms.choices[: terms.k[0]], choices)
        np.testing.assert_array_equal(terms.family[: terms.k[0]], family)
        np.testing.assert_array_equal(terms.shared, shared)
        kinds.add((n_out, n_in))
    assert len(kinds) == 9, "every kind of edit, from 0 out and 0 in to 2 and 2, must have come up"
