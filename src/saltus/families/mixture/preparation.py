"""The rows of a fit, prepared for kernels: once for all families that see them alike."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from saltus._tiles import to_tiles
from saltus._typing import Floats
from saltus.families.choosing import FittedChoosing
from saltus.families.inputs import find_bins, gaps_in_tiles
from saltus.families.radial.family import FittedRadial
from saltus.families.registry import PRODUCT, RIDGE, USER, WAVE, Families
from saltus.families.user.data import make_user_data
from saltus.families.user.fitted import FittedUser
from saltus.families.user.owned import OwnedUserData
from saltus.families.wave.family import FittedWave

if TYPE_CHECKING:
    from saltus.families.mixture.mixture import FittedMixture


def make_families(
    mixture: "FittedMixture",
    U: Floats,
    *,
    ridge: bool,
    counts_levels_only: bool,
    like: Families | None,
    draws_terms: bool = True,
) -> Families:
    """Prepare rows U (N, v) of the unit cube, as `FittedMixture.families` says."""
    members, n = mixture.members, len(mixture.members)
    radial = None
    if mixture.radial_family >= 0:
        family = cast(FittedRadial, members[mixture.radial_family])
        radial = family.data(U, None if like is None else like.radial)
    return Families(
        geometry=np.array([member.geometry for member in members]),
        shares=np.arange(1, n + 1) / n,
        log_weight=np.full(n, -np.log(n)),
        n_columns=mixture.n_columns,
        most_columns=int(mixture.n_columns.max()),
        smallest_squared_norm=np.array([member.smallest_squared_norm(ridge=ridge) for member in members]),
        smallest_complement=np.array([member.smallest_complement for member in members]),
        n_choices=mixture.n_choices,
        n_parameters=mixture.n_parameters,
        n_decoded=max(member.n_decoded for member in members),
        counts_levels_only=counts_levels_only,
        radial_family=mixture.radial_family,
        radial=radial,
        **_input_data(mixture, U, like, draws_terms),
        user=_user_data(mixture, U, like),
    )


def _user_data(mixture: "FittedMixture", U: Floats, like: Families | None) -> OwnedUserData | None:
    """Prepare the rows for terms of families that a user wrote."""
    members = [cast(FittedUser, each) if each.geometry == USER else None for each in mixture.members]
    if not any(members):
        return None
    return make_user_data(members, U, None if like is None else like.user)


def _input_data(mixture: "FittedMixture", U: Floats, like: Families | None, draws_terms: bool) -> dict[str, Any]:
    """Prepare the rows for terms that choose inputs: the same for all of them.

    Which knots values are near to is only known where terms are drawn.
    """
    names = {PRODUCT: "product", RIDGE: "ridge", WAVE: "wave"}
    made: dict[str, Any] = dict.fromkeys(names.values())
    choosing = {f: cast(FittedChoosing, each) for f, each in enumerate(mixture.members) if each.geometry in names}
    if not choosing:
        return made
    scale = next(iter(choosing.values())).scale
    before = None if like is None else like.of_inputs
    X = scale.standardize(U)
    rows = to_tiles(scale.without_gaps(X)) if before is None else before.rows
    is_gap = gaps_in_tiles(X) if before is None else before.is_gap
    bins = find_bins(scale, rows if draws_terms else rows[:, :0]) if before is None else before.bins
    for geometry, name in names.items():
        laws = [choosing[f].law if each.geometry == geometry else None for f, each in enumerate(mixture.members)]
        if any(laws):
            made[name] = scale.data(rows, is_gap, bins, laws)
    if made["wave"] is not None:
        waves = [cast(FittedWave, each) for each in mixture.members if each.geometry == WAVE]
        made["wave"] = max(waves, key=lambda each: each.most_inputs).data(made["wave"])
    return made
