"""The ridge prior on the coefficients, on top of the factor of the design.

alpha_i ~ N(0, sigma_i^2 delta_i^2 I). With D = Q R, W_i = D'D + I/delta_i^2 = R_i'R_i, where R_i is the triangle of
[R; I/delta_i]: a matrix of 2 m rows, whatever N. Against R_i, zeta_i = R_i^-T D'y_i and S_i = y_i'P_i y_i, the edit
algebra of `factor.score` holds as it stands, for each output by itself: so the moves cost O(m^2) more an output, the
rows are passed over once for all outputs, and D'D is not formed here either.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints
from saltus.engine.factor import Factor, Products, Scratch, drop_from_R, rotate, score


class Ridge(NamedTuple):
    """The factors R_i and what belongs to them. Mutated by `refresh_ridge`."""

    delta_squared: Floats  # (c,)
    R_design: Floats  # (m_max, m_max), R of the design itself, the linear term included
    R: Floats  # (c, m_max, m_max)
    zeta: Floats  # (c, m_max, 1)
    S: Floats  # (c,)
    products: Products  # of one edit, for each output
    scratch: Scratch  # of one output
    row: Floats  # (m_max,), workspace


def make_ridge(factor: Factor, R_fixed: Floats) -> Ridge:
    """Allocate; the linear term's own triangle is R_fixed (m_fixed, m_fixed)."""
    m_max, n_outputs = factor.Z.shape
    R_design = np.zeros((m_max, m_max))
    m_fixed = len(R_fixed)
    R_design[:m_fixed, :m_fixed] = R_fixed
    return Ridge(
        delta_squared=np.ones(n_outputs),
        R_design=R_design,
        R=np.zeros((n_outputs, m_max, m_max)),
        zeta=np.zeros((n_outputs, m_max, 1)),
        S=np.zeros(n_outputs),
        products=Products(np.zeros((n_outputs, 2, 1 + m_max)), np.zeros((n_outputs, 3))),
        scratch=Scratch(
            columns=np.zeros((2, 1, 1)),
            corrections=np.zeros(1 + m_max),
            duals=np.zeros((2, m_max)),
            rss=np.zeros(1),
            volume=np.zeros(1),
            rotations=np.zeros((2, m_max)),
        ),
        row=np.zeros(m_max),
    )


@glue
def copy_design_triangle(factor: Factor, R_design: Floats, m_fixed: int, m: int) -> None:
    """Take over R of the basis functions; that of the linear term never changes. O(m^2)."""
    for i in range(m):
        row, source = R_design[i], factor.R[i]
        for j in range(m_fixed if i < m_fixed else i, m):
            row[j] = source[j]


@kernel
def commit_ridge(factor: Factor, ridge: Ridge, m_fixed: int, k: int, n_out: int, out: Ints, n_in: int) -> None:
    """Carry out an edit that was scored for every output, and done on the factor itself. O(c m^2)."""
    m_after = m_fixed + k - n_out + n_in
    copy_design_triangle(factor, ridge.R_design, m_fixed, m_after)
    for output in range(ridge.S.size):
        R, zeta = ridge.R[output], ridge.zeta[output]
        along, gram = ridge.products.along[output], ridge.products.gram[output]
        of_output = Factor(factor.tiles, R, zeta, ridge.S[output : output + 1])
        for b in range(n_out):
            m = m_fixed + k - b
            drop_from_R(of_output, m, m_fixed + out[b], ridge.scratch.rotations, along)
            ridge.S[output] += zeta[m - 1, 0] * zeta[m - 1, 0]
        for a in range(n_in):
            m = m_fixed + k - n_out + a
            squared, gain = gram[0], along[0, 0]
            if a == 1:
                # The second new column, less its part along the first.
                slope = gram[1] / gram[0]
                squared = gram[2] - slope * gram[1]
                gain = along[1, 0] - slope * along[0, 0]
                along[1, m] = gram[1] / R[m - 1, m - 1]
            length = np.sqrt(squared)
            u = along[a, 1:]
            for j in range(m):
                R[j, m] = u[j]
                R[m, j] = 0.0
            R[m, m] = length
            zeta[m, 0] = gain / length
            ridge.S[output] -= zeta[m, 0] * zeta[m, 0]


@kernel
def refresh_ridge(factor: Factor, ridge: Ridge, m_fixed: int, k: int) -> None:
    """Triangulate [R; I/delta_i] for each output by Givens rotations. Mutates the ridge. O(c m^3)."""
    m = m_fixed + k
    R_design, row = ridge.R_design, ridge.row
    copy_design_triangle(factor, R_design, m_fixed, m)
    for output in range(ridge.S.size):
        R, zeta = ridge.R[output], ridge.zeta[output]
        ridge.S[output] = factor.rss[output]
        for i in range(m):
            zeta[i, 0] = factor.Z[i, output]
            for j in range(m):
                R[i, j] = R_design[i, j] if j >= i else 0.0
        inverse_delta = 1.0 / np.sqrt(ridge.delta_squared[output])
        for first in range(m):
            for j in range(first, m):
                row[j] = 0.0
            row[first] = inverse_delta
            rest = 0.0
            for i in range(first, m):
                upper = R[i]
                length = np.sqrt(upper[i] * upper[i] + row[i] * row[i])
                c = upper[i] / length
                s = row[i] / length
                rotate(c, s, upper[i:m], row[i:m])
                above = zeta[i, 0]
                zeta[i, 0] = c * above + s * rest
                rest = c * rest - s * above
            ridge.S[output] += rest * rest


@glue
def solve_transposed(R: Floats, right: Floats, m: int) -> None:
    """Overwrite `right` by R^-T right. O(m^2)."""
    for i in range(m):
        row = R[i]
        value = right[i] / row[i]
        right[i] = value
        for j in range(i + 1, m):
            right[j] -= row[j] * value


@kernel
def score_ridge(
    factor: Factor,
    products: Products,
    which: int,
    ridge: Ridge,
    output: int,
    m_fixed: int,
    k: int,
    n_out: int,
    out: Ints,
    n_in: int,
) -> bool:
    """Set ridge.scratch.rss to S_i, and .volume to the factor of |W_i|, after an edit. O(m^2).

    `products` are those of a survey, not yet scored on the factor itself.
    """
    m = m_fixed + k
    n_outputs = factor.rss.size
    own = ridge.products
    for a in range(2):
        own.gram[output, a] = 0.0
        along = own.along[output, a]
        for j in range(1 + m):
            along[j] = 0.0
    own.gram[output, 2] = 0.0
    for a in range(n_in):
        survey = products.along[which, a]
        w, u = survey[n_outputs:], own.along[output, a, 1:]
        value = survey[output]
        for j in range(m):
            value += w[j] * factor.Z[j, output]
            row = ridge.R_design[j]
            for i in range(j, m):
                u[i] += row[i] * w[j]
        solve_transposed(ridge.R[output], u, m)
        zeta = ridge.zeta[output]
        for j in range(m):
            value -= u[j] * zeta[j, 0]
        own.along[output, a, 0] = value
        own.gram[output, 2 * a] = products.gram[which, 2 * a] + 1.0 / ridge.delta_squared[output]
    if n_in == 2:
        own.gram[output, 1] = products.gram[which, 1]
    of_output = Factor(factor.tiles, ridge.R[output], ridge.zeta[output], ridge.S[output : output + 1])
    return score(of_output, own, output, ridge.scratch, m_fixed, k, n_out, out, n_in)


@glue
def log_volume(ridge: Ridge, output: int, m: int) -> float:
    """Evaluate ln|W_i| / 2."""
    total = 0.0
    for j in range(m):
        total += np.log(ridge.R[output, j, j])
    return total


@glue
def solve_coefficients(ridge: Ridge, output: int, m: int, right: Floats) -> None:
    """Overwrite `right` (m,) by R_i^-1 right. O(m^2)."""
    R = ridge.R[output]
    for i in range(m - 1, -1, -1):
        row = R[i]
        value = right[i]
        for j in range(i + 1, m):
            value -= row[j] * right[j]
        right[i] = value / row[i]
