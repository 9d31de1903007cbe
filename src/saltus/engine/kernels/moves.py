"""The five moves (docs/mathematics.md), in coordinates where the parameters of a term fill the unit cube.

A move proposes an edit (which terms go out, which come in) and returns (feasible, log_green). log_green is the log of
the proposal ratio times the Jacobian. A move that cannot be made in the present state is a null move: infeasible is
rejected, never redrawn or clamped, so every pair of opposite moves is chosen with equal probability and no correction
is needed at the edges. Moves know no linear algebra. Those of pairs of terms are the families' own.
"""

import numpy as np

from saltus._jit import glue, kernel
from saltus.families.registry import (
    SHARED_MOVES,
    Families,
    draw_informed_term,
    find_useful_inputs,
    has_pairs,
    log_nu_over_q,
    propose_change,
    propose_merge,
    propose_pair_update,
    propose_split,
)
from saltus.families.terms import Edits, Terms, pick

MOVES = ("birth", "death", "split", "merge", "update")
BIRTH, DEATH, SPLIT, MERGE, UPDATE = range(len(MOVES))

# In the counts of a record, moves of shared parameters come after.
ALL_MOVES = (*MOVES, *SHARED_MOVES)

# Half of the moves are births and deaths, as many of each; splits and merges, of which few are accepted, are rare.
BIRTHS_AND_DEATHS = 0.5
SPLITS_AND_MERGES = 0.05

# An update is a fresh draw with this probability, otherwise a random walk; with the next, a pair of terms moves as one.
FRESH_UPDATE_PROBABILITY = 0.25
PAIR_UPDATE_PROBABILITY = 0.25

# The number of no term.
NONE = -1


@glue
def log_nu_over_q_of_incoming(families: Families, n_useful: int, edits: Edits, which: int) -> float:
    """Evaluate ln nu/q of the first incoming term of an edit, given the inputs that other terms use."""
    family, choices, parameters = edits.family[which, 0], edits.choices[which, 0], edits.incoming[which, 0]
    return log_nu_over_q(families, edits.useful[0], n_useful, family, choices, parameters)


@glue
def log_nu_over_q_of(families: Families, terms: Terms, j: int, n_useful: int, edits: Edits) -> float:
    """Evaluate ln nu/q of term j, given the inputs that others use."""
    family, choices, parameters = terms.family[j], terms.choices[j], terms.parameters[j]
    return log_nu_over_q(families, edits.useful[0], n_useful, family, choices, parameters)


@glue
def propose_birth(
    rng: np.random.Generator, families: Families, terms: Terms, k_max: int, edits: Edits, which: int
) -> tuple[bool, float]:
    """Add one term, drawn from q."""
    k = terms.k[0]
    if k == k_max:
        return False, 0.0
    n_useful = find_useful_inputs(families, terms, NONE, edits)
    draw_informed_term(rng, families, n_useful, edits, which)
    edits.n_out[which] = 0
    edits.n_in[which] = 1
    log_selection = -np.log(k + 1.0)  # death picks this one out of k + 1
    return True, log_selection + log_nu_over_q_of_incoming(families, n_useful, edits, which)


@glue
def propose_death(
    rng: np.random.Generator, families: Families, terms: Terms, edits: Edits, which: int
) -> tuple[bool, float]:
    """Remove one term at random."""
    k = terms.k[0]
    if k == 0:
        return False, 0.0
    j = pick(rng, k)
    edits.out[which, 0] = j
    edits.n_out[which] = 1
    edits.n_in[which] = 0
    n_useful = find_useful_inputs(families, terms, j, edits)
    log_selection = np.log(float(k))
    return True, log_selection - log_nu_over_q_of(families, terms, j, n_useful, edits)


@glue
def propose_update(
    rng: np.random.Generator,
    families: Families,
    terms: Terms,
    split_scale: float,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Change one term: a fresh draw, a walk or another change that its family knows; or a pair."""
    k = terms.k[0]
    if k == 0:
        return False, 0.0
    chance = rng.random()
    of_pairs = PAIR_UPDATE_PROBABILITY if has_pairs(families) else 0.0
    if chance < of_pairs:
        return propose_pair_update(rng, families, terms, split_scale, walk_scale, edits, which)
    moved = pick(rng, k)
    edits.out[which, 0] = moved
    edits.n_out[which] = 1
    edits.n_in[which] = 1
    if chance < of_pairs + FRESH_UPDATE_PROBABILITY:
        n_useful = find_useful_inputs(families, terms, moved, edits)
        draw_informed_term(rng, families, n_useful, edits, which)
        log_density = log_nu_over_q_of_incoming(families, n_useful, edits, which)
        log_density -= log_nu_over_q_of(families, terms, moved, n_useful, edits)
        return True, log_density
    return propose_change(rng, families, terms, moved, walk_scale, edits, which)


@glue
def draw_move(rng: np.random.Generator, families: Families) -> int:
    """Draw a move, whatever k: opposite moves are as probable as one another."""
    chance = rng.random()
    if chance < BIRTHS_AND_DEATHS:
        return BIRTH if chance < 0.5 * BIRTHS_AND_DEATHS else DEATH
    chance -= BIRTHS_AND_DEATHS
    if chance < SPLITS_AND_MERGES and has_pairs(families):
        return SPLIT if chance < 0.5 * SPLITS_AND_MERGES else MERGE
    return UPDATE


@kernel
def propose(
    rng: np.random.Generator,
    families: Families,
    move: int,
    terms: Terms,
    k_max: int,
    split_scale: float,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Propose by `move`: fill edits[which], return (feasible, log_green)."""
    if move == BIRTH:
        return propose_birth(rng, families, terms, k_max, edits, which)
    if move == DEATH:
        return propose_death(rng, families, terms, edits, which)
    if move == SPLIT:
        return propose_split(rng, families, terms, k_max, split_scale, edits, which)
    if move == MERGE:
        return propose_merge(rng, families, terms, split_scale, edits, which)
    return propose_update(rng, families, terms, split_scale, walk_scale, edits, which)
