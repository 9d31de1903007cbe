"""What descents ask of a user's family."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Floats
from saltus.families.free import FreeTerms
from saltus.families.terms import TermSet
from saltus.families.user.kernels import SIZE

if TYPE_CHECKING:
    from saltus.families.user.fitted import FittedUser
    from saltus.families.user.owned import OwnedUserData

# How far below 0 or above 1 a periodic parameter may go in a descent; it wraps.
FARTHEST_TURN = 2.0

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class UserSearch:
    """The answers of a fitted family of a user."""

    family: "FittedUser"

    def free(self, data: "OwnedUserData", terms: TermSet, *, raw: bool) -> FreeTerms:
        """Pack what a descent changes: the parameters that columns are smooth in, as they are."""
        layout = self.family.layout
        which = [np.flatnonzero(layout.is_smooth(int(choices[SIZE]))) for choices in terms.choices]
        turns = [layout.is_periodic(int(choices[SIZE])) for choices in terms.choices]
        xs = [parameters[own] for parameters, own in zip(terms.parameters, which, strict=True)]
        lows = [np.where(turn[own], -FARTHEST_TURN, 0.0) for turn, own in zip(turns, which, strict=True)]
        highs = [1.0 - low for low in lows]

        def unpack(points: list[Floats], shared: Floats) -> TermSet:
            found = terms.parameters.copy()
            for parameters, own, turn, point in zip(found, which, turns, points, strict=True):
                parameters[own] = np.where(turn[own], point % 1.0, np.clip(point, 0.0, 1.0))
            return terms.with_parameters(found)

        decoded = self.family.decode(terms)
        return FreeTerms(data, xs, lows, highs, decoded, unpack, NOTHING, NOTHING, NOTHING, NOTHING)

    def columns_of_rows(self, data: "OwnedUserData", root_weight: Floats, terms: TermSet) -> Floats:
        """Evaluate the terms at the rows of a fit, times the roots of their weights: (N, k), padded."""
        columns = np.zeros((root_weight.size, len(terms)), order="F")
        X = data.evaluator.X
        columns[: len(X)] = self.family.columns_at(X, terms) * root_weight.reshape(-1, 1)[: len(X)]
        return columns
