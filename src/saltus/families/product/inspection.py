"""What summaries, reports, files of draws and pictures ask of products."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Bools, Floats
from saltus.families.box import UnitBox
from saltus.families.line_nodes import LineStack, make_line_stack
from saltus.families.line_numbers import Factor, LineNumbers
from saltus.families.line_profiles import IDENTITY, POLYNOMIAL, WAVE
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.product.family import FittedProduct


@dataclass(frozen=True)
class ProductInspection:
    """The answers of fitted products, in the user's units."""

    family: "FittedProduct"

    def numbers(self, box: UnitBox, terms: TermSet) -> LineNumbers:
        """Write the terms as the numbers of a formula."""
        scale, factors = self.family.scale, self.family.factors(terms)
        varies = np.flatnonzero(box.varies)
        of_terms: list[list[Factor]] = [[] for _ in range(len(terms))]
        for j, i, profile, b, c in zip(
            factors.term, factors.inputs, factors.profile, factors.b, factors.c, strict=True
        ):
            # z = b (x - origin), x in standard deviations, wherever b is not 0.
            origin = scale.means[i] + scale.spreads[i] * (-c / b)
            width = scale.spreads[i] * box.width[varies[i]]
            at = box.from_unit(np.where(np.arange(scale.n_inputs) == i, origin, 0.0)[None])[0, varies[i]]
            factor = Factor(int(profile), varies[[i]], np.array([b / width]), np.array([at]), 0.0)
            of_terms[j].append(factor)
        low, high = (None, None) if not self.family.holds else scale.range_in(box)
        return LineNumbers(tuple(map(tuple, of_terms)), low, high)

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
                if factor.profile not in (IDENTITY, WAVE) and factor.profile < POLYNOMIAL:
                    places[j, factor.inputs] = factor.origins
        return places

    @staticmethod
    def stack(families: Sequence["FittedProduct"], terms: Sequence[TermSet], *, same_shared: bool) -> LineStack:
        """Stack the terms of networks for an ONNX graph."""
        first = families[0]
        lists = []
        for each in terms:
            factors = first.factors(each)
            of_terms: list[list[tuple[int, Floats, float]]] = [[] for _ in range(len(each))]
            for j, i, profile, b, c in zip(
                factors.term, factors.inputs, factors.profile, factors.b, factors.c, strict=True
            ):
                of_terms[j].append((int(profile), np.where(np.arange(first.scale.n_inputs) == i, b, 0.0), float(c)))
            lists.append(of_terms)
        return make_line_stack(first.scale, lists, hold=first.holds)
