"""What a chain is made of: where it is, what it works with, what it has seen."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus._jit import by_reference
from saltus._typing import Floats, Ints
from saltus.engine.kernels.columns import ColumnEdits, make_column_edits
from saltus.engine.kernels.factor import (
    Factor,
    Products,
    Scratch,
    copy_factor,
    make_factor,
    make_products,
    make_scratch,
    no_factor,
)
from saltus.engine.kernels.moves import ALL_MOVES
from saltus.engine.kernels.target import log_density
from saltus.engine.problem.problem import Problem
from saltus.families.terms import Edits, Terms, copy_of_terms, make_edits, make_terms, terms_as_value

CHOSEN, FEASIBLE, ACCEPTED = range(3)

# Steps between moves of shared parameters where there are none.
NEVER = 2**62

# Factors of more bytes than this do not stay in the caches from one pass to the next: in a core's own, in the one
# that cores share. Then several proposals are drawn from one state and scored in one pass; those after the first
# acceptance are discarded unseen, so that it is the same chain in law.
# Microseconds an iteration at k = 12 with 1, 4, 8, 16, 32 proposals a pass:
#   N =   2 000:    4.0    3.9    4.3    4.6    5.8
#   N =  20 000:     42     39     41     44     50
#   N = 200 000:   1160    610    570    410    420
# Where memory is the limit, 32 varied least from run to run (340 to 420, against 380 to 580 with 16).
CACHE_BYTES = (700_000, 16_000_000)
PROPOSALS_A_PASS = (1, 4, 32)


@by_reference
class Tuning(NamedTuple):
    """How the chain moves and accepts."""

    split_scale: float
    walk_scale: float
    two_stage: bool
    steps_between_shared_moves: int = NEVER
    counts_orders: bool = False  # whether pi is that of a list of terms, so that a set of k counts k! times


@by_reference
class State(NamedTuple):
    """Where the chain is: all that is carried from one step to the next. Mutated by a step."""

    terms: Terms
    n_columns: Ints  # (1,), of all terms
    n_own: Ints  # (1,), parameters of all terms, their coefficients and what they share aside
    log_posterior: Floats  # (1,)
    factor: Factor


@by_reference
class Drawn(NamedTuple):
    """The steps drawn from one state, in their order."""

    n_edits: Ints  # (1,), how many of them are not null moves
    move: Ints  # (S,)
    edit: Ints  # (S,), the number of the step's edit, or -1 for a null move
    log_green: Floats  # (S,)
    log_uniform: Floats  # (S, 2)


@by_reference
class Workspace(NamedTuple):
    """What a step works with, and forgets. B proposals are drawn at a time."""

    edits: Edits
    drawn: Drawn
    columns: ColumnEdits  # what the edits do to the design
    products: Products
    scratch: Scratch
    spare: Factor  # of the design under proposed shared parameters
    proposed_shared: Floats  # (s,)


@by_reference
class Record(NamedTuple):
    """What the chain has seen. Mutated by a step."""

    best: Terms
    best_log_posterior: Floats  # (1,)
    best_iteration: Ints  # (1,), iterations done when it was reached
    best_by_k: Floats  # (k_max + 1,)
    counts: Ints  # (len(ALL_MOVES), 3): chosen, feasible, accepted
    trace_k: NDArray[np.int32]  # (n_trace,)
    trace_log_posterior: Floats  # (n_trace,)


def start_state(problem: Problem, Q_fixed: Floats, Y: Floats, shared: Floats) -> State:
    """Build the state without terms, for shared parameters (s,)."""
    k_max = problem.k_max
    factor = make_factor(Q_fixed, Y, Q_fixed.shape[1] + k_max * problem.families.most_columns)
    terms = make_terms(k_max, problem.families.n_choices, problem.families.n_parameters, shared)
    log_posterior = log_density(problem, factor.rss, terms_as_value(terms))
    return State(terms, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.array([log_posterior]), factor)


def make_workspace(problem: Problem, state: State, n_edits: int | None = None) -> Workspace:
    """Allocate the workspace of a chain. `n_edits` is the number of proposals a pass."""
    factor, shared, families = state.factor, state.terms.shared, problem.families
    if n_edits is None:
        # By the sum of the weights, so that a weight of 2 gives the chain of the row twice.
        n_bytes = 8 * problem.n_total * factor.tiles.shape[1]
        n_edits = PROPOSALS_A_PASS[int(np.searchsorted(CACHE_BYTES, n_bytes))]
    n_steps = 1 if n_edits == 1 else 2 * n_edits
    return Workspace(
        edits=make_edits(n_edits, families.n_choices, families.n_parameters, families.n_inputs),
        drawn=Drawn(
            np.zeros(1, dtype=np.int64),
            np.zeros(n_steps, dtype=np.int64),
            np.zeros(n_steps, dtype=np.int64),
            np.zeros(n_steps),
            np.zeros((n_steps, 2)),
        ),
        columns=make_column_edits(n_edits, families.n_decoded),
        products=make_products(factor, n_edits),
        scratch=make_scratch(factor),
        spare=copy_factor(factor) if problem.moves_shared else no_factor(),
        proposed_shared=np.ones_like(shared),
    )


def start_record(state: State, n_trace: int) -> Record:
    """Allocate a record that begins with the present state as the best."""
    k_max = len(state.terms.parameters)
    best_by_k = np.full(k_max + 1, -np.inf)
    best_by_k[state.terms.k[0]] = state.log_posterior[0]
    return Record(
        best=copy_of_terms(state.terms),
        best_log_posterior=state.log_posterior.copy(),
        best_iteration=np.zeros(1, dtype=np.int64),
        best_by_k=best_by_k,
        counts=np.zeros((len(ALL_MOVES), 3), dtype=np.int64),
        trace_k=np.zeros(n_trace, dtype=np.int32),
        trace_log_posterior=np.zeros(n_trace),
    )
