"""Derivatives of a column by the parameters of its term, by differences."""

from typing import Protocol

import numpy as np

from saltus._typing import Floats
from saltus.families.user.layout import HasLayout, Layout

# The step whose square, the error of the formula, is about as large as the rounding of a column divided by it.
STEP = float(np.finfo(np.float64).eps ** (1 / 3))


class HasColumn(HasLayout, Protocol):
    """What has columns."""

    def column(self, X: Floats, parameters: Floats, ranges: Floats) -> Floats:
        """Evaluate a term at N rows: (N,)."""


def central_differences(family: HasColumn, X: Floats, parameters: Floats, ranges: Floats) -> Floats:
    """Differentiate a column by the parameters of its term: (N, p); 0 for those that are not smooth.

    Within a step of 0 or 1 the difference is to one side, but for a parameter that is periodic.
    """
    layout, g = Layout.of(family), X.shape[1]
    is_periodic, is_smooth = layout.is_periodic(g), layout.is_smooth(g)
    found = np.zeros((len(X), parameters.size))
    for i in np.flatnonzero(is_smooth):
        below, above = parameters[i] - STEP, parameters[i] + STEP
        if not is_periodic[i]:
            below, above = max(below, 0.0), min(above, 1.0)
        columns = []
        for at in (above, below):
            moved = parameters.copy()
            moved[i] = at % 1.0 if is_periodic[i] else at
            columns.append(np.asarray(family.column(X.copy(), moved, ranges.copy()), dtype=np.float64))
        found[:, i] = (columns[0] - columns[1]) / (above - below)
    return found
