"""The best threshold of a step, found by looking at all of them in one pass over the rows, as trees do.

Rows fall into bins between the midpoints of neighbouring knots. With p the product of the other factors, each bin has
sums of p times the residuals and of p^2. Running sums of these over the bins beyond a threshold are the products of the
column with the residuals and with itself, at every threshold. Tables of the UCI repository, error over the spread of y
on splits 11 and 12 without this and with it: pol .144 .143 and .115 .118, parkinsons .024 .039 and .021 .021. The same
for hinges made no difference there, and airfoil worse.

Levels of a category are bins as well: the best single one, and the best set of them, are found in the same pass.
"""

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Bytes, Floats, Ints
from saltus._vectors import clear, copy_column
from saltus.families.inputs import LEVELS_A_WORD, InputData
from saltus.families.line_profiles import LEVEL, STEP, SUBSET
from saltus.families.product.kernels import (
    A_FACTOR,
    AT_GAP,
    FIRST,
    INPUT,
    PARAMETERS_A_FACTOR,
    POSITION,
    PROFILE,
    SIDE,
    SIZE,
    decode_product,
    first_word,
    multiply_by_factor,
)
from saltus.families.terms import Edits, pick

# A column whose variance is less than this share of its square is constant.
FLATTEST = 1e-8
# Of thresholds whose worth differs by less than this share the first is taken: rounding must not choose.
ROUNDING = 1e-9


@kernel
def add_to_bins(bins: Bytes, column: Floats, tile: Floats, n_along: int, sums: Floats) -> None:
    """Add the rows of a tile to the sums of their bins. O(L c)."""
    for n in range(column.size):
        add_to_bin(column[n], tile, n, n_along, sums[bins[n]])


@glue
def add_to_bin(p: float, tile: Floats, n: int, n_along: int, row: Floats) -> None:
    """Add a row of a tile to the sums of one bin. O(c)."""
    if p != 0.0:
        for i in range(n_along):
            row[i] += p * tile[i, n]
        row[n_along] += p * p


@kernel
def add_to_bins_beside_gaps(
    bins: Bytes, is_gap: Bytes, seen_at_gaps: int, column: Floats, tile: Floats, n_along: int, sums: Floats
) -> None:
    """Do the same, with rows whose value is missing in the bin that every threshold sees, or in none if that is -1."""
    for n in range(column.size):
        if not is_gap[n]:
            add_to_bin(column[n], tile, n, n_along, sums[bins[n]])
        elif seen_at_gaps >= 0:
            add_to_bin(column[n], tile, n, n_along, sums[seen_at_gaps])


@kernel
def add_to_levels(codes: Floats, column: Floats, tile: Floats, n_along: int, sums: Floats) -> None:
    """Add the rows of a tile to the sums of their levels. O(L c)."""
    for n in range(column.size):
        add_to_bin(column[n], tile, n, n_along, sums[int(codes[n])])


@kernel
def find_threshold(
    sums: Floats, n_bins: int, side: int, seen: Floats, n_total: float, smallest: float, smallest_complement: float
) -> int:
    """Find after which bin a threshold is worth most; -1 where none is worth anything. O(bins c). Mutates the sums.

    What it is worth is the share of the residuals along the column, less its mean. A column that is too short is worth
    nothing, and neither is one whose complement is.
    """
    n_along = seen.size
    found, most = -1, 0.0
    n_seen, to_sum = seen[n_along - 1] * n_total, np.sqrt(n_total)  # the constant has a length of 1 over all rows
    # Side 0 sees the rows above a threshold that goes from the last gap down; side 1 those below, from the first up.
    seen_by = sums[0] if side == 1 else sums[n_bins - 1]
    for i in range(n_bins - 1):
        after = i if side == 1 else n_bins - 2 - i
        if i > 0:
            row = sums[after] if side == 1 else sums[after + 1]
            for j in range(n_along + 1):
                seen_by[j] += row[j]
        squared, constant = seen_by[n_along], seen_by[n_along - 1]
        left = squared - constant * constant / seen[n_along - 1]
        complement = n_seen - 2.0 * to_sum * abs(constant) + squared
        if squared >= smallest and complement >= smallest_complement and left > FLATTEST * squared:
            worth = 0.0
            for j in range(n_along - 1):
                worth += seen_by[j] * seen_by[j] / (left * seen[j])
            if worth > (1.0 + ROUNDING) * most:
                found, most = after, worth
    return found


@kernel
def find_level(sums: Floats, n_levels: int, seen: Floats, smallest: float) -> int:
    """Find the level that is worth most by itself; -1 where none is worth anything."""
    n_along, found, most = seen.size, -1, 0.0
    for level in range(n_levels):
        of_level = sums[level]
        squared, constant = of_level[n_along], of_level[n_along - 1]
        left = squared - constant * constant / seen[n_along - 1]
        if squared >= smallest and left > FLATTEST * squared:
            worth = 0.0
            for j in range(n_along - 1):
                worth += of_level[j] * of_level[j] / (left * seen[j])
            if worth > (1.0 + ROUNDING) * most:
                found, most = level, worth
    return found


@glue
def comes_later(sums: Floats, one: int, other: int, by: int, n_along: int) -> bool:
    """Say whether the level in one row of sums has a higher mean than that in another; of equals, a higher number.

    Levels that no row has come first.
    """
    a, b = sums[one], sums[other]
    below_one = a[by] / a[n_along] if a[n_along] > 0.0 else -np.inf
    below_other = b[by] / b[n_along] if b[n_along] > 0.0 else -np.inf
    return below_one > below_other or (below_one == below_other and a[n_along + 1] > b[n_along + 1])


@kernel
def sort_levels(sums: Floats, n_levels: int, by: int, n_along: int) -> None:
    """Sort rows of sums, each of a level, by the mean of one output, and note in the last column whose each is.

    Shell's method, which needs no room. O(L^1.3).
    """
    for level in range(n_levels):
        sums[level, n_along + 1] = level
    gap = n_levels // 2
    while gap > 0:
        for i in range(gap, n_levels):
            at = i
            while at >= gap and comes_later(sums, at - gap, at, by, n_along):
                for j in range(n_along + 2):
                    sums[at - gap, j], sums[at, j] = sums[at, j], sums[at - gap, j]
                at -= gap
        gap //= 2


@kernel
def find_subset(
    rng: np.random.Generator,
    sums: Floats,
    n_levels: int,
    seen: Floats,
    n_total: float,
    smallest: float,
    smallest_complement: float,
    choices: Ints,
    words: int,
) -> None:
    """Write down the set of levels that is worth most, from choices[words] on. Mutates the sums too.

    For one output, and other factors that are 0 or 1, the best of all 2^L sets is among those that are cut from the
    levels in order of their means, from the lowest up or from the highest down (Fisher 1958): one way is drawn. For
    several outputs, the levels are in the order of one of them, drawn at random. O(L^1.3).
    """
    n_along = seen.size
    sort_levels(sums, n_levels, pick(rng, n_along - 1), n_along)
    side = pick(rng, 2)
    after = find_threshold(sums, n_levels, side, seen, n_total, smallest, smallest_complement)
    if after < 0:
        return
    for word in range(-(-n_levels // LEVELS_A_WORD)):
        choices[words + word] = 0
    for i in range(n_levels):
        if (i > after) == (side == 0):
            level = int(sums[i, n_along + 1])
            choices[words + level // LEVELS_A_WORD] |= 1 << (level % LEVELS_A_WORD)


@kernel
def sharpen_product(
    rng: np.random.Generator,
    data: InputData | None,
    tiles: Floats,
    which_tiles: Ints,
    root_weight: Floats,
    seen: Floats,
    n_total: float,
    smallest: float,
    smallest_complement: float,
    edits: Edits,
    which: int,
    decoded: Floats,
    column: Floats,
    sums: Floats,
) -> None:
    """Put the threshold of one step of a candidate where it is worth most; so a level, or a set of levels.

    Mutates the candidate.

    `tiles` begin with the residuals and the constant, whose squared lengths over the tiles in question are `seen`
    (c + 1,); `sums` are (bins, c + 3), `decoded` and `column` workspaces. O(N g).
    """
    if data is None:
        return
    choices, parameters, family = edits.choices[which, 0], edits.incoming[which, 0], edits.family[which, 0]
    g, n_along = choices[SIZE], seen.size
    factor = pick(rng, g)
    first = FIRST + A_FACTOR * factor
    at, profile, side = choices[first + INPUT], choices[first + PROFILE], choices[first + SIDE]
    if profile != STEP and profile != LEVEL and profile != SUBSET:
        return
    n_bins = data.n_knots[at] if profile == STEP else data.n_levels[at]
    for i in range(n_bins):
        clear(sums[i])
    decode_product(data, family, choices, parameters, decoded)
    # A step sees the rows above it, or below it: those of the last bin, or of the first, are always among them.
    seen_at_gaps = -1 if choices[first + AT_GAP] == 0 else (n_bins - 1 if side == 0 else 0)
    for t in which_tiles:
        copy_column(root_weight[t], column)
        for other in range(g):
            if other != factor:
                multiply_by_factor(data, t, decoded, other, column)
        if profile != STEP:
            add_to_levels(data.rows[t, at], column, tiles[t], n_along, sums)
        elif data.has_gaps[at]:
            add_to_bins_beside_gaps(data.bins[t, at], data.is_gap[t, at], seen_at_gaps, column, tiles[t], n_along, sums)
        else:
            add_to_bins(data.bins[t, at], column, tiles[t], n_along, sums)
    if profile == STEP:
        after = find_threshold(sums, n_bins, side, seen, n_total, smallest, smallest_complement)
        if after >= 0:
            parameters[PARAMETERS_A_FACTOR * factor + POSITION] = (after + 0.5) / (n_bins - 1)
    elif profile == LEVEL:
        level = find_level(sums, n_bins, seen, smallest)
        if level >= 0:
            parameters[PARAMETERS_A_FACTOR * factor + POSITION] = (level + 0.5) / n_bins
    else:
        words = first_word(data, family, factor)
        find_subset(rng, sums, n_bins, seen, n_total, smallest, smallest_complement, choices, words)
