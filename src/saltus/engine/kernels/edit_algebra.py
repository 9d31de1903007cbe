"""The edit algebra: score and commit changes of at most two columns out and two in, on a thin QR factor, compiled."""

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, add_products, dot, subtract_projection
from saltus.engine.kernels.factor import COLLINEAR, NOTHING_NEW, VANISHED, Factor, Products, Scratch

# RSS after an edit is a difference; it is not resolved below this share of what it is subtracted from.
UNRESOLVED = 1e-13

# A new column whose cosine with every other is below this after one Gram-Schmidt pass needs no second.
ORTHOGONAL = 1e-13


@kernel
def rotate(c: float, s: float, upper: Floats, lower: Floats) -> None:
    """Apply a Givens rotation to two rows or columns. O(L)."""
    for i in range(upper.size):
        a = upper[i]
        b = lower[i]
        upper[i] = c * a + s * b
        lower[i] = c * b - s * a


@glue
def rotate_pair(c: float, s: float, values: Floats, i: int) -> None:
    """Apply a Givens rotation to values i and i + 1."""
    upper, lower = values[i], values[i + 1]
    values[i] = c * upper + s * lower
    values[i + 1] = c * lower - s * upper


@glue
def find_duals(R: Floats, m_fixed: int, m: int, n_out: int, out: Ints, duals: Floats) -> None:
    """Set the rows of `duals` to R^-T e_j, j in out. O(m^2)."""
    for a in range(n_out):
        dual = duals[a]
        first = m_fixed + out[a]
        for i in range(m):
            dual[i] = 0.0
        dual[first] = 1.0
        for i in range(first, m):
            row = R[i]
            value = dual[i] / row[i]
            dual[i] = value
            for j in range(i + 1, m):
                dual[j] -= row[j] * value


@glue
def orthonormalize(duals: Floats, n_out: int, m: int) -> float:
    """Make the duals orthonormal; return their squared volume: the factor of |D'D| when the columns go. O(m)."""
    volume = 1.0
    for a in range(n_out):
        dual = duals[a]
        # Three times for the second: it is nearly parallel to the first when the terms nearly coincide.
        for _ in range(1 + 2 * a):
            along = a * dot(duals[0], dual, m)
            squared = dot(dual, dual, m)
            volume *= squared
            inverse_norm = 1.0 / np.sqrt(squared)
            for i in range(m):
                dual[i] = inverse_norm * (dual[i] - along * duals[0, i])
    return volume


@glue
def score(
    factor: Factor,
    products: Products,
    which: int,
    scratch: Scratch,
    m_fixed: int,
    n_columns: int,
    n_out: int,
    out: Ints,
    n_in: int,
) -> bool:
    """Set scratch.rss to the RSS after an edit, given the products of its new columns. O(m^2).

    The design has n_columns beside the fixed ones; `out` numbers those that go out from the first of these. False when
    a new column is in the span of the others. Leaves the factor alone, and in `products` the Gram matrix and the p'e of
    what is new in the new columns once the others are out.
    """
    find_duals(factor.R, m_fixed, m_fixed + n_columns, n_out, out, scratch.duals)
    m = m_fixed + n_columns
    return score_with_duals(factor.Z, factor.rss, products, which, scratch, m, n_out, n_in, COLLINEAR)


@kernel
def score_with_duals(
    Z: Floats,
    rss_before: Floats,
    products: Products,
    which: int,
    scratch: Scratch,
    m: int,
    n_out: int,
    n_in: int,
    tolerance: float,
) -> bool:
    """Do the same, given the duals R^-T e_j of the columns that go out, in scratch. O(m).

    A column is in the span of others if its squared distance to them is no more than `tolerance` of its squared norm.
    """
    duals, rss, gram = scratch.duals, scratch.rss, products.gram[which]
    n_outputs = rss.size
    along_0, along_1 = products.along[which, 0], products.along[which, 1]
    w_0, w_1 = along_0[n_outputs:], along_1[n_outputs:]
    squared_0, squared_1 = gram[0], gram[2]
    gram[0] -= dot(w_0, w_0, m)
    if n_in == 2:
        gram[1] -= dot(w_0, w_1, m)
        gram[2] -= dot(w_1, w_1, m)
    for i in range(n_outputs):
        rss[i] = rss_before[i]

    volume = orthonormalize(duals, n_out, m)
    for b in range(n_out):
        dual = duals[b]
        t_0 = dot(dual, w_0, m)
        t_1 = dot(dual, w_1, m)
        gram[0] += t_0 * t_0
        gram[1] += t_0 * t_1
        gram[2] += t_1 * t_1
        for i in range(n_outputs):
            released = dot(dual, Z[i], m)
            rss[i] += released * released
            along_0[i] += t_0 * released
            along_1[i] += t_1 * released

    if n_in > 0:
        if not gram[0] > tolerance * squared_0 + VANISHED:
            return False
        volume *= gram[0]
        for i in range(n_outputs):
            rss[i] = max(rss[i] - along_0[i] * along_0[i] / gram[0], UNRESOLVED * rss[i])
    if n_in == 2:
        # The second new column, less its part along the first.
        slope = gram[1] / gram[0]
        distance = gram[2] - slope * gram[1]
        if not distance > tolerance * squared_1 + VANISHED:
            return False
        volume *= distance
        for i in range(n_outputs):
            gain = along_1[i] - slope * along_0[i]
            rss[i] = max(rss[i] - gain * gain / distance, UNRESOLVED * rss[i])
    scratch.volume[0] = volume
    return True


@glue
def drop_from_R(factor: Factor, m: int, out: int, cosines: Floats, sines: Floats, along: Floats) -> None:
    """Take column `out` of m out of R and Z by Givens rotations; rotate w = Q'p of the new columns too. O(m^2)."""
    R, Z = factor.R, factor.Z
    n_outputs = Z.shape[0]
    last = m - 1
    for i in range(m):
        row = R[i]
        for j in range(max(i - 1, out), last):
            row[j] = row[j + 1]
    for i in range(out, last):
        upper, lower = R[i], R[i + 1]
        length = np.sqrt(upper[i] * upper[i] + lower[i] * lower[i])
        # Both are 0 where a column that brought nothing new still brings nothing.
        c = upper[i] / length if length > 0.0 else 1.0
        s = lower[i] / length if length > 0.0 else 0.0
        cosines[i - out] = c
        sines[i - out] = s
        rotate(c, s, upper[i:last], lower[i:last])
        lower[i] = 0.0
        for output in range(n_outputs):
            rotate_pair(c, s, Z[output], i)
        for a in range(2):
            rotate_pair(c, s, along[a], n_outputs + i)


@glue
def append_to_R(factor: Factor, m: int, along: Floats, corrections: Floats, squared: float) -> tuple[float, bool]:
    """Make column m of R and row m of Z from the Gram-Schmidt passes. O(m).

    Return the largest cosine left, and whether anything is new in the column: if not, it has no column of Q.
    """
    R, Z = factor.R, factor.Z
    n_outputs = Z.shape[0]
    largest, known = 0.0, 0.0
    for j in range(m):
        largest = max(largest, abs(corrections[n_outputs + j]))
        known += along[n_outputs + j] * along[n_outputs + j]
    is_new = squared > NOTHING_NEW * known
    largest = largest / np.sqrt(squared) if is_new else 0.0
    for j in range(m):
        R[m, j] = 0.0
        R[j, m] = along[n_outputs + j]
        if largest > ORTHOGONAL:
            correction = corrections[n_outputs + j]
            R[j, m] += correction
            squared -= correction * correction
    length = np.sqrt(squared)
    R[m, m] = length if is_new else 0.0
    for i in range(n_outputs):
        Z[i, m] = corrections[i] / length if is_new else 0.0
    return largest, is_new


@glue
def drop_columns(
    factor: Factor, along: Floats, rotations: Floats, m_fixed: int, n_columns: int, n_out: int, out: Ints
) -> None:
    """Take columns out, the later first; rotate w = Q'p of the new columns along. O(N m)."""
    tiles, Z = factor.tiles, factor.Z
    n_outputs = Z.shape[0]
    for b in range(n_out):
        m = m_fixed + n_columns - b
        first, last = m_fixed + out[b], m - 1
        cosines, sines = rotations[0], rotations[1]
        drop_from_R(factor, m, first, cosines, sines, along)
        for t in range(tiles.shape[0]):
            tile = tiles[t]
            for r in range(last - first):
                j = n_outputs + first + r
                rotate(cosines[r], sines[r], tile[j], tile[j + 1])
            # What the outgoing direction explained goes back to the residuals.
            for i in range(n_outputs):
                add_multiple(Z[i, last], tile[n_outputs + last], tile[i])


@glue
def find_along(factor: Factor, columns: Floats, j: int) -> float:
    """Find how far a column (n_tiles, L) goes along column j of Q. O(N)."""
    tiles, n_outputs = factor.tiles, factor.rss.size
    value = 0.0
    for t in range(tiles.shape[0]):
        value += dot(tiles[t, n_outputs + j], columns[t], tiles.shape[2])
    return value


@kernel
def append_column(factor: Factor, columns: Floats, along: Floats, corrections: Floats, m: int) -> None:
    """Append a column (n_tiles, L) as column m, given p'E and w = Q'p in `along`. O(N m).

    One pass over the tiles makes it orthogonal to the rest; another writes it, made orthogonal once more where
    rounding asks for it.
    """
    tiles, Z = factor.tiles, factor.Z
    n_outputs = Z.shape[0]
    n_columns = n_outputs + m
    for j in range(n_columns):
        corrections[j] = 0.0
    for i in range(n_outputs):
        along[i] = 0.0
    squared = 0.0
    for t in range(tiles.shape[0]):
        column = columns[t]
        subtract_projection(tiles[t], column, n_columns, along)
        add_products(tiles[t], column, n_columns, corrections)
        squared += dot(column, column, column.size)
    largest_cosine, is_new = append_to_R(factor, m, along, corrections, squared)
    inverse_length = 1.0 / factor.R[m, m] if is_new else 0.0
    for i in range(n_outputs):
        corrections[i] = 0.0
    for t in range(tiles.shape[0]):
        tile, column = tiles[t], columns[t]
        if largest_cosine > ORTHOGONAL:
            subtract_projection(tile, column, n_columns, corrections)
        new = tile[n_columns]
        for row in range(new.size):
            new[row] = column[row] * inverse_length
        for i in range(n_outputs):
            add_multiple(-Z[i, m], new, tile[i])


@glue
def sum_residuals(factor: Factor) -> None:
    """Set the RSS from the residuals. O(N c)."""
    tiles, rss = factor.tiles, factor.rss
    for i in range(rss.size):
        rss[i] = 0.0
        for t in range(tiles.shape[0]):
            rss[i] += dot(tiles[t, i], tiles[t, i], tiles.shape[2])


@kernel
def copy_into(source: Factor, to: Factor, m: int) -> None:
    """Copy a factor of m columns. O(N m)."""
    n_outputs = source.rss.size
    for t in range(source.tiles.shape[0]):
        for j in range(n_outputs + m):
            column, copied = source.tiles[t, j], to.tiles[t, j]
            for i in range(column.size):
                copied[i] = column[i]
    for j in range(m):
        for i in range(m):
            to.R[i, j] = source.R[i, j]
    for i in range(n_outputs):
        to.rss[i] = source.rss[i]
        for j in range(m):
            to.Z[i, j] = source.Z[i, j]


@kernel
def commit(
    factor: Factor,
    products: Products,
    which: int,
    scratch: Scratch,
    m_fixed: int,
    n_columns: int,
    n_out: int,
    out: Ints,
    n_in: int,
) -> None:
    """Carry out an edit that was scored; its new columns are in scratch.columns. O(N m).

    Mutates the factor and uses its input up.
    """
    along = products.along[which]
    drop_columns(factor, along, scratch.rotations, m_fixed, n_columns, n_out, out)
    for a in range(n_in):
        m = m_fixed + n_columns - n_out + a
        if a == 1:
            # Not from the Gram matrix: the first new column may bring nothing, and have no column of Q.
            along[1, factor.rss.size + m - 1] = find_along(factor, scratch.columns[1], m - 1)
        append_column(factor, scratch.columns[a], along[a], scratch.corrections, m)
    sum_residuals(factor)
