"""What descents ask of products."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Floats
from saltus.families.free import FreeTerms
from saltus.families.inputs import InputData
from saltus.families.line_profiles import N_PARAMETERS, SMOOTH, WAVE
from saltus.families.product.kernels import A_FACTOR, FIRST, INPUT, PARAMETERS_A_FACTOR, PROFILE, SIZE
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.product.family import FittedProduct

# How far from 0 or 1 the phase of a wave may go in a descent, in periods; it wraps.
FARTHEST_PHASE = 2.0

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class ProductSearch:
    """The answers of fitted products."""

    family: "FittedProduct"

    def free(self, data: InputData, terms: TermSet, *, raw: bool) -> FreeTerms:
        """Pack what a descent changes: of each smooth factor its position, and the logarithm of its width.

        In standard deviations of the input. A wave has its phase and the logarithm of its frequency.
        """
        scale = self.family.scale
        xs, lows, highs = [], [], []
        for choices, parameters in zip(terms.choices, terms.parameters, strict=True):
            x: list[float] = []
            low: list[float] = []
            high: list[float] = []
            for factor in range(choices[SIZE]):
                i, profile = choices[FIRST + A_FACTOR * factor + INPUT], choices[FIRST + A_FACTOR * factor + PROFILE]
                u, v = parameters[PARAMETERS_A_FACTOR * factor : PARAMETERS_A_FACTOR * (factor + 1)]
                if not SMOOTH[profile] or N_PARAMETERS[profile] == 0:
                    continue
                if profile == WAVE:
                    x.append(u)
                    low.append(-FARTHEST_PHASE)
                    high.append(1 + FARTHEST_PHASE)
                else:
                    x.append(float(scale.position(np.array([i]), np.array([u]))[0]))
                    low.append(scale.low[i])
                    high.append(scale.high[i])
                if N_PARAMETERS[profile] == 2:
                    first, last = (scale.log_frequency if profile == WAVE else scale.log_width)[i]
                    x.append(first + v * (last - first))
                    low.append(first)
                    high.append(last)
            xs.append(np.array(x))
            lows.append(np.array(low))
            highs.append(np.array(high))

        def unpack(points: list[Floats], shared: Floats) -> TermSet:
            return self._unpack(terms, points)

        decoded = self.family.decode(terms)
        return FreeTerms(data, xs, lows, highs, decoded, unpack, NOTHING, NOTHING, NOTHING, NOTHING)

    def _unpack(self, terms: TermSet, points: list[Floats]) -> TermSet:
        scale = self.family.scale
        found = terms.parameters.copy()
        for choices, parameters, point in zip(terms.choices, found, points, strict=True):
            at = 0
            for factor in range(choices[SIZE]):
                i, profile = choices[FIRST + A_FACTOR * factor + INPUT], choices[FIRST + A_FACTOR * factor + PROFILE]
                if not SMOOTH[profile] or N_PARAMETERS[profile] == 0:
                    continue
                own = PARAMETERS_A_FACTOR * factor
                is_wave = profile == WAVE
                parameters[own] = point[at] % 1.0 if is_wave else scale.coordinate(i, point[at])
                if N_PARAMETERS[profile] == 2:
                    first, last = (scale.log_frequency if is_wave else scale.log_width)[i]
                    parameters[own + 1] = min(max((point[at + 1] - first) / (last - first), 0.0), 1.0)
                at += N_PARAMETERS[profile]
        return terms.with_parameters(found)
