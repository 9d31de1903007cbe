"""How much a term that was searched for should cost: by cross-validation of forward selection.

A term that is the best of hundreds explains noise too. How much depends on the inputs, the families and the noise, and
how much that matters on what there is to explain. So networks are grown on a part of the rows and predict the rest, at
several costs; all costs are seen on one path, since what comes in does not depend on them.
"""

from collections.abc import Callable

import numpy as np

from saltus._typing import Floats, Ints
from saltus.engine.kernels.state import start_state
from saltus.engine.kernels.target import penalties
from saltus.engine.problem.design import Design, number_distinct_rows
from saltus.engine.problem.problem import Criterion
from saltus.engine.results.network import Network
from saltus.engine.search.growth import grow
from saltus.engine.search.policy import SearchPolicy
from saltus.engine.search.pruning import GoOn
from saltus.engine.search.starts import present_network, set_terms

# What a term may count for, its coefficients aside.
COSTS = (1, 2, 4, 8, 16)
# What it counts for where there is no time to find out.
IN_A_HURRY = 2
# The first cost is taken whose error is no more than this share above the least: an average of networks bears more
# terms than the single ones that are tried here. Where no error is by as much below that of no terms at all, the last.
MARGIN = 0.03
# Folds for so many rows and fewer; one part in five is left out once where there are more.
FOLDS = ((400, 8), (2_000, 4), (5_000, 2))
SHARE_LEFT_OUT = 5


def calibrate(
    X: Floats,
    Y: Floats,
    weight: Floats,
    make_design: Callable[[Ints], Design],
    make_criterion: Callable[[Design, int], Criterion],
    policy: SearchPolicy,
    go_on: GoOn = lambda: True,
) -> int:
    """Choose what a term counts for, given the design of some rows, and the criterion of it at a cost.

    The folds are drawn alike for the same number of distinct rows. What was seen by the time it must stop decides.
    """
    number = number_distinct_rows(X, Y)  # rows that are equal are left out together, as one of their weight would be
    n_distinct = int(number.max()) + 1
    rng = np.random.default_rng(n_distinct)
    n_folds, n_parts = next(((n, n) for most, n in FOLDS if n_distinct <= most), (1, SHARE_LEFT_OUT))
    part = (rng.permutation(n_distinct) % n_parts)[number]
    errors = np.zeros(len(COSTS) + 1)  # squared; the last is that of no terms
    for fold in range(n_folds):
        rows, left_out = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
        design = make_design(rows)
        criteria = [make_criterion(design, cost) for cost in COSTS]
        networks = networks_on_path(rng, design, criteria, policy, go_on)
        if not go_on():
            break
        for i, network in enumerate(networks):
            residuals = (network.predict(X[left_out]) - Y[left_out]) / design.outputs.scale
            errors[i] += (weight[left_out, None] * residuals**2).sum()
    *of_costs, of_none = errors
    if of_none == 0:
        return IN_A_HURRY
    if min(of_costs) > (1 - MARGIN) ** 2 * of_none:
        return COSTS[-1]
    return COSTS[int((np.array(of_costs) <= (1 + MARGIN) ** 2 * min(of_costs)).argmax())]


def networks_on_path(
    rng: np.random.Generator, design: Design, criteria: list[Criterion], policy: SearchPolicy, go_on: GoOn
) -> list[Network]:
    """Grow one network under the first of some criteria; return it with as many terms as each wants, then with none."""
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    grown, values = grow(rng, design, state, policy, go_on)
    networks = []
    n_columns = np.concatenate([[0], np.cumsum(design.problem.families.n_columns[grown.family])])
    sizes = [best_size(values, criteria[0], criterion, design.Y.shape[1], n_columns) for criterion in criteria]
    for k in (*sizes, 0):
        set_terms(design, state, grown.take(slice(k)))
        networks.append(present_network(design, state))
    return networks


def best_size(values: Floats, before: Criterion, after: Criterion, n_outputs: int, n_columns: Ints) -> int:
    """Find the number of terms that a criterion wants, given log pi with 0, 1, 2 ... terms under another.

    These have n_columns (K + 1,).
    Both count every term for the same, and nothing that is shared.
    """
    sizes = np.arange(min(len(values), len(before.by_size), len(after.by_size)))
    columns = n_columns[sizes]
    was, will_be = (penalties(criterion, n_outputs, sizes, columns, sizes, 0) for criterion in (before, after))
    return int((values[sizes] + was - will_be).argmax())
