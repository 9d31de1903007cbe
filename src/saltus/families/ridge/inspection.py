"""What summaries, reports, files of draws and pictures ask of ridges."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from saltus._typing import Bools, Floats
from saltus.families.box import UnitBox
from saltus.families.line_nodes import Coordinates, LineStack, NodeFactor, make_line_stack
from saltus.families.line_numbers import LineNumbers, OnLine
from saltus.families.ridge.kernels import PROFILE
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.ridge.family import FittedRidge


@dataclass(frozen=True)
class RidgeInspection:
    """The answers of fitted ridges, in the user's units."""

    family: "FittedRidge"

    can_be_shifted: ClassVar[bool] = True

    def numbers(self, box: UnitBox, terms: TermSet) -> LineNumbers:
        """Write the terms as the numbers of a formula."""
        scale = self.family.scale
        w, c = self.family.projections(terms)
        varies = np.flatnonzero(box.varies)
        middle, width = box.from_unit(scale.means[None])[0], scale.spreads * box.width[varies]
        of_terms = []
        for j, profile in enumerate(terms.choices[:, PROFILE]):
            i = np.flatnonzero(w[:, j])
            factor = OnLine(int(profile), varies[i], w[i, j] / width[i], middle[varies[i]], float(c[j]))
            of_terms.append((factor,))
        low, high = (None, None) if not self.family.holds else scale.range_in(box)
        return LineNumbers(tuple(of_terms), low, high, scale.counts_at_gaps(box, always=True))

    def uses(self, box: UnitBox, terms: TermSet) -> Bools:
        """Say which inputs (k, d) each term uses."""
        used = np.zeros((len(terms), len(box.varies)), dtype=bool)
        used[:, box.varies] = self.family.projections(terms)[0].T != 0
        return used

    def strength(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it: the root of the squared slopes."""
        found = np.zeros(len(box.varies))
        w, _ = self.family.projections(terms)
        found[box.varies] = np.sqrt((w**2).sum(axis=1)) / (self.family.scale.spreads * box.width[box.varies])
        return found

    def places(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say where z is 0, nearest to the middle of the data: (k, d), NaN along inputs that a term does not use."""
        w, c = self.family.projections(terms)
        places = np.full((len(terms), len(box.varies)), np.nan)
        foot = -c * w / np.maximum((w**2).sum(axis=0), 1e-300)
        at = box.from_unit(self.family.scale.means + self.family.scale.spreads * foot.T)
        used = self.uses(box, terms)
        places[used] = at[used]
        return places

    @staticmethod
    def stack(families: Sequence["FittedRidge"], terms: Sequence[TermSet], *, same_shared: bool) -> LineStack:
        """Stack the terms of networks for an ONNX graph."""
        coordinates, networks = Coordinates(families[0].scale, families[0].holds), []
        for each in terms:
            w, c = families[0].projections(each)
            profiles = each.choices[:, PROFILE].tolist()
            networks.append([[NodeFactor(profile, w[:, j], float(c[j]))] for j, profile in enumerate(profiles)])
        return make_line_stack(coordinates, networks)
