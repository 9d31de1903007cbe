"""What descents ask of ridges."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Floats
from saltus.families.free import FreeTerms
from saltus.families.inputs import InputData
from saltus.families.line_profiles import N_PARAMETERS
from saltus.families.ridge.kernels import (
    DIRECTION,
    LOG_GENTLEST,
    LOG_STEEPEST,
    NEAREST_TO_EDGE,
    OFFSET,
    PROFILE,
    SIZE,
    SLOPE,
    direction_at,
)
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.ridge.family import FittedRidge

NOTHING = np.zeros(0)
FARTHEST = float(direction_at(np.array(1.0 - NEAREST_TO_EDGE)))


@dataclass(frozen=True)
class RidgeSearch:
    """The answers of fitted ridges."""

    family: "FittedRidge"

    def free(self, data: InputData, terms: TermSet, *, raw: bool) -> FreeTerms:
        """Pack what a descent changes: t / T, the logarithm of the slope, and v where there is more than one input."""
        xs, lows, highs = [], [], []
        for choices, parameters in zip(terms.choices, terms.parameters, strict=True):
            x, low, high = [2.0 * parameters[OFFSET] - 1.0], [-1.0], [1.0]
            if N_PARAMETERS[choices[PROFILE]] == 2:
                x.append(LOG_GENTLEST + parameters[SLOPE] * (LOG_STEEPEST - LOG_GENTLEST))
                low.append(LOG_GENTLEST)
                high.append(LOG_STEEPEST)
            g = int(choices[SIZE])
            if g > 1:
                x.extend(direction_at(parameters[DIRECTION : DIRECTION + g]).tolist())
                low.extend([-FARTHEST] * g)
                high.extend([FARTHEST] * g)
            xs.append(np.array(x))
            lows.append(np.array(low))
            highs.append(np.array(high))

        def unpack(points: list[Floats], shared: Floats) -> TermSet:
            found = terms.parameters.copy()
            for choices, parameters, point in zip(terms.choices, found, points, strict=True):
                parameters[OFFSET] = min(max(0.5 * (point[0] + 1.0), 0.0), 1.0)
                at = 1
                if N_PARAMETERS[choices[PROFILE]] == 2:
                    share = (point[1] - LOG_GENTLEST) / (LOG_STEEPEST - LOG_GENTLEST)
                    parameters[SLOPE] = min(max(share, 0.0), 1.0)
                    at = 2
                g = int(choices[SIZE])
                if g > 1:
                    parameters[DIRECTION : DIRECTION + g] = 1.0 / (1.0 + np.exp(-point[at : at + g]))
            return terms.with_parameters(found)

        decoded = self.family.decode(terms)
        return FreeTerms(data, xs, lows, highs, decoded, unpack, NOTHING, NOTHING, NOTHING, NOTHING)
