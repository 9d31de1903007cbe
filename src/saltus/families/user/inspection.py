"""What summaries, reports, files of draws and pictures ask of a user's family."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from saltus._typing import Bools, Floats
from saltus.families.box import UnitBox
from saltus.families.terms import TermSet
from saltus.families.user.kernels import FIRST, SIZE
from saltus.families.user.nodes import UserStack, make_user_stack
from saltus.families.user.numbers import UserNumbers, UserTerm

if TYPE_CHECKING:
    from saltus.families.user.fitted import FittedUser


@dataclass(frozen=True)
class UserInspection:
    """The answers of a fitted family of a user, in the user's units."""

    family: "FittedUser"

    can_be_shifted: ClassVar[bool] = False  # its author sees values in the units of the data

    def numbers(self, box: UnitBox, terms: TermSet) -> UserNumbers:
        """Write the terms as the numbers of a formula."""
        family, varies = self.family, np.flatnonzero(box.varies)
        of_terms = []
        for choices, parameters in zip(terms.choices, terms.parameters, strict=True):
            g = int(choices[SIZE])
            inputs = choices[FIRST : FIRST + g]
            own = parameters[: family.layout.n_parameters(g)].copy()
            of_terms.append(UserTerm(varies[inputs], own, family.ranges.both[:, inputs], family.ranges.mean[inputs]))
        return UserNumbers(family.options, tuple(of_terms), family.holds)

    def uses(self, box: UnitBox, terms: TermSet) -> Bools:
        """Say which inputs (k, d) each term uses."""
        used = np.zeros((len(terms), len(box.varies)), dtype=bool)
        for row, term in zip(used, self.numbers(box, terms).terms, strict=True):
            row[term.inputs] = True
        return used

    def strength(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it: how many do, by its range."""
        span = np.ones(len(box.varies))
        ranges = self.family.ranges
        span[np.flatnonzero(box.varies)[: ranges.n_inputs]] = ranges.high - ranges.low
        return self.uses(box, terms).sum(axis=0) / span

    def places(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say that terms are nowhere: (k, d), NaN. What a parameter means, only the author knows."""
        return np.full((len(terms), len(box.varies)), np.nan)

    @staticmethod
    def stack(families: Sequence["FittedUser"], terms: Sequence[TermSet], *, same_shared: bool) -> UserStack:
        """Stack the terms of networks for an ONNX graph."""
        return make_user_stack(families[0], terms)
