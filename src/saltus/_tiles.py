"""How rows are laid out for loops over them: in tiles, and rounded where a search must not see their last digits.

An array (N, columns) lies in memory as tiles[t, j, l]: row t L + l of column j. A tile fits the cache, so several
passes over it cost one over the memory; its columns are contiguous, so every loop over rows is a loop over vectors.
Rows beyond the data are 0.
"""

from typing import TypeVar

import numpy as np

from saltus._typing import Bytes, Floats

Values = TypeVar("Values", Floats, Bytes)

# Rows of a tile, where there is more than one.
TILE = 512

# Descents see the data rounded to this: far below any noise, and far above the last digits, in which data in other
# units differ. So units do not decide which way a search turns.
ROUNDING = 2.0**-26


def tile_shape(n_rows: int) -> tuple[int, int]:
    """Choose (n_tiles, L) for so many rows: one tile where they are few."""
    if n_rows <= TILE:
        return 1, -(-n_rows // 8) * 8
    return -(-n_rows // TILE), TILE


def pad_rows(array: Values) -> Values:
    """Append rows of 0 so that tiles are full."""
    n_tiles, length = tile_shape(len(array))
    padded = np.zeros((n_tiles * length, *array.shape[1:]), dtype=array.dtype)
    padded[: len(array)] = array
    return padded


def to_tiles(array: Values) -> Values:
    """Arrange an array (N, columns) as tiles (n_tiles, columns, L)."""
    padded = pad_rows(array)
    return np.ascontiguousarray(padded.reshape(*tile_shape(len(array)), -1).transpose(0, 2, 1))


def from_tiles(tiles: Values) -> Values:
    """Arrange tiles (n_tiles, columns, L) as an array (rows, columns)."""
    n_tiles, n_columns, length = tiles.shape
    return tiles.transpose(0, 2, 1).reshape(n_tiles * length, n_columns)


def aligned_zeros(shape: tuple[int, int, int]) -> Floats:
    """Allocate tiles (n_tiles, columns, L) of zeros, the first on a cache line."""
    n_tiles, length, n_columns = shape
    n_bytes = 8 * n_tiles * length * n_columns
    buffer = np.zeros(n_bytes + 64, dtype=np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + n_bytes].view(np.float64).reshape(n_tiles, n_columns, length)


def rounded(values: Floats) -> Floats:
    """Leave out the last digits."""
    return np.round(values / ROUNDING) * ROUNDING
