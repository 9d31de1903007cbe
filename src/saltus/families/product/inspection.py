"""What summaries, reports, files of draws and pictures ask of products."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from saltus._typing import Bools, Floats
from saltus.families.box import UnitBox
from saltus.families.line_nodes import Coordinates, LineStack, NodeFactor, make_line_stack
from saltus.families.line_numbers import Factor, Indicator, LineNumbers, OnLine
from saltus.families.line_profiles import HIGHEST_DEGREE, IDENTITY, MISSING, OFF_THE_LINE, POLYNOMIAL, WAVE
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.product.family import FittedProduct

# Profiles that are at no place along their input.
NOWHERE = (IDENTITY, WAVE, *range(POLYNOMIAL, POLYNOMIAL + HIGHEST_DEGREE))


@dataclass(frozen=True)
class ProductInspection:
    """The answers of fitted products, in the user's units."""

    family: "FittedProduct"

    can_be_shifted: ClassVar[bool] = True

    def numbers(self, box: UnitBox, terms: TermSet) -> LineNumbers:
        """Write the terms as the numbers of a formula."""
        scale, factors = self.family.scale, self.family.factors(terms)
        varies = np.flatnonzero(box.varies)
        of_terms: list[list[Factor]] = [[] for _ in range(len(terms))]
        for which, (j, i, profile, b, c) in enumerate(factors.on_lines):
            if profile == MISSING:
                of_terms[j].append(Indicator(profile, int(varies[i]), np.array([int(b == 0)])))
            elif profile in OFF_THE_LINE:
                of_terms[j].append(Indicator(profile, int(varies[i]), factors.levels(which)))
            else:
                # z = b (x - origin), x in standard deviations: b is not 0.
                origin = scale.means[i] + scale.spreads[i] * (-c / b)
                width = scale.spreads[i] * box.width[varies[i]]
                at = box.from_unit(np.where(np.arange(scale.n_inputs) == i, origin, 0.0)[None])[0, varies[i]]
                slopes, at_gap = np.array([b / width]), float(factors.at_gap[which])
                of_terms[j].append(OnLine(profile, varies[[i]], slopes, np.array([at]), 0.0, at_gap))
        low, high = (None, None) if not self.family.holds else scale.range_in(box)
        return LineNumbers(tuple(map(tuple, of_terms)), low, high, scale.counts_at_gaps(box))

    def uses(self, box: UnitBox, terms: TermSet) -> Bools:
        """Say which inputs (k, d) each term uses."""
        factors = self.family.factors(terms)
        used = np.zeros((len(terms), len(box.varies)), dtype=bool)
        used[factors.term, np.flatnonzero(box.varies)[factors.inputs]] = True
        return used

    def strength(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it: how many do, by its spread."""
        spread = np.ones(len(box.varies))
        spread[box.varies] = self.family.scale.spreads * box.width[box.varies]
        return self.uses(box, terms).sum(axis=0) / spread

    def places(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say where along the inputs the terms are: (k, d), NaN where they are nowhere."""
        places = np.full((len(terms), len(box.varies)), np.nan)
        for j, factors in enumerate(self.numbers(box, terms).terms):
            for factor in factors:
                if isinstance(factor, OnLine) and factor.profile not in NOWHERE:
                    places[j, factor.inputs] = factor.origins
        return places

    @staticmethod
    def stack(families: Sequence["FittedProduct"], terms: Sequence[TermSet], *, same_shared: bool) -> LineStack:
        """Stack the terms of networks for an ONNX graph."""
        coordinates = Coordinates(families[0].scale, families[0].holds)
        return make_line_stack(coordinates, [node_factors(coordinates, families[0], each) for each in terms])


def node_factors(coordinates: Coordinates, family: "FittedProduct", terms: TermSet) -> list[list[NodeFactor]]:
    """List the factors of each term for an ONNX graph: those off the line are sums of coordinates that are 0 or 1."""
    factors = family.factors(terms)
    of_terms: list[list[NodeFactor]] = [[] for _ in range(len(terms))]
    for which, (j, i, profile, b, c) in enumerate(factors.on_lines):
        gap = coordinates.gap_of(i)
        if profile == MISSING:
            sign, constant = (1.0, 0.0) if b == 0 else (-1.0, 1.0)
            of_terms[j].append(NodeFactor(IDENTITY, sign * coordinates.unit(gap), constant))
        elif profile in OFF_THE_LINE:
            levels = coordinates.first_level_of(i) + factors.levels(which)
            of_terms[j].append(NodeFactor(IDENTITY, coordinates.unit(*levels), 0.0))
        else:
            of_terms[j].append(NodeFactor(profile, b * coordinates.unit(i), c, gap, float(factors.at_gap[which])))
    return of_terms
