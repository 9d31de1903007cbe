"""Putting a chain's state somewhere, and taking networks from where it is."""

from collections.abc import Callable, Sequence

import numpy as np

from saltus._typing import Floats
from saltus.engine.kernels.factor import independent_columns, refactor
from saltus.engine.kernels.state import Record, State
from saltus.engine.kernels.target import log_density
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import BestState
from saltus.engine.results.network import Network, network_from_factor
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.pruning import GoOn, coarse_to_fine
from saltus.families.registry import count_terms

# A random start has at most this many terms.
MOST_STARTING_TERMS = 20
# They are placed by so many rows, drawn at random where there are more.
MOST_ROWS_TO_START = 20_000
# The terms that a descent starts from are anywhere in the box of those rows that are not outlying, the range between
# these quantiles, widened on each side by this share; half of them on the nearest row. Anywhere in the box of all rows
# will not do, as a few outliers leave it empty but for a corner. Friedman 1, 3 of 500 rows scattered 20 times as wide
# as the others, mean error to the truth over seeds 20-24: AnnealedRegressor 1.29 then, 0.27 so; BayesianRegressor 1.02,
# 0.42.
OUTLYING, MARGIN = 0.05, 0.5


def set_terms(design: Design, state: State, parameters: Floats, shared: Floats | None = None) -> None:
    """Make terms with parameters (k, p) the state, factored from scratch. Mutates the state. O(N m^2).

    The shared parameters (s,) stay as they are unless given.
    """
    if shared is not None:
        state.terms.shared[:] = shared
    _place(design, state, parameters, design.columns(parameters, state.terms.shared))


def _place(design: Design, state: State, parameters: Floats, columns: Floats) -> None:
    refactor(state.factor, design.linear.Q, design.Y, columns)
    k = len(parameters)
    state.terms.parameters[:k] = parameters
    state.terms.k[0] = k
    state.n_own[0] = count_terms(design.problem.families, parameters, state.terms.shared)
    state.log_posterior[0] = log_density(design.problem, state.factor.rss, parameters, state.terms.shared)


def set_independent_terms(design: Design, state: State, parameters: Floats) -> None:
    """Do the same, leaving out terms whose columns are in the span of those before them, or faint."""
    problem = design.problem
    while True:
        columns = design.columns(parameters, state.terms.shared)
        squared = (columns**2).sum(axis=0)
        _place(design, state, parameters, columns)
        independent = independent_columns(state.factor, problem.m_fixed, squared, problem.smallest_squared_norm)
        if independent.all():
            return
        parameters = parameters[independent]


def present_parameters(state: State) -> Floats:
    """Copy the parameters (k, p) of the present terms."""
    return state.terms.parameters[: state.terms.k[0]].copy()


def best_terms(record: Record) -> tuple[Floats, Floats]:
    """Copy the parameters (k, p) of the best terms of a record, and shared ones (s,)."""
    return record.best.parameters[: record.best.k[0]].copy(), record.best.shared.copy()


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
    return network_from_factor(design, present_parameters(state), state.terms.shared, state.factor)


def starting_parameters(rng: np.random.Generator, design: Design, *, many: bool) -> Floats:
    """Draw the parameters (k, p) of random terms: a random number, or many to descend from."""
    most = min(design.k_max, MOST_STARTING_TERMS)
    if not many:
        return rng.random((int(rng.integers(0, most, endpoint=True)), design.family.n_parameters))
    at_rows, weight = _terms_at_rows(rng, design)
    lower, upper = weighted_quantiles(at_rows, weight, (OUTLYING, 1 - OUTLYING))
    reach = np.where(upper > lower, MARGIN * (upper - lower), 1.0)  # the whole box where nearly all rows are the same
    lower, upper = np.maximum(lower - reach, 0.0), np.minimum(upper + reach, 1.0)
    drawn = lower + (upper - lower) * rng.random((most, at_rows.shape[1]))
    for term in drawn[: most // 2]:
        term[:] = at_rows[((at_rows - term) ** 2).sum(axis=1).argmin()]
    return design.family.search.prepare_start(drawn)


def _terms_at_rows(rng: np.random.Generator, design: Design) -> tuple[Floats, Floats]:
    """Find the parameters (n, p) of terms that sit on rows, and the weights (n,) of these; not of too many rows."""
    rows = design.rows
    if rows.size > MOST_ROWS_TO_START:
        rows = rng.choice(rows, MOST_ROWS_TO_START, replace=False)
    parameters = design.family.search.parameters_of_rows(design.problem.families, rows)
    return parameters, design.problem.root_weight.ravel()[rows] ** 2


def weighted_quantiles(values: Floats, weight: Floats, shares: tuple[float, ...]) -> Floats:
    """Find quantiles of the columns of values (n, d), as (len(shares), d): a weight of 2 counts as two rows."""
    order = values.argsort(axis=0, kind="stable")
    below = weight[order].cumsum(axis=0)
    at = [(below < share * below[-1]).sum(axis=0) for share in shares]
    return np.stack([values[order[i, np.arange(values.shape[1])], np.arange(values.shape[1])] for i in at])


def count_starts(design: Design) -> int:
    """Choose from how many random starts to descend; the best is where the chain starts.

    With many inputs a descent may switch off one of two that matter only together, and an annealed chain does not find
    the pair again. On Friedman 1 with 1 000 rows and 30 inputs, seeds 3-10, 9 of 32 chains end without x1 and x2 after
    one descent each, 3 after the best of two, none after the best of three.
    """
    return min(1 + design.family.n_choices // 5, 3)


def descend_from_starts(
    rng: np.random.Generator,
    design: Design,
    finest: Landscape,
    starts: Sequence[Floats],
    descend: Callable[[Landscape, Floats, Floats], Candidate],
    go_on: GoOn,
) -> Candidate:
    """Descend from each of some starts (k, p) with few of the rows; from where the best ends, with more and more."""
    landscapes = coarse_to_fine(rng, design, finest)
    first = next(landscapes)
    shared = design.family.starting_shared
    found = max((descend(first, start, shared) for start in starts), key=lambda end: end.log_posterior)
    for landscape in landscapes:
        if not go_on():
            break
        found = descend(landscape, found.parameters, found.shared)
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
