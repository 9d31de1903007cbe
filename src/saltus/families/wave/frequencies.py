"""Which frequencies waves may have.

In one input, a wave has between a quarter of a cycle over the range of the rows and half a cycle for two neighbouring
values: what is faster looks like something slower at even rows (Nyquist). In g inputs, N rows are as many as a grid
with N^(1/g) values along each input has, and the range along each is that of the grid. Then about as many waves can be
told apart as there are rows, whatever g is, and a criterion that the best of all waves does not pass in one input where
there is only noise is not passed in several.
"""

import numpy as np

from saltus._typing import Floats

# Cycles over the range of an input that a wave in one input has at least: a trend. Slower ones differ from a parabola
# by less than rounding, with coefficients as large as they like.
SLOWEST = 0.25


def fastest_along(values: Floats) -> float:
    """Find the cycles over the range of an input that half a cycle for two neighbouring values is.

    Neighbours are as far apart as the median says where rows are missing, but no nearer than half of what even ones
    would be: rows in clusters are near each other and say nothing about what is between the clusters.
    """
    spaces = np.diff(values)
    n_even = spaces.size
    n_neighbouring = float(values[-1] - values[0]) / float(np.median(spaces))
    return max(0.5 * min(max(n_neighbouring, n_even), 2 * n_even), 2 * SLOWEST)


def fastest_cycles(X: Floats, most_inputs: int) -> Floats:
    """Find the most cycles (v, G) over the range of each input of X (N, v) for waves in 1, 2 ... G inputs."""
    values = [np.unique(column) for column in X.T]
    # Rows that are equal count once, as one of their weight does.
    n_distinct = len(np.unique(X, axis=0)) if most_inputs > 1 else len(X)
    found = np.empty((len(values), most_inputs))
    for row, each in zip(found, values, strict=True):
        row[0] = fastest_along(each)
        for g in range(2, most_inputs + 1):
            row[g - 1] = max(0.5 * (min(each.size, n_distinct ** (1 / g)) - 1), 2 * SLOWEST)
    return found
