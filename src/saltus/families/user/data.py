"""The rows of a fit, prepared for kernels that evaluate the terms of a user's families."""

from collections.abc import Sequence

import numpy as np

from saltus._tiles import to_tiles
from saltus._typing import Floats, Ints
from saltus.families.inputs import probabilities_of_sizes
from saltus.families.user.calls import Evaluator, most_inputs
from saltus.families.user.fitted import FittedUser
from saltus.families.user.layout import Layout
from saltus.families.user.owned import OwnedUserData, make_owned


def make_user_data(members: Sequence[FittedUser | None], U: Floats, like: OwnedUserData | None) -> OwnedUserData:
    """Prepare rows U (N, v) of the unit cube for all families of a fit, None where they are no user's.

    Or share those that another variant of the families has prepared.
    """
    ranges = next(member for member in members if member is not None).ranges
    rows = to_tiles(ranges.to_user(U)) if like is None else like.rows
    families = [None if member is None else member.options for member in members]
    n_inputs, n_families = ranges.n_inputs, len(members)
    most = np.array([most_inputs(family, n_inputs) for family in families])
    layouts = [Layout((), (), (), ()) if family is None else Layout.of(family) for family in families]
    n_parameters = max(layout.n_parameters(g) for layout, g in zip(layouts, most.tolist(), strict=True))
    is_periodic = np.zeros((n_families, n_parameters), dtype=np.int64)
    is_free = np.zeros_like(is_periodic)
    counts = np.zeros((n_families, max(int(most.max()), 1)), dtype=np.int64)
    for f, (layout, g, family) in enumerate(zip(layouts, most.tolist(), families, strict=True)):
        n = layout.n_parameters(g)
        is_periodic[f, :n], is_free[f, :n] = layout.is_periodic(g), layout.is_smooth(g)
        if family is not None:
            counts[f, :g] = [family.count_parameters(size) for size in range(1, g + 1)]
    shares, log_pi = probabilities_of_sizes(most)
    return make_owned(
        Evaluator(families, rows, len(U), ranges.both),
        n_inputs,
        most,
        shares,
        log_pi,
        np.array([len(layout.own) for layout in layouts]),
        np.array([len(layout.of_an_input) for layout in layouts]),
        is_periodic,
        is_free,
        counts,
    )


def sample_user_data(data: OwnedUserData, member: FittedUser, rows: Ints) -> OwnedUserData:
    """Take some rows, rounded, in tiles."""
    before = data.evaluator
    taken = to_tiles(member.ranges.rounded(before.X[rows]))
    return make_owned(Evaluator(before.families, taken, len(rows), before.ranges), *data[2:])
