"""A thin QR factor of the design, made from scratch: D = Q R, Z = Q'Y, E = Y - Q Z. D'D is never formed.

E and Q are stored side by side in tiles of rows (`saltus._tiles`): the first c columns are E and the rest Q.

The first columns of Q span the fixed part of the design (the linear term). They are never taken out, so of R only
the columns from the first term on are kept.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.blas import dgemm

from saltus._jit import by_reference
from saltus._tiles import aligned_zeros, tile_shape
from saltus._typing import Floats

# A new column whose squared distance to the span of the others is below this share of its squared norm is in
# that span for all practical purposes. At the limit, p'p - w'w still has five correct digits.
COLLINEAR = 1e-10
# As a tolerance: no column is refused for being in the span of others.
BEARS_ALL = -1.0
# Where columns that are hardly new are borne, less than this share of the squares is what rounding leaves of one that
# is not new at all. Its column of Q is 0, and so is its place on the diagonal of R.
NOTHING_NEW = 1e-24
# Columns of Q with a larger part along others are made orthonormal again; with less they are shorter by its square.
NOT_ORTHOGONAL = 1e-8
# A new column whose squared norm is below this has vanished: no row sees the term.
VANISHED = 1e-200
# In a descent a column depends on the others when less than this share of its length is new: twice what chains refuse.
SMALLEST_NEW_SHARE = 2 * COLLINEAR**0.5


@by_reference
class Factor(NamedTuple):
    """A thin QR of the present design. Mutated by `commit` and `refactor`."""

    tiles: Floats  # (n_tiles, c + m_max, L), E and Q
    R: Floats  # (m_max, m_max), upper triangular
    Z: Floats  # (c, m_max), by outputs
    rss: Floats  # (c,)


@by_reference
class Products(NamedTuple):
    """What a pass over the rows finds out about new columns p. Two of them for each of B edits."""

    along: Floats  # (B, 2, c + m_max), p'E and w = Q'p
    gram: Floats  # (B, 3), p_0'p_0, p_0'p_1, p_1'p_1


@by_reference
class Scratch(NamedTuple):
    """Workspace of one chain, allocated once."""

    columns: Floats  # (2, n_tiles, L), the new columns p of an edit; `project_incoming` uses the first tile
    corrections: Floats  # (c + m_max,), what is left of p'E and Q'p after a Gram-Schmidt pass
    duals: Floats  # (2, m_max), orthonormal directions V of the columns going out
    rss: Floats  # (c,), RSS after the edit
    volume: Floats  # (1,), what the edit multiplies |D'D| by
    rotations: Floats  # (2, m_max), cosines and sines


def make_factor(Q_fixed: Floats, Y: Floats, m_max: int) -> Factor:
    """Factor the fixed part alone: Q_fixed (N, m_fixed) is orthonormal, Y is (N, c), both padded."""
    n_rows, n_outputs = Y.shape
    factor = Factor(
        tiles=aligned_zeros((*tile_shape(n_rows), n_outputs + m_max)),
        R=np.zeros((m_max, m_max)),
        Z=np.zeros((n_outputs, m_max)),
        rss=np.zeros(n_outputs),
    )
    refactor(factor, Q_fixed, Y, np.empty((n_rows, 0), order="F"))
    return factor


def copy_factor(factor: Factor) -> Factor:
    """Copy a factor, on a cache line like it."""
    n_tiles, n_columns, length = factor.tiles.shape
    copy = Factor(aligned_zeros((n_tiles, length, n_columns)), factor.R.copy(), factor.Z.copy(), factor.rss.copy())
    copy.tiles[:] = factor.tiles
    return copy


def no_factor() -> Factor:
    """Stand in where no factor is needed."""
    return Factor(aligned_zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1))


def refactor(factor: Factor, Q_fixed: Floats, Y: Floats, Phi: Floats) -> None:
    """Factor the fixed part and the columns `Phi` (N, k) from scratch. Mutates the factor and Phi. O(N m^2).

    What the columns share with the fixed part is taken off twice; the rest is factored by Householder.
    Phi is in Fortran order and is overwritten by its part of Q.
    """
    n_outputs, m_fixed, k = Y.shape[1], Q_fixed.shape[1], Phi.shape[1]
    m = m_fixed + k
    if k > 0:
        factor.R[:m_fixed, m_fixed:m] = 0.0
        for _ in range(2):
            shared = Q_fixed.T @ Phi
            factor.R[:m_fixed, m_fixed:m] += shared
            Phi = dgemm(-1.0, Q_fixed, shared, 1.0, Phi, overwrite_c=1)
        Phi, factor.R[m_fixed:m, m_fixed:m] = qr(Phi, overwrite_a=True, mode="economic", check_finite=False)
        # Where columns nearly coincide, what little is left of them is not quite orthogonal to the fixed part.
        shared = Q_fixed.T @ Phi
        Phi = dgemm(-1.0, Q_fixed, shared, 1.0, Phi, overwrite_c=1)
        if np.abs(shared).max(initial=0.0) > NOT_ORTHOGONAL:
            Phi, again = qr(Phi, overwrite_a=True, mode="economic", check_finite=False)
            factor.R[m_fixed:m, m_fixed:m] = again @ factor.R[m_fixed:m, m_fixed:m]
    E = Y.copy()
    for first, Q in ((0, Q_fixed), (m_fixed, Phi)):
        last = first + Q.shape[1]
        factor.Z[:, first:last] = 0.0
        for _ in range(2):
            along = Q.T @ E
            factor.Z[:, first:last] += along.T
            E -= Q @ along
        _write(factor.tiles, n_outputs + first, Q)
    _write(factor.tiles, 0, E)
    factor.rss[:] = np.einsum("nc,nc->c", E, E)


def _write(tiles: Floats, first: int, columns: Floats) -> None:
    n_tiles, _, length = tiles.shape
    for j in range(columns.shape[1]):
        tiles[:, first + j] = columns[:, j].reshape(n_tiles, length)


def independent_columns(
    factor: Factor, m_fixed: int, squared: Floats, faintest: Floats | float = 0.0
) -> NDArray[np.bool_]:
    """Say which of the k columns just factored, of squared norms (k,), are new beside those before, and not faint."""
    distance = np.diag(factor.R)[m_fixed : m_fixed + squared.size] ** 2
    return (distance > COLLINEAR * squared + VANISHED) & (squared >= faintest)


def make_products(factor: Factor, n_edits: int) -> Products:
    """Allocate room for the products of so many edits."""
    n_columns = factor.tiles.shape[1]
    return Products(np.zeros((n_edits, 2, n_columns)), np.zeros((n_edits, 3)))


def make_scratch(factor: Factor) -> Scratch:
    """Allocate the workspace that goes with `factor`."""
    n_tiles, n_columns, length = factor.tiles.shape
    n_outputs, m_max = factor.Z.shape
    return Scratch(
        columns=np.zeros((2, n_tiles, length)),
        corrections=np.zeros(n_columns),
        duals=np.zeros((2, m_max)),
        rss=np.zeros(n_outputs),
        volume=np.ones(1),
        rotations=np.zeros((2, m_max)),
    )
