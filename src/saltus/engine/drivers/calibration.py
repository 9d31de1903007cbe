"""How much a term that was searched for should cost: by cross-validation of forward selection.

A term that is the best of hundreds explains noise too. How much depends on the inputs, the families and the noise, and
how much that matters on what there is to explain. So networks are grown on a part of the rows and predict the rest, at
several costs; all costs are seen on one path, since what comes in does not depend on them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.engine.kernels.state import start_state
from saltus.engine.kernels.target import penalties
from saltus.engine.problem.design import Design, number_distinct_rows
from saltus.engine.problem.problem import Criterion
from saltus.engine.results.network import Network
from saltus.engine.search.growth import grow, grow_and_descend
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.policy import SearchPolicy
from saltus.engine.search.pruning import GoOn
from saltus.engine.search.starts import present_network, set_independent_terms, set_terms
from saltus.families.registry import count_terms

# What a term may count for, its coefficients aside.
COSTS = (1, 2, 4, 8, 16)
# What it counts for in networks that descend, where these are tried and where all chains start with them.
COST_DESCENDED = 1
# All chains start with networks that descend where the error of these is below the first share of that of others, and
# every other chain where it is below the second.
FAR_BETTER, AS_GOOD = 0.95, 1.0
# What it counts for where there is no time to find out.
IN_A_HURRY = 2
# The first cost is taken whose error is no more than this share above the least: an average of networks bears more
# terms than the single ones that are tried here. Where no error is by as much below that of no terms at all, the last.
MARGIN = 0.03
# Folds for so many rows and fewer; one part in five is left out once where there are more.
FOLDS = ((400, 8), (2_000, 4), (5_000, 2))
SHARE_LEFT_OUT = 5
# Chains of a posterior start with networks of the one sort or the other, which are compared on so many rows; with fewer
# they grow. These must be far better, as chains take grown ones farther. Errors of the one sort over the other's on
# splits 10 to 12: kin40k .71 .64 .65, elevators .95 .99 .98, pol 1.11 1.22 1.11, bike 5 to 11, parkinsons 2.1 2.4 .86:
# there, on split 10, a posterior that starts with grown networks errs by .018, one from the others by .055.
ROWS_TO_COMPARE = 5_000
FAR_BETTER_FOR_A_POSTERIOR = 0.8
# That takes time, and is not tried where grown networks leave more than this share of the squares at rows left out.
TOO_LITTLE = 0.8


class Calibration(NamedTuple):
    """What cross-validation says."""

    term_cost: int  # the number of parameters that a term counts for; 0: its own
    descends: tuple[bool, ...] = (False,)  # whether chains start with networks that descend, by turns


def calibrate(
    X: Floats,
    Y: Floats,
    weight: Floats,
    make_design: Callable[[Ints], Design],
    make_criterion: Callable[[Design, int], Criterion],
    policy: SearchPolicy,
    go_on: GoOn = lambda: True,
) -> Calibration:
    """Choose what a term counts for, given the design of some rows, and the criterion of it at a cost.

    The folds are drawn alike for the same number of distinct rows. What was seen by the time it must stop decides.
    """
    number = number_distinct_rows(X, Y)  # rows that are equal are left out together, as one of their weight would be
    n_distinct = int(number.max()) + 1
    rng = np.random.default_rng(n_distinct)
    n_folds, n_parts = next(((n, n) for most, n in FOLDS if n_distinct <= most), (1, SHARE_LEFT_OUT))
    part = (rng.permutation(n_distinct) % n_parts)[number]
    errors = np.zeros(len(COSTS) + 1)  # squared; the last is that of no terms
    of_descended = 0.0
    for fold in range(n_folds):
        rows, left_out = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
        design = make_design(rows)
        error = partial(squared_error, X[left_out], Y[left_out] / design.outputs.scale, weight[left_out])
        criteria = [make_criterion(design, cost) for cost in COSTS]
        of_fold = np.array([error(network) for network in networks_on_path(rng, design, criteria, policy, go_on)])
        if not go_on():
            break
        descended = np.inf
        if n_distinct >= policy.fewest_rows_to_descend and design.mixture.descended_from is not None:
            for among in design.mixture.grown_from[1:]:
                networks = networks_on_path(
                    rng, design, criteria, policy, go_on, among=among, most=policy.terms_to_descend
                )
                of_fold = np.minimum(of_fold, [error(network) for network in networks])
            network = descended_network(rng, design, make_criterion(design, COST_DESCENDED), policy, go_on)
            descended = error(network) if go_on() else np.inf
        errors += of_fold
        of_descended += descended
    *of_costs, of_none = errors
    if of_none == 0:
        return Calibration(IN_A_HURRY)
    if min(*of_costs, of_descended) > (1 - MARGIN) ** 2 * of_none:
        return Calibration(COSTS[-1])
    if of_descended < FAR_BETTER**2 * min(of_costs):
        return Calibration(COST_DESCENDED, (True,))
    cost = COSTS[int((np.array(of_costs) <= (1 + MARGIN) ** 2 * min(of_costs)).argmax())]
    return Calibration(cost, (True, False) if of_descended < AS_GOOD**2 * min(of_costs) else (False,))


def is_worth_descending(
    X: Floats,
    Y: Floats,
    weight: Floats,
    make_design: Callable[[Ints], Design],
    make_criterion: Callable[[Design, int], Criterion],
    policy: SearchPolicy,
    go_on: GoOn = lambda: True,
) -> bool:
    """Say whether networks that descend predict far better than grown ones, judged on ROWS_TO_COMPARE of the rows."""
    number = number_distinct_rows(X, Y)
    n_distinct = int(number.max()) + 1
    if n_distinct < ROWS_TO_COMPARE:
        return False
    rng = np.random.default_rng(n_distinct)
    part = rng.permutation(n_distinct)[number]
    n_left_out = ROWS_TO_COMPARE // SHARE_LEFT_OUT
    rows, left_out = np.flatnonzero((part >= n_left_out) & (part < ROWS_TO_COMPARE)), np.flatnonzero(part < n_left_out)
    design = make_design(rows)
    if design.mixture.descended_from is None:
        return False
    error = partial(squared_error, X[left_out], Y[left_out] / design.outputs.scale, weight[left_out])
    criteria = [make_criterion(design, cost) for cost in COSTS]
    of_grown = of_none = np.inf
    for i, among in enumerate(design.mixture.grown_from):
        most = None if i == 0 else policy.terms_to_descend
        networks = networks_on_path(rng, design, criteria, policy, go_on, among=among, most=most)
        *of_sizes, of_none = (error(network) for network in networks)
        of_grown = min(of_grown, *of_sizes)
    if not of_grown < TOO_LITTLE * of_none:
        return False
    network = descended_network(rng, design, make_criterion(design, COST_DESCENDED), policy, go_on)
    return go_on() and error(network) < FAR_BETTER_FOR_A_POSTERIOR**2 * of_grown


def squared_error(X: Floats, Y: Floats, weight: Floats, network: Network) -> float:
    """Sum the squared errors of a network at rows it has not seen, Y in units of the outputs it was fitted to."""
    residuals = network.predict(X) / network.outputs.scale - Y
    return float((weight[:, None] * residuals**2).sum())


def descended_network(
    rng: np.random.Generator, design: Design, criterion: Criterion, policy: SearchPolicy, go_on: GoOn
) -> Network:
    """Grow a network under a criterion, and descend."""
    design = replace(design, problem=design.problem._replace(criterion=criterion))
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    landscape = Landscape.of(design, rng, policy=policy)
    found = grow_and_descend(rng, design, landscape, state, go_on, policy.terms_to_descend)
    set_independent_terms(design, state, found.terms)
    return present_network(design, state)


def networks_on_path(
    rng: np.random.Generator,
    design: Design,
    criteria: list[Criterion],
    policy: SearchPolicy,
    go_on: GoOn,
    *,
    among: Bools | None = None,
    most: int | None = None,
) -> list[Network]:
    """Grow one network under the first of some criteria; return it with as many terms as each wants, then with none.

    Its terms are of all families, or of some (F,).
    """
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    grown, values = grow(rng, design, state, policy, go_on, among=among, most=most)
    networks = []
    families = design.problem.families
    n_columns = np.concatenate([[0], np.cumsum(families.n_columns[grown.family])])
    n_own = np.array([count_terms(families, grown.take(slice(k))) for k in range(len(grown) + 1)])
    sizes = [best_size(values, criteria[0], each, design.Y.shape[1], n_columns, n_own) for each in criteria]
    for k in (*sizes, 0):
        set_terms(design, state, grown.take(slice(k)))
        networks.append(present_network(design, state))
    return networks


def best_size(values: Floats, before: Criterion, after: Criterion, n_outputs: int, n_columns: Ints, n_own: Ints) -> int:
    """Find the number of terms that a criterion wants, given log pi with 0, 1, 2 ... terms under another.

    These have n_columns (K + 1,), and their sets of levels are worth n_own (K + 1,) parameters. Both count every term
    for the same, and nothing that is shared.
    """
    sizes = np.arange(min(len(values), len(before.by_size), len(after.by_size)))
    columns, own = n_columns[sizes], n_own[sizes]
    was, will_be = (penalties(criterion, n_outputs, sizes, columns, own, 0) for criterion in (before, after))
    return int((values[sizes] + was - will_be).argmax())
