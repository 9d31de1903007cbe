"""What summaries, reports, files of draws and pictures ask of waves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from saltus._typing import Bools, Floats
from saltus.families.box import UnitBox
from saltus.families.line_nodes import Coordinates, LineStack, NodeFactor, make_line_stack
from saltus.families.line_profiles import WAVE
from saltus.families.terms import TermSet
from saltus.families.wave.kernels import N_COLUMNS, QUARTER
from saltus.families.wave.numbers import Wave, WaveNumbers

if TYPE_CHECKING:
    from saltus.families.wave.family import FittedWave


@dataclass(frozen=True)
class WaveInspection:
    """The answers of fitted waves, in the user's units."""

    family: "FittedWave"

    can_be_shifted: ClassVar[bool] = True

    def frequencies(self, box: UnitBox, terms: TermSet) -> Floats:
        """Find the frequencies (k, d) along inputs, in cycles for one unit of each; 0 along others."""
        found = np.zeros((len(terms), len(box.varies)))
        found[:, box.varies] = self.family.frequencies(terms).T / (self.family.scale.spreads * box.width[box.varies])
        return found

    def numbers(self, box: UnitBox, terms: TermSet) -> WaveNumbers:
        """Write the terms as the numbers of a formula."""
        scale = self.family.scale
        middle = box.from_unit(scale.means[None])[0]
        waves = []
        for of_term in self.frequencies(box, terms):
            inputs = np.flatnonzero(of_term)
            waves.append(Wave(inputs, of_term[inputs], middle[inputs]))
        low, high = (None, None) if not self.family.holds else scale.range_in(box)
        return WaveNumbers(tuple(waves), low, high, scale.counts_at_gaps(box, always=True))

    def uses(self, box: UnitBox, terms: TermSet) -> Bools:
        """Say which inputs (k, d) each term uses."""
        return self.frequencies(box, terms) != 0

    def strength(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it: how many do, by its spread."""
        spread = np.ones(len(box.varies))
        spread[box.varies] = self.family.scale.spreads * box.width[box.varies]
        return self.uses(box, terms).sum(axis=0) / spread

    def places(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say that waves are nowhere in particular: (k, d), all NaN."""
        return np.full((len(terms), len(box.varies)), np.nan)

    @staticmethod
    def stack(families: Sequence["FittedWave"], terms: Sequence[TermSet], *, same_shared: bool) -> LineStack:
        """Stack the columns of the terms of networks for an ONNX graph."""
        coordinates, networks = Coordinates(families[0].scale, families[0].holds), []
        for each in terms:
            w = families[0].frequencies(each)
            columns = [(j, part) for j in range(len(each)) for part in range(N_COLUMNS)]
            networks.append([[NodeFactor(WAVE, w[:, j], -QUARTER * part)] for j, part in columns])
        return make_line_stack(coordinates, networks)
