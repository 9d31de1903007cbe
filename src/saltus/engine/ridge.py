"""The ridge prior on the coefficients, on top of the factor of the design.

alpha_i ~ N(0, sigma_i^2 delta_i^2 I). With D = Q R, the design with its ridge as m more rows is

    [ D         ]   [ Q   ] [ R         ]   [ Q G_i       ]
    [ I/delta_i ] = [   I ] [ I/delta_i ] = [ K_i/delta_i ] R_i,     K_i = R_i^-1,  G_i = R K_i:

a QR of 2 m rows, whatever N. Kept are G_i and K_i, both upper triangular, in place of R_i. What the edit algebra asks for
is then at hand: w'G_i for a new column, from the w = Q'p that all outputs share; the duals of a column that goes out, as
a row of K_i. A move costs one product with a triangle an output, a commit O(m^2), and D'D is not formed here either.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints
from saltus.engine.factor import Factor, Products, Scratch, add_multiple, add_products, dot, rotate, score_with_duals


class Ridge(NamedTuple):
    """The triangles G_i and K_i, stored by columns, and what belongs to them. Mutated by a commit and a refresh."""

    delta_squared: Floats  # (c,)
    R: Floats  # (m_max, m_max), of the design itself, the linear term included, by columns
    G: Floats  # (c, m_max, m_max)
    K: Floats  # (c, m_max, m_max)
    zeta: Floats  # (c, m_max, 1), R_i^-T D'y_i
    S: Floats  # (c,), y_i'P_i y_i
    products: Products  # of one edit, for each output
    scratch: Scratch  # of one output
    work: Floats  # (3, m_max, m_max)


def make_ridge(factor: Factor, R_fixed: Floats) -> Ridge:
    """Allocate; the linear term's own triangle is R_fixed (m_fixed, m_fixed)."""
    m_max, n_outputs = factor.Z.shape
    R = np.zeros((m_max, m_max))
    m_fixed = len(R_fixed)
    R[:m_fixed, :m_fixed] = R_fixed.T
    return Ridge(
        delta_squared=np.ones(n_outputs),
        R=R,
        G=np.zeros((n_outputs, m_max, m_max)),
        K=np.zeros((n_outputs, m_max, m_max)),
        zeta=np.zeros((n_outputs, m_max, 1)),
        S=np.zeros(n_outputs),
        products=Products(np.zeros((n_outputs, 2, 1 + m_max)), np.zeros((n_outputs, 3))),
        scratch=Scratch(
            columns=np.zeros((2, 1, 1)),
            corrections=np.zeros(1 + m_max),
            duals=np.zeros((2, m_max)),
            rss=np.zeros(1),
            volume=np.zeros(1),
            rotations=np.zeros((2, 2, m_max)),
        ),
        work=np.zeros((3, m_max, m_max)),
    )


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
    own, zeta = ridge.products, ridge.zeta[output]
    for a in range(2):
        along = own.along[output, a]
        for j in range(1 + m):
            along[j] = 0.0
        own.gram[output, 1 + a] = 0.0
    for a in range(n_in):
        survey = products.along[which, a]
        w, u = survey[n_outputs : n_outputs + m], own.along[output, a, 1:]
        add_products(ridge.G[output], w, m, u)
        value = survey[output]
        for j in range(m):
            value += w[j] * factor.Z[j, output] - u[j] * zeta[j, 0]
        own.along[output, a, 0] = value
        own.gram[output, 2 * a] = products.gram[which, 2 * a] + 1.0 / ridge.delta_squared[output]
    if n_in == 2:
        own.gram[output, 1] = products.gram[which, 1]
    K, duals = ridge.K[output], ridge.scratch.duals
    for b in range(n_out):
        column, dual = m_fixed + out[b], duals[b]
        for j in range(m):
            dual[j] = K[j, column]
    return score_with_duals(zeta, ridge.S[output : output + 1], own, output, ridge.scratch, m, n_out, n_in)


@kernel
def commit_ridge(
    factor: Factor, rotations: Floats, ridge: Ridge, m_fixed: int, k: int, n_out: int, out: Ints, n_in: int
) -> None:
    """Carry out an edit that was scored for every output and done, by these rotations, on the factor. O(c m^2)."""
    for output in range(ridge.S.size):
        along, gram = ridge.products.along[output], ridge.products.gram[output]
        for b in range(n_out):
            drop_from_ridge(ridge, output, m_fixed + k - b, m_fixed + out[b], rotations[b])
        for a in range(n_in):
            m = m_fixed + k - n_out + a
            squared, gain = gram[0], along[0, 0]
            if a == 1:
                # The second new column, less its part along the first.
                slope = gram[1] / gram[0]
                squared = gram[2] - slope * gram[1]
                gain = along[1, 0] - slope * along[0, 0]
                along[1, m] = gram[1] / np.sqrt(gram[0])
            append_to_ridge(factor, ridge, output, m, along[a, 1:], np.sqrt(squared), gain)


@kernel
def drop_from_ridge(ridge: Ridge, output: int, m: int, out: int, of_factor: Floats) -> None:
    """Take column `out` of m out of the ridge's triangles; rotate u = G'w of the new columns too. O(m^2).

    Rotations of the columns leave only the last of K's row `out`, and with it go that row, that column and its zeta.
    """
    G, K, zeta, along = ridge.G[output], ridge.K[output], ridge.zeta[output], ridge.products.along[output]
    cosines, sines = of_factor[0], of_factor[1]
    last = m - 1
    for i in range(out, last):
        left, right = K[i, out], K[i + 1, out]
        length = np.sqrt(left * left + right * right)
        c = right / length
        s = -left / length
        n = i + 2
        rotate(c, s, K[i, :n], K[i + 1, :n])
        rotate(c, s, G[i, :n], G[i + 1, :n])
        rotate(c, s, zeta[i], zeta[i + 1])
        for a in range(2):
            u = along[a, 1 + i :]
            rotate(c, s, u[:1], u[1:2])
    for j in range(out, last):
        column = K[j]
        for i in range(out, j + 1):
            column[i] = column[i + 1]
        column[j + 1] = 0.0
        # The factor's own rotations, which changed Q, make G a triangle again.
        column = G[j]
        for i in range(out, j + 1):
            upper, lower = column[i], column[i + 1]
            c, s = cosines[i - out], sines[i - out]
            column[i] = c * upper + s * lower
            column[i + 1] = c * lower - s * upper
        column[j + 1] = 0.0
    ridge.S[output] += zeta[last, 0] * zeta[last, 0]


@kernel
def append_to_ridge(
    factor: Factor, ridge: Ridge, output: int, m: int, u: Floats, length: float, gain: float
) -> None:
    """Append column m, which the factor has already, to the ridge's triangles, given u = G'w. O(m^2)."""
    G, K, zeta = ridge.G[output], ridge.K[output], ridge.zeta[output]
    new_G, new_K = G[m], K[m]
    inverse_length = 1.0 / length
    for i in range(m):
        G[i, m] = 0.0
        K[i, m] = 0.0
        new_G[i] = factor.R[i, m] * inverse_length
        new_K[i] = 0.0
    for j in range(m):
        n = j + 1
        add_multiple(-u[j] * inverse_length, G[j], new_G[:n])
        add_multiple(-u[j] * inverse_length, K[j], new_K[:n])
    new_G[m] = factor.R[m, m] * inverse_length
    new_K[m] = inverse_length
    zeta[m, 0] = gain * inverse_length
    ridge.S[output] -= zeta[m, 0] * zeta[m, 0]


@kernel
def refresh_ridge(factor: Factor, ridge: Ridge, m_fixed: int, k: int) -> None:
    """Make G_i, K_i, zeta_i and S_i anew from R and delta_i, by Householder reflections. Mutates the ridge. O(c m^3)."""
    m = m_fixed + k
    R, upper, lower, right = ridge.R, ridge.work[0], ridge.work[1], ridge.work[2]
    for j in range(m_fixed, m):
        column = R[j]
        for i in range(j + 1):
            column[i] = factor.R[i, j]
    for output in range(ridge.S.size):
        above, below = right[0], right[1]
        inverse_delta = 1.0 / np.sqrt(ridge.delta_squared[output])
        for j in range(m):
            above[j] = factor.Z[j, output]
            below[j] = 0.0
            for i in range(j + 1):
                upper[j, i] = R[j, i]
                lower[j, i] = 0.0
            lower[j, j] = inverse_delta
        for j in range(m):
            # The reflection that leaves of column j what is above row j + 1 of the upper half: v is (head, tail).
            n = j + 1
            tail = lower[j]
            squared = dot(tail, tail, n)
            diagonal = upper[j, j]
            length = np.sqrt(diagonal * diagonal + squared)
            if diagonal > 0.0:
                length = -length
            head = diagonal - length
            upper[j, j] = length
            twice = -2.0 / (head * head + squared)
            for l in range(j + 1, m):
                multiple = twice * (head * upper[l, j] + dot(tail, lower[l], n))
                upper[l, j] += multiple * head
                add_multiple(multiple, tail, lower[l, :n])
            multiple = twice * (head * above[j] + dot(tail, below, n))
            above[j] += multiple * head
            add_multiple(multiple, tail, below[:n])
        ridge.S[output] = factor.rss[output] + dot(below, below, m)
        G, K = ridge.G[output], ridge.K[output]
        for j in range(m):
            ridge.zeta[output, j, 0] = above[j]
            new_G, new_K = G[j], K[j]
            for i in range(m):
                new_G[i] = 0.0
                new_K[i] = 0.0
            new_K[j] = 1.0
            for i in range(j, -1, -1):
                new_K[i] /= upper[i, i]
                n = i + 1
                add_multiple(-new_K[i], upper[i], new_K[:i])
                add_multiple(new_K[i], R[i], new_G[:n])


@glue
def log_volume(ridge: Ridge, output: int, m: int) -> float:
    """Evaluate ln|W_i| / 2."""
    total = 0.0
    for j in range(m):
        total -= np.log(abs(ridge.K[output, j, j]))
    return total


@glue
def solve_coefficients(ridge: Ridge, output: int, m: int, right: Floats) -> None:
    """Overwrite `right` (m,) by R_i^-1 right. O(m^2)."""
    K = ridge.K[output]
    for j in range(m):
        value = right[j]
        add_multiple(value, K[j], right[:j])
        right[j] = value * K[j, j]
