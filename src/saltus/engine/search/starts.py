"""Putting a chain's state somewhere, and taking networks from where it is."""

from collections.abc import Callable, Sequence

import numpy as np

from saltus._typing import Bools, Floats
from saltus.engine.kernels.factor import independent_columns, refactor
from saltus.engine.kernels.state import Record, State
from saltus.engine.kernels.target import log_density
from saltus.engine.problem.design import Design
from saltus.engine.problem.problem import Problem
from saltus.engine.results.chains import BestState
from saltus.engine.results.network import Network, network_from_factor
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.pruning import GoOn, coarse_to_fine
from saltus.families.registry import count_columns, count_terms, owners_of_columns
from saltus.families.terms import TermSet, put_terms, terms_as_value

# A random start has at most this many terms.
MOST_STARTING_TERMS = 20
# They are placed by so many rows, drawn at random where there are more.
MOST_ROWS_TO_START = 20_000


def set_terms(design: Design, state: State, terms: TermSet) -> None:
    """Make terms the state, factored from scratch. Mutates the state. O(N m^2)."""
    _place(design, state, terms, design.columns(terms))


def _place(design: Design, state: State, terms: TermSet, columns: Floats) -> None:
    refactor(state.factor, design.linear.Q, design.Y, columns)
    put_terms(terms, state.terms)
    state.n_columns[0] = count_columns(design.problem.families, terms)
    state.n_own[0] = count_terms(design.problem.families, terms)
    state.log_posterior[0] = log_density(design.problem, state.factor.rss, terms)


def set_independent_terms(design: Design, state: State, terms: TermSet) -> None:
    """Do the same, leaving out terms whose columns are in the span of those before them, or faint."""
    problem = design.problem
    while True:
        columns = design.columns(terms)
        squared, seen = (columns**2).sum(axis=0), are_seen(problem, terms, columns)
        _place(design, state, terms, columns)  # which overwrites the columns
        kept = seen & independent_columns(state.factor, problem.m_fixed, squared)
        if kept.all():
            return
        terms = terms.without(owners_of_columns(problem.families, terms)[~kept])


def are_seen(problem: Problem, terms: TermSet, columns: Floats) -> Bools:
    """Say which columns (q,) of terms some rows see, and not all but a few alike: see `is_faint`."""
    families, squared = problem.families, (columns**2).sum(axis=0)
    complement = problem.n_total - 2.0 * np.abs(problem.root_weight.ravel() @ columns) + squared
    family = terms.family[owners_of_columns(families, terms)]
    smallest, rest = families.smallest_squared_norm[family], families.smallest_complement[family]
    return (squared >= smallest) & (complement >= rest)


def present_state(design: Design, state: State, iteration: int) -> BestState:
    """Copy the present state, coefficients included."""
    return BestState(
        network=present_network(design, state),
        variant=design.variant,
        rss=state.factor.rss * design.outputs.scale**2,
        log_posterior=float(state.log_posterior[0]) + design.log_posterior_shift,
        iteration=iteration,
    )


def present_network(design: Design, state: State) -> Network:
    """Solve for the coefficients of the present state."""
    return network_from_factor(design, terms_as_value(state.terms), state.factor)


def starting_terms(rng: np.random.Generator, design: Design, *, many: bool) -> TermSet:
    """Draw random terms: a random number, or many to descend from."""
    most = min(design.k_max, MOST_STARTING_TERMS)
    if not many:
        return design.mixture.draw(rng, int(rng.integers(0, most, endpoint=True)))
    rows = design.rows
    if rows.size > MOST_ROWS_TO_START:
        rows = rng.choice(rows, MOST_ROWS_TO_START, replace=False)
    weight = design.problem.root_weight.ravel()[rows] ** 2
    return design.mixture.search.draw_start(rng, design.problem.families, rows, weight, most)


def count_starts(design: Design) -> int:
    """Choose from how many random starts to descend; the best is where the chain starts.

    With many inputs a descent may switch off one of two that matter only together, and an annealed chain does not find
    the pair again. On Friedman 1 with 1 000 rows and 30 inputs, seeds 3-10, 9 of 32 chains end without x1 and x2 after
    one descent each, 3 after the best of two, none after the best of three.
    """
    return min(1 + design.mixture.n_switches // 5, 3)


def descend_from_starts(
    rng: np.random.Generator,
    design: Design,
    finest: Landscape,
    starts: Sequence[TermSet],
    descend: Callable[[Landscape, TermSet], Candidate],
    go_on: GoOn,
) -> Candidate:
    """Descend from each of some starts with few of the rows; from where the best ends, with more and more."""
    landscapes = coarse_to_fine(rng, design, finest)
    first = next(landscapes)
    found = max((descend(first, start) for start in starts), key=lambda end: end.log_posterior)
    for landscape in landscapes:
        if not go_on():
            break
        found = descend(landscape, found.terms)
    return found


def note_improvement(state: State, record: Record, n_done: int) -> None:
    """Enter a state that was not reached by the chain itself. Mutates the record."""
    k, value = int(state.terms.k[0]), float(state.log_posterior[0])
    record.best_by_k[k] = max(record.best_by_k[k], value)
    if value > record.best_log_posterior[0]:
        record.best_log_posterior[0] = value
        record.best_iteration[0] = n_done
        for best, present in zip(record.best, state.terms, strict=True):
            best[:] = present
