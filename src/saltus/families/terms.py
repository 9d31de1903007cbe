"""Terms of a network: as a value, as chains hold them, and edits of them.

A term is the number of its family, discrete choices, and parameters in [0, 1], whatever these mean to the family. Some
parameters are shared by all terms of a family. Nothing here knows what a term looks like.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from saltus._jit import by_reference, glue
from saltus._typing import Bools, Floats, Ints
from saltus._vectors import clear

# The walk's standard deviation is walk_scale times one of 1, 1/4, 1/16. A fourth, 1/64, is accepted so often that
# its commits cost more than they find.
N_WALK_SCALES = 3
WALK_SCALE_RATIO = 0.25


@dataclass(frozen=True)
class TermSet:
    """The terms of a network, as a value. Where families ask for fewer choices or parameters than others, 0 follows."""

    family: Annotated[Ints, "k"]  # numbers of families
    choices: Annotated[Ints, "kh"]  # discrete
    parameters: Annotated[Floats, "kp"]  # in the unit cube
    shared: Annotated[Floats, "s"]  # the parameters that terms share

    def __len__(self) -> int:
        return len(self.family)

    def take(self, which: "Ints | Bools | slice") -> "TermSet":
        """Take some of the terms; what they share stays."""
        return TermSet(self.family[which], self.choices[which], self.parameters[which], self.shared)

    def without(self, which: "Ints | int") -> "TermSet":
        """Leave some of the terms out."""
        return self.take(np.delete(np.arange(len(self)), which))

    def followed_by(self, others: "TermSet") -> "TermSet":
        """Append terms; what they share is what these share."""
        return join_terms([self, others])

    def with_parameters(self, parameters: Floats) -> "TermSet":
        """Exchange the parameters (k, p)."""
        return replace(self, parameters=parameters)

    def with_shared(self, shared: Floats) -> "TermSet":
        """Exchange what the terms share."""
        return replace(self, shared=shared)


def are_distinct(inputs: Ints, size: Ints) -> bool:
    """Say whether terms, (k, G) inputs of which the first size (k,) are in use, have none of these twice."""
    unused = -1 - np.arange(inputs.shape[1])
    known = np.sort(np.where(np.arange(inputs.shape[1]) < size[:, None], inputs, unused), axis=1)
    return bool((np.diff(known, axis=1) > 0).all())


def join_terms(parts: Sequence[TermSet]) -> TermSet:
    """Join terms that share the same, at least as far as the first does."""
    return TermSet(
        np.concatenate([part.family for part in parts]),
        np.concatenate([part.choices for part in parts]),
        np.concatenate([part.parameters for part in parts]),
        parts[0].shared,
    )


@by_reference
class Terms(NamedTuple):
    """The terms of a network, as chains hold them. Mutated by the edits that a chain accepts."""

    k: Ints  # (1,), how many of the rows below are in use
    family: Ints  # (k_max,), numbers of families
    choices: Ints  # (k_max, h), discrete
    parameters: Floats  # (k_max, p), in the unit cube
    shared: Floats  # (s,), the parameters that terms share


@by_reference
class Edits(NamedTuple):
    """Proposed changes, B of them: at most two terms go out, at most two come in. One is filled in place by a move."""

    n_out: Ints  # (B,)
    out: Ints  # (B, 2), which terms go out, the later first
    n_in: Ints  # (B,)
    family: Ints  # (B, 2), of the terms that come in
    choices: Ints  # (B, 2, h), their choices
    incoming: Floats  # (B, 2, p), their parameters
    useful: Ints  # (2, v), whether other terms use each input, and the numbers of those: see `useful`


def make_terms(k_max: int, n_choices: int, n_parameters: int, shared: Floats) -> Terms:
    """Allocate room for k_max terms; there are none."""
    return Terms(
        k=np.zeros(1, dtype=np.int64),
        family=np.zeros(k_max, dtype=np.int64),
        choices=np.zeros((k_max, n_choices), dtype=np.int64),
        parameters=np.zeros((k_max, n_parameters)),
        shared=shared.copy(),
    )


def copy_of_terms(terms: Terms) -> Terms:
    """Copy terms, with room for as many."""
    k, family, choices, parameters, shared = terms
    return Terms(k.copy(), family.copy(), choices.copy(), parameters.copy(), shared.copy())


def terms_as_value(terms: Terms) -> TermSet:
    """Copy the terms in use."""
    k = terms.k[0]
    return TermSet(terms.family[:k].copy(), terms.choices[:k].copy(), terms.parameters[:k].copy(), terms.shared.copy())


def put_terms(value: TermSet, to: Terms) -> None:
    """Make a value the terms of a chain. Mutates them."""
    k = len(value)
    to.k[0] = k
    to.family[:k], to.choices[:k], to.parameters[:k] = value.family, value.choices, value.parameters
    to.shared[:] = value.shared


def make_edits(n_edits: int, n_choices: int, n_parameters: int, n_inputs: int = 0) -> Edits:
    """Allocate so many edits, of terms that choose among so many inputs."""
    return Edits(
        n_out=np.zeros(n_edits, dtype=np.int64),
        out=np.zeros((n_edits, 2), dtype=np.int64),
        n_in=np.zeros(n_edits, dtype=np.int64),
        family=np.zeros((n_edits, 2), dtype=np.int64),
        choices=np.zeros((n_edits, 2, n_choices), dtype=np.int64),
        incoming=np.zeros((n_edits, 2, n_parameters)),
        useful=np.zeros((2, n_inputs), dtype=np.int64),
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
def keep_term(terms: Terms, j: int, edits: Edits, which: int, a: int) -> None:
    """Make incoming term a of an edit a copy of term j, for a move to change. O(p)."""
    edits.family[which, a] = terms.family[j]
    for i in range(edits.choices.shape[2]):
        edits.choices[which, a, i] = terms.choices[j, i]
    for i in range(edits.incoming.shape[2]):
        edits.incoming[which, a, i] = terms.parameters[j, i]


@glue
def begin_incoming(edits: Edits, which: int) -> tuple[Ints, Floats]:
    """Empty the first incoming term of an edit; return its choices and its parameters, to be filled."""
    choices, parameters = edits.choices[which, 0], edits.incoming[which, 0]
    for i in range(choices.size):
        choices[i] = 0
    clear(parameters)
    return choices, parameters


@glue
def copy_edit(source: Edits, number: int, to: Edits, which: int) -> None:
    """Copy an edit that brings in one term. O(p)."""
    to.n_out[which] = source.n_out[number]
    to.n_in[which] = source.n_in[number]
    to.family[which, 0] = source.family[number, 0]
    for i in range(source.choices.shape[2]):
        to.choices[which, 0, i] = source.choices[number, 0, i]
    for i in range(source.incoming.shape[2]):
        to.incoming[which, 0, i] = source.incoming[number, 0, i]


@glue
def copy_terms(source: Terms, to: Terms) -> None:
    """Copy terms and shared parameters. O(k p)."""
    k = source.k[0]
    to.k[0] = k
    for j in range(k):
        to.family[j] = source.family[j]
        for i in range(source.choices.shape[1]):
            to.choices[j, i] = source.choices[j, i]
        for i in range(source.parameters.shape[1]):
            to.parameters[j, i] = source.parameters[j, i]
    for i in range(source.shared.size):
        to.shared[i] = source.shared[i]


@glue
def edit_terms(terms: Terms, edits: Edits, which: int) -> None:
    """Carry an edit out, in the order in which `commit` treats the columns. O(k p)."""
    family, choices, parameters = terms.family, terms.choices, terms.parameters
    k, h, p = terms.k[0], choices.shape[1], parameters.shape[1]
    for a in range(edits.n_out[which]):
        for j in range(edits.out[which, a], k - 1):
            family[j] = family[j + 1]
            for i in range(h):
                choices[j, i] = choices[j + 1, i]
            for i in range(p):
                parameters[j, i] = parameters[j + 1, i]
        k -= 1
    for a in range(edits.n_in[which]):
        family[k] = edits.family[which, a]
        for i in range(h):
            choices[k, i] = edits.choices[which, a, i]
        for i in range(p):
            parameters[k, i] = edits.incoming[which, a, i]
        k += 1
    terms.k[0] = k
