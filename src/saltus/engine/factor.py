"""The edit algebra: score and commit changes of at most two columns out and two in, on a thin QR factor.

D = Q R is the design, Z = Q'Y, E = Y - Q Z. Row n of the array `rows` holds E[n, :] and then Q[n, :], so that
one sweep over the rows gives p'E and Q'p together. D'D is never formed.

The first columns of Q span the fixed part of the design (the linear term). They are never taken out, so R is
kept only to the extent that it is used: its rows and columns from the first basis function on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus._jit import glue, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A new column whose squared distance to the span of the others is below this share of its squared norm is in
# that span for all practical purposes. At the limit, p'p - w'w still has five correct digits.
COLLINEAR = 1e-10

# RSS after an edit is a difference; it is not resolved below this share of what it is subtracted from.
UNRESOLVED = 1e-13

# Columns of `rows` are padded to whole vectors of this many doubles.
LANES = 8


class Factor(NamedTuple):
    """A thin QR of the present design. Mutated by `remove_column`, `append_column`."""

    rows: Floats  # (N, stride), E and Q side by side
    R: Floats  # (m_max, m_max), upper triangular
    Z: Floats  # (m_max, c)
    rss: Floats  # (c,)


class Scratch(NamedTuple):
    """Workspace of one chain, allocated once."""

    columns: Floats  # (2, N), the new columns p
    products: Floats  # (2, stride), p'E and Q'p of each
    duals: Floats  # (2, m_max), orthonormal directions V of the columns going out
    dual_Z: Floats  # (2, c), V'Z
    gains: Floats  # (2, c), p'e once the outgoing columns are out
    overlap: Floats  # (2, 2), V'w
    rss: Floats  # (c,), RSS after the edit
    rotations: Floats  # (2, m_max), cosines and sines


def aligned_zeros(n_rows: int, n_columns: int) -> Floats:
    """Allocate zeros with rows padded to whole vectors, the first on a cache line."""
    stride = -(-n_columns // LANES) * LANES
    n_bytes = n_rows * stride * 8
    buffer = np.zeros(n_bytes + 64, dtype=np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + n_bytes].view(np.float64).reshape(n_rows, stride)


def make_factor(Q_fixed: Floats, Y: Floats, m_max: int) -> Factor:
    """Factor the fixed part alone: Q_fixed (N, m_fixed) is orthonormal, Y is (N, c)."""
    n_rows, n_outputs = Y.shape
    m_fixed = Q_fixed.shape[1]
    rows = aligned_zeros(n_rows, n_outputs + m_max)
    rows[:, n_outputs : n_outputs + m_fixed] = Q_fixed
    factor = Factor(rows, np.zeros((m_max, m_max)), np.zeros((m_max, n_outputs)), np.zeros(n_outputs))
    refactor(factor, Y, m_fixed, np.empty((n_rows, 0)))
    return factor


def refactor(factor: Factor, Y: Floats, m_fixed: int, Phi: Floats) -> None:
    """Factor the fixed part and the columns `Phi` (N, k) from scratch. Mutates the factor. O(N m^2).

    What the columns share with the fixed part is taken off twice; the rest is factored by Householder.
    """
    n_outputs = Y.shape[1]
    m = m_fixed + Phi.shape[1]
    Q = factor.rows[:, n_outputs : n_outputs + m]
    Q_fixed = Q[:, :m_fixed]
    shared = Q_fixed.T @ Phi
    rest = Phi - Q_fixed @ shared
    correction = Q_fixed.T @ rest
    rest -= Q_fixed @ correction
    factor.R[:m_fixed, m_fixed:m] = shared + correction
    Q[:, m_fixed:], factor.R[m_fixed:m, m_fixed:m] = np.linalg.qr(rest)
    factor.Z[:m] = Q.T @ Y
    E = Y - Q @ factor.Z[:m]
    correction = Q.T @ E
    factor.Z[:m] += correction
    E -= Q @ correction
    factor.rows[:, :n_outputs] = E
    factor.rss[:] = np.einsum("nc,nc->c", E, E)


def independent_columns(factor: Factor, m_fixed: int, Phi: Floats) -> NDArray[np.bool_]:
    """Say which columns of `Phi` (N, k), just factored, are not in the span of those before them."""
    m = m_fixed + Phi.shape[1]
    distance = np.diag(factor.R)[m_fixed:m] ** 2
    return distance > COLLINEAR * np.einsum("nk,nk->k", Phi, Phi)


def make_scratch(factor: Factor) -> Scratch:
    """Allocate the workspace that goes with `factor`."""
    n_rows, stride = factor.rows.shape
    m_max, n_outputs = factor.Z.shape
    return Scratch(
        columns=np.zeros((2, n_rows)),
        products=np.zeros((2, stride)),
        duals=np.zeros((2, m_max)),
        dual_Z=np.zeros((2, n_outputs)),
        gains=np.zeros((2, n_outputs)),
        overlap=np.zeros((2, 2)),
        rss=np.zeros(n_outputs),
        rotations=np.zeros((2, m_max)),
    )


@kernel
def dot(a: Floats, b: Floats, n: int) -> float:
    """Sum a[i] b[i] over i < n, in four partial sums of fixed order."""
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@kernel
def sweep(rows: Floats, column: Floats, n_columns: int, products: Floats) -> float:
    """Set products = column' rows; return column'column. O(N m).

    Four rows at a time: `products` is then loaded and stored once for four multiply-adds. Against NumPy's
    `Q.T @ p` on one thread this takes 0.25 (N = 200, m = 15), 0.8 (2 000, 33) and 0.85 (20 000, 53) of the time.
    """
    n_rows = rows.shape[0]
    width = (n_columns + LANES - 1) // LANES * LANES
    for j in range(width):
        products[j] = 0.0
    squared = 0.0
    whole = n_rows - n_rows % 4
    for n in range(0, whole, 4):
        p0 = column[n]
        p1 = column[n + 1]
        p2 = column[n + 2]
        p3 = column[n + 3]
        squared += (p0 * p0 + p1 * p1) + (p2 * p2 + p3 * p3)
        for j in range(width):
            products[j] += (p0 * rows[n, j] + p1 * rows[n + 1, j]) + (p2 * rows[n + 2, j] + p3 * rows[n + 3, j])
    for n in range(whole, n_rows):
        p0 = column[n]
        squared += p0 * p0
        for j in range(width):
            products[j] += p0 * rows[n, j]
    return squared


@glue
def find_duals(R: Floats, m_fixed: int, m: int, n_out: int, out: Ints, duals: Floats) -> None:
    """Set the rows of `duals` to an orthonormal basis of span{R^-T e_j}, j in out. O(m^2)."""
    for a in range(n_out):
        first = m_fixed + out[a]
        for i in range(m):
            duals[a, i] = 0.0
        duals[a, first] = 1.0
        squared = 0.0
        for i in range(first, m):
            value = duals[a, i] / R[i, i]
            duals[a, i] = value
            squared += value * value
            for j in range(i + 1, m):
                duals[a, j] -= R[i, j] * value
        inverse_norm = 1.0 / np.sqrt(squared)
        for i in range(first, m):
            duals[a, i] *= inverse_norm
    if n_out == 2:
        # Twice is enough: the two are nearly parallel when the centres nearly coincide.
        for _ in range(2):
            along = dot(duals[0], duals[1], m)
            for i in range(m):
                duals[1, i] -= along * duals[0, i]
            inverse_norm = 1.0 / np.sqrt(dot(duals[1], duals[1], m))
            for i in range(m):
                duals[1, i] *= inverse_norm


@kernel
def score(factor: Factor, scratch: Scratch, m_fixed: int, k: int, n_out: int, out: Ints, n_in: int) -> bool:
    """Set scratch.rss to the RSS after an edit, leaving the factor alone. O(m^2 + n_in N m).

    `out` numbers the columns that go out from the first after the fixed ones; the new columns are in
    scratch.columns. False when those are in the span of the others.
    """
    m = m_fixed + k
    n_outputs = factor.rss.size
    duals = scratch.duals
    find_duals(factor.R, m_fixed, m, n_out, out, duals)
    for i in range(n_outputs):
        scratch.rss[i] = factor.rss[i]
        for a in range(n_out):
            along = 0.0
            for j in range(m_fixed, m):
                along += duals[a, j] * factor.Z[j, i]
            scratch.dual_Z[a, i] = along
            scratch.rss[i] += along * along

    distance_0 = 1.0
    for a in range(n_in):
        products = scratch.products[a]
        squared = sweep(factor.rows, scratch.columns[a], n_outputs + m, products)
        w = products[n_outputs:]
        distance = squared - dot(w, w, m)
        for i in range(n_outputs):
            scratch.gains[a, i] = products[i]
        for b in range(n_out):
            t = dot(duals[b], w, m)
            scratch.overlap[a, b] = t
            distance += t * t
            for i in range(n_outputs):
                scratch.gains[a, i] += t * scratch.dual_Z[b, i]
        if a == 1:
            distance -= _take_out_first(scratch, n_outputs, m, n_out, distance_0)
        if not distance > COLLINEAR * squared:
            return False
        distance_0 = distance
        for i in range(n_outputs):
            gain = scratch.gains[a, i]
            before = scratch.rss[i]
            after = before - gain * gain / distance
            scratch.rss[i] = max(after, UNRESOLVED * before)
    return True


@glue
def _take_out_first(scratch: Scratch, n_outputs: int, m: int, n_out: int, distance_0: float) -> float:
    """Orthogonalise the second new column against the first; return the squared length that it loses."""
    p_0 = scratch.columns[0]
    p_1 = scratch.columns[1]
    cross = dot(p_0, p_1, p_0.size) - dot(scratch.products[0][n_outputs:], scratch.products[1][n_outputs:], m)
    for b in range(n_out):
        cross += scratch.overlap[0, b] * scratch.overlap[1, b]
    slope = cross / distance_0
    for i in range(n_outputs):
        scratch.gains[1, i] -= slope * scratch.gains[0, i]
    return slope * cross


@glue
def remove_column(factor: Factor, scratch: Scratch, m: int, out: int) -> None:
    """Take column `out` of the m columns out, by Givens rotations. Mutates the factor. O(N (m - out) + m^2)."""
    R, Z, rows = factor.R, factor.Z, factor.rows
    n_outputs = Z.shape[1]
    cosines, sines = scratch.rotations[0], scratch.rotations[1]
    last = m - 1
    for i in range(out):
        for j in range(out, last):
            R[i, j] = R[i, j + 1]
    for i in range(out, m):
        for j in range(max(i - 1, out), last):
            R[i, j] = R[i, j + 1]
    for i in range(out, last):
        upper = R[i, i]
        lower = R[i + 1, i]
        length = np.hypot(upper, lower)
        c = upper / length
        s = lower / length
        cosines[i] = c
        sines[i] = s
        R[i, i] = length
        R[i + 1, i] = 0.0
        for j in range(i + 1, last):
            above = R[i, j]
            R[i, j] = c * above + s * R[i + 1, j]
            R[i + 1, j] = c * R[i + 1, j] - s * above
        for j in range(n_outputs):
            above = Z[i, j]
            Z[i, j] = c * above + s * Z[i + 1, j]
            Z[i + 1, j] = c * Z[i + 1, j] - s * above
    first = n_outputs + out
    rotate_rows(rows[:, :n_outputs], rows[:, first:], last - out, cosines[out:], sines[out:], Z[last])


@kernel
def rotate_rows(
    E: Floats, Q: Floats, n_rotations: int, cosines: Floats, sines: Floats, released: Floats
) -> None:
    """Rotate the first columns of Q pairwise; give what the outgoing direction explained back to E. O(N m).

    Four rows at a time: each is a chain of dependent operations, and four chains hide each other's latency.
    """
    n_rows = Q.shape[0]
    whole = n_rows - n_rows % 4
    for n in range(0, whole, 4):
        carry_0 = Q[n, 0]
        carry_1 = Q[n + 1, 0]
        carry_2 = Q[n + 2, 0]
        carry_3 = Q[n + 3, 0]
        for j in range(n_rotations):
            c = cosines[j]
            s = sines[j]
            next_0 = Q[n, j + 1]
            next_1 = Q[n + 1, j + 1]
            next_2 = Q[n + 2, j + 1]
            next_3 = Q[n + 3, j + 1]
            Q[n, j] = c * carry_0 + s * next_0
            Q[n + 1, j] = c * carry_1 + s * next_1
            Q[n + 2, j] = c * carry_2 + s * next_2
            Q[n + 3, j] = c * carry_3 + s * next_3
            carry_0 = c * next_0 - s * carry_0
            carry_1 = c * next_1 - s * carry_1
            carry_2 = c * next_2 - s * carry_2
            carry_3 = c * next_3 - s * carry_3
        for i in range(released.size):
            E[n, i] += carry_0 * released[i]
            E[n + 1, i] += carry_1 * released[i]
            E[n + 2, i] += carry_2 * released[i]
            E[n + 3, i] += carry_3 * released[i]
    for n in range(whole, n_rows):
        carry_0 = Q[n, 0]
        for j in range(n_rotations):
            next_0 = Q[n, j + 1]
            Q[n, j] = cosines[j] * carry_0 + sines[j] * next_0
            carry_0 = cosines[j] * next_0 - sines[j] * carry_0
        for i in range(released.size):
            E[n, i] += carry_0 * released[i]


@kernel
def subtract_projection(rows: Floats, column: Floats, n_columns: int, products: Floats) -> None:
    """Column -= rows products, over the first n_columns. O(N m).

    Four rows at a time, each a sum of fixed order: four chains hide each other's latency.
    """
    n_rows = rows.shape[0]
    whole = n_rows - n_rows % 4
    for n in range(0, whole, 4):
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        for j in range(n_columns):
            w = products[j]
            s0 += rows[n, j] * w
            s1 += rows[n + 1, j] * w
            s2 += rows[n + 2, j] * w
            s3 += rows[n + 3, j] * w
        column[n] -= s0
        column[n + 1] -= s1
        column[n + 2] -= s2
        column[n + 3] -= s3
    for n in range(whole, n_rows):
        s0 = 0.0
        for j in range(n_columns):
            s0 += rows[n, j] * products[j]
        column[n] -= s0


@glue
def append_column(factor: Factor, scratch: Scratch, m: int, which: int) -> None:
    """Append scratch.columns[which] as column m, by Gram-Schmidt twice. Mutates the factor. O(N m)."""
    R, Z, rows = factor.R, factor.Z, factor.rows
    n_outputs = Z.shape[1]
    column, products = scratch.columns[which], scratch.products[which]
    for j in range(m):
        R[j, m] = 0.0
        R[m, j] = 0.0
    for _ in range(2):
        sweep(rows, column, n_outputs + m, products)
        for i in range(n_outputs):
            products[i] = 0.0
        subtract_projection(rows, column, n_outputs + m, products)
        for j in range(m):
            R[j, m] += products[n_outputs + j]
    squared = sweep(rows, column, n_outputs, products)
    length = np.sqrt(squared)
    R[m, m] = length
    for i in range(n_outputs):
        Z[m, i] = products[i] / length
    inverse_length = 1.0 / length
    for n in range(rows.shape[0]):
        q = column[n] * inverse_length
        rows[n, n_outputs + m] = q
        for i in range(n_outputs):
            rows[n, i] -= q * Z[m, i]


@glue
def measure_rss(factor: Factor) -> None:
    """Set factor.rss from the residuals themselves. O(N c)."""
    rows, rss = factor.rows, factor.rss
    for i in range(rss.size):
        rss[i] = 0.0
    for n in range(rows.shape[0]):
        for i in range(rss.size):
            rss[i] += rows[n, i] * rows[n, i]


@kernel
def commit(factor: Factor, scratch: Scratch, m_fixed: int, k: int, n_out: int, out: Ints, n_in: int) -> None:
    """Carry an edit out. Mutates the factor; the new columns in scratch.columns are used up. O(N m)."""
    m = m_fixed + k
    for a in range(n_out):
        # The later column first, so that the number of the earlier one stands.
        which = out[a] if n_out == 1 else (min(out[0], out[1]) if a == 1 else max(out[0], out[1]))
        remove_column(factor, scratch, m - a, m_fixed + which)
    for a in range(n_in):
        append_column(factor, scratch, m - n_out + a, a)
    measure_rss(factor)
