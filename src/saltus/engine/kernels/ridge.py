"""The ridge prior on the coefficients, on top of the factor of the design.

alpha_i ~ N(0, sigma_i^2 delta_i^2 I). With D = Q R, the design with its ridge as m more rows is

    [ D         ]   [ Q   ] [ R         ]   [ Q R K_i     ]
    [ I/delta_i ] = [   I ] [ I/delta_i ] = [ K_i/delta_i ] R_i,     K_i = R_i^-1:

a QR of 2 m rows, whatever N. Kept is K_i, in place of R_i, as it has at hand what the edit algebra asks for: for a new
column u = K_i'R'w, from the w = Q'p that all outputs share; for a column that goes out its dual, a row of K_i. A move
costs one product with a triangle an output, a commit O(m^2), and D'D is not formed.

Under the relative ridge the columns of D are those of the linear term and, in place of a term's p, what the linear
term does not explain of it, at the length of p: c = (p - P p) / root, root^2 = |p - P p|^2 / |p|^2. No column can be
so near to others that the ridge would not tell them apart: of its squared length with the ridge, |p|^2 + 1/delta^2, at
least 1/delta^2 is new. So no column is refused for what other terms there are, but where rounding is all of that: where
delta^2 |p|^2 is beyond 1e14, on data without noise.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue, kernel, reducing_kernel
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, add_products, dot
from saltus.engine.kernels.edit_algebra import rotate, rotate_pair, score_with_duals
from saltus.engine.kernels.factor import VANISHED, Factor, Products, Scratch, make_products

# A term is refused if less than this share of its squares is not linear: rounding would decide what that part is.
SMALLEST_SHARE = 1e-10
# The distance of a column to the others is a difference, and rounding all that is left of it below this share.
ROUNDING = 1e-14


@by_reference
class Ridge(NamedTuple):
    """The triangles K_i, by columns, and what belongs to them. Mutated by a commit and a refresh."""

    relative: bool  # whether terms' columns are less their linear part, or as they are
    delta_squared: Floats  # (c,)
    root: Floats  # (m_max,), what the rest of each column was divided by; 1 where it is as it is
    R: Floats  # (m_max, m_max), of the design itself, the linear term included, by columns
    K: Floats  # (c, m_max, m_max)
    zeta: Floats  # (c, 1, m_max), R_i^-T D'y_i
    S: Floats  # (c,), y_i'P_i y_i
    entering: Products  # of one edit: what the factor's products are for its new columns as they enter D
    across: Floats  # (2, m_max), D'c of these
    products: Products  # of one edit, for each output
    scratch: Scratch  # of one output
    work: Floats  # (3, 1 + m_max, m_max)


def make_ridge(factor: Factor, R_fixed: Floats, *, relative: bool) -> Ridge:
    """Allocate; the linear term's own triangle is R_fixed (m_fixed, m_fixed)."""
    n_outputs, m_max = factor.Z.shape
    R = np.zeros((m_max, m_max))
    m_fixed = len(R_fixed)
    R[:m_fixed, :m_fixed] = R_fixed.T
    return Ridge(
        relative=relative,
        delta_squared=np.ones(n_outputs),
        root=np.ones(m_max),
        R=R,
        K=np.zeros((n_outputs, m_max, m_max)),
        zeta=np.zeros((n_outputs, 1, m_max)),
        S=np.zeros(n_outputs),
        entering=make_products(factor, 1),
        across=np.zeros((2, m_max)),
        products=Products(np.zeros((n_outputs, 2, 1 + m_max)), np.zeros((n_outputs, 3))),
        scratch=Scratch(
            columns=np.zeros((2, 1, 1)),
            corrections=np.zeros(1 + m_max),
            duals=np.zeros((2, m_max)),
            rss=np.zeros(1),
            volume=np.zeros(1),
            rotations=np.zeros((2, m_max)),
        ),
        work=np.zeros((3, 1 + m_max, m_max)),
    )


@glue
def enter_design(ridge: Ridge, products: Products, which: int, n_outputs: int, m_fixed: int, m: int, n_in: int) -> bool:
    """Set ridge.entering and .across for the new columns of a projected edit; False where one is linear. O(m^2)."""
    along, gram = ridge.entering.along[0], ridge.entering.gram[0]
    product, roots = products.gram[which, 1], 1.0
    if ridge.relative and n_in == 2:
        product -= dot(products.along[which, 0, n_outputs:], products.along[which, 1, n_outputs:], m_fixed)
    for a in range(n_in):
        found, squared = products.along[which, a], products.gram[which, 2 * a]
        rest = squared - dot(found[n_outputs:], found[n_outputs:], m_fixed)
        if not rest > SMALLEST_SHARE * squared + VANISHED:
            return False
        root = np.sqrt(rest / squared) if ridge.relative else 1.0
        for j in range(n_outputs + m):
            along[a, j] = found[j] / root
        across = ridge.across[a]
        for j in range(m):
            across[j] = 0.0
        if ridge.relative:
            for j in range(m_fixed):
                along[a, n_outputs + j] = 0.0
        add_products(ridge.R, along[a, n_outputs : n_outputs + m], m, across)
        gram[2 * a] = squared
        roots *= root
    gram[1] = product / roots
    return True


@kernel
def score_ridge(
    factor: Factor,
    ridge: Ridge,
    output: int,
    m_fixed: int,
    n_columns: int,
    n_out: int,
    out: Ints,
    n_in: int,
) -> bool:
    """Set ridge.scratch.rss to S_i, and .volume to the factor of |W_i|, after an edit. O(m^2).

    `enter_design` has seen the edit.
    """
    m = m_fixed + n_columns
    n_outputs = factor.rss.size
    entering, own, zeta = ridge.entering, ridge.products, ridge.zeta[output]
    for a in range(2):
        along = own.along[output, a]
        for j in range(1 + m):
            along[j] = 0.0
        own.gram[output, 1 + a] = 0.0
    for a in range(n_in):
        found = entering.along[0, a]
        w, u = found[n_outputs:], own.along[output, a, 1:]
        add_products(ridge.K[output], ridge.across[a, :m], m, u)
        own.along[output, a, 0] = found[output] + dot(w, factor.Z[output], m) - dot(u, zeta[0], m)
        own.gram[output, 2 * a] = entering.gram[0, 2 * a] + 1.0 / ridge.delta_squared[output]
    if n_in == 2:
        own.gram[output, 1] = entering.gram[0, 1]
    K, duals = ridge.K[output], ridge.scratch.duals
    for b in range(n_out):
        column, dual = m_fixed + out[b], duals[b]
        for j in range(m):
            dual[j] = K[j, column]
    S = ridge.S[output : output + 1]
    return score_with_duals(zeta, S, own, output, ridge.scratch, m, n_out, n_in, ROUNDING)


@kernel
def commit_ridge(factor: Factor, ridge: Ridge, m_fixed: int, n_columns: int, n_out: int, out: Ints, n_in: int) -> None:
    """Carry out an edit that was scored for every output, and done on the factor. O(c m^2)."""
    copy_columns(factor.R, ridge, m_fixed, m_fixed + n_columns - n_out + n_in)
    for output in range(ridge.S.size):
        along, gram = ridge.products.along[output], ridge.products.gram[output]
        for b in range(n_out):
            drop_from_ridge(ridge, output, m_fixed + n_columns - b, m_fixed + out[b])
        for a in range(n_in):
            m = m_fixed + n_columns - n_out + a
            squared, gain = gram[0], along[0, 0]
            if a == 1:
                # The second new column, less its part along the first.
                slope = gram[1] / gram[0]
                squared = gram[2] - slope * gram[1]
                gain = along[1, 0] - slope * along[0, 0]
                along[1, m] = gram[1] / np.sqrt(gram[0])
            append_to_ridge(ridge, output, m, along[a, 1:], np.sqrt(squared), gain)


@kernel
def drop_from_ridge(ridge: Ridge, output: int, m: int, out: int) -> None:
    """Take column `out` of m out of an output's triangle; rotate u of the new columns too. O(m^2).

    Rotations of the columns leave only the last of K's row `out`, and with it go that row, that column and its zeta.
    """
    K, zeta, along = ridge.K[output], ridge.zeta[output, 0], ridge.products.along[output]
    cosines, sines = ridge.scratch.rotations[0], ridge.scratch.rotations[1]
    last = m - 1
    squared = K[out, out] * K[out, out]
    for i in range(out, last):
        left = squared
        squared += K[i + 1, out] * K[i + 1, out]
        cosines[i] = K[i + 1, out] / np.sqrt(squared)
        sines[i] = -np.sqrt(left / squared)
    if K[out, out] < 0.0:
        sines[out] = -sines[out]
    for i in range(out, last):
        c, s = cosines[i], sines[i]
        n = i + 2
        rotate(c, s, K[i, :n], K[i + 1, :n])
        rotate_pair(c, s, zeta, i)
        for a in range(2):
            rotate_pair(c, s, along[a], 1 + i)
    for j in range(out, last):
        column = K[j]
        for i in range(out, j + 1):
            column[i] = column[i + 1]
        column[j + 1] = 0.0
    ridge.S[output] += zeta[last] * zeta[last]


@kernel
def append_to_ridge(ridge: Ridge, output: int, m: int, u: Floats, length: float, gain: float) -> None:
    """Append column m to an output's triangle, given its u and how much of it is new. O(m^2)."""
    K, zeta = ridge.K[output], ridge.zeta[output, 0]
    new = K[m]
    inverse_length = 1.0 / length
    for i in range(m):
        K[i, m] = 0.0
        new[i] = 0.0
    for j in range(m):
        n = j + 1
        add_multiple(-u[j] * inverse_length, K[j], new[:n])
    new[m] = inverse_length
    zeta[m] = gain * inverse_length
    ridge.S[output] -= zeta[m] * zeta[m]


@glue
def copy_columns(R: Floats, ridge: Ridge, m_fixed: int, m: int) -> bool:
    """Take over R of the terms; say whether none is linear. The linear term never changes. O(m^2)."""
    none_is_linear = True
    for j in range(m_fixed, m):
        column = ridge.R[j]
        linear, rest = 0.0, 0.0
        for i in range(m_fixed):
            linear += R[i, j] * R[i, j]
        for i in range(m_fixed, j + 1):
            rest += R[i, j] * R[i, j]
        none_is_linear &= rest > SMALLEST_SHARE * (linear + rest) + VANISHED
        if ridge.relative:
            ridge.root[j] = np.sqrt(max(rest / (linear + rest), SMALLEST_SHARE))
        for i in range(j + 1):
            column[i] = 0.0 if ridge.relative and i < m_fixed else R[i, j] / ridge.root[j]
        for i in range(j + 1, m):
            column[i] = 0.0
    return none_is_linear


@kernel
def refresh_ridge(factor: Factor, ridge: Ridge, m_fixed: int, n_columns: int) -> bool:
    """Make K_i, zeta_i and S_i anew from R and delta_i; say whether no term is linear. O(c m^3).

    Mutates the ridge.
    """
    m = m_fixed + n_columns
    none_is_linear = copy_columns(factor.R, ridge, m_fixed, m)
    for output in range(ridge.S.size):
        zeta = ridge.zeta[output, 0]
        for j in range(m):
            zeta[j] = factor.Z[output, j]
        added = reflect(ridge.R, ridge.delta_squared[output], m, ridge.work, zeta)
        ridge.S[output] = factor.rss[output] + added
        invert(ridge.work[0], m, ridge.K[output])
    return none_is_linear


@reducing_kernel
def reflect(R: Floats, delta_squared: float, m: int, work: Floats, zeta: Floats) -> float:
    """Set work[0] to the triangle of [R; I/delta], by Householder reflections; take zeta along; all by columns.

    Return the squares of what is left of zeta below. O(m^3).
    """
    upper, lower, below = work[0], work[1], work[2, 0]
    inverse_delta = 1.0 / np.sqrt(delta_squared)
    for j in range(m):
        below[j] = 0.0
        for i in range(j + 1):
            upper[j, i] = R[j, i]
            lower[j, i] = 0.0
        lower[j, j] = inverse_delta
    for j in range(m):
        # The reflection takes (diagonal, tail) of column j to (length, 0); its vector is (head, tail).
        tail = lower[j]
        squared = 0.0
        for i in range(j + 1):
            squared += tail[i] * tail[i]
        diagonal = upper[j, j]
        length = np.sqrt(diagonal * diagonal + squared)
        if diagonal > 0.0:
            length = -length
        head = diagonal - length
        upper[j, j] = length
        twice = -2.0 / (head * head + squared)
        for right in range(j + 1, m + 1):
            top, column = upper[right], lower[right]
            if right == m:
                top, column = zeta, below
            along = head * top[j]
            for i in range(j + 1):
                along += tail[i] * column[i]
            along *= twice
            top[j] += along * head
            for i in range(j + 1):
                column[i] += along * tail[i]
    added = 0.0
    for j in range(m):
        added += below[j] * below[j]
    return added


@kernel
def invert(triangle: Floats, m: int, K: Floats) -> None:
    """Set K to the inverse of a triangle, both by columns. O(m^3)."""
    for j in range(m):
        new = K[j]
        for i in range(m):
            new[i] = 0.0
        new[j] = 1.0
        for i in range(j, -1, -1):
            column = triangle[i]
            value = new[i] / column[i]
            for above in range(i):
                new[above] -= value * column[above]
            new[i] = value


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
