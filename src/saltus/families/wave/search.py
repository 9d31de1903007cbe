"""What descents ask of waves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Floats
from saltus.families.free import FreeTerms
from saltus.families.terms import TermSet
from saltus.families.wave.kernels import SIZE, WaveData

if TYPE_CHECKING:
    from saltus.families.wave.family import FittedWave

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class WaveSearch:
    """The answers of fitted waves."""

    family: "FittedWave"

    def free(self, data: WaveData, terms: TermSet, *, raw: bool) -> FreeTerms:
        """Pack what a descent changes: cycles over the ranges of inputs, so that a unit is what rows can resolve."""
        slowest, fastest = self.family.bounds(terms)
        sizes = terms.choices[:, SIZE]
        cycles = slowest + terms.parameters * (fastest - slowest)

        def unpack(points: list[Floats], shared: Floats) -> TermSet:
            found = terms.parameters.copy()
            for j, (g, point) in enumerate(zip(sizes, points, strict=True)):
                low, high = slowest[j, :g], fastest[j, :g]
                found[j, :g] = np.clip((point - low) / (high - low), 0.0, 1.0)
            return terms.with_parameters(found)

        return FreeTerms(
            data,
            [row[:g] for row, g in zip(cycles, sizes, strict=True)],
            [row[:g] for row, g in zip(slowest, sizes, strict=True)],
            [row[:g] for row, g in zip(fastest, sizes, strict=True)],
            self.family.decode(terms),
            unpack,
            NOTHING,
            NOTHING,
            NOTHING,
            NOTHING,
        )
