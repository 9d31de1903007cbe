"""Products, compiled: how they are drawn, moved, evaluated and differentiated.

A term has g factors. Its choices are g, then for each factor its input, its profile, which way that faces, and what it
is where the input is missing, 0 or 1; then the words of each factor that is a set of levels, a bit for each level. Its
parameters are two for each factor, a position and a width, of which a factor uses as many as its profile has.
Decoded, a term is g, then for each factor the input, the profile, b and c of z = b x + c, and what it is at gaps; then
the words. Of a level, b is its number, and of whether a value is missing, the way it faces.
"""

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, copy_column
from saltus.families.choosing_kernels import (
    draw_inputs,
    draw_level_word,
    draw_other_input,
    draw_profile_for,
    draw_side,
    draw_size,
    find_position,
    level_at,
)
from saltus.families.inputs import LEVELS_A_WORD, InputData
from saltus.families.line_profiles import (
    BUMP,
    HAT,
    IDENTITY,
    LEVEL,
    MISSING,
    N_PARAMETERS,
    POLYNOMIAL,
    SIDED,
    SMOOTH,
    SUBSET,
    WAVE,
    degree_of_kernel,
    multiply_beside_gaps,
    multiply_by_profile,
    multiply_by_slope,
    multiply_by_slope_beside_gaps,
)
from saltus.families.terms import Edits, Terms, begin_incoming, draw_walk_scale, keep_term, pick

# Where things are among the choices and the parameters of a term, and in a decoded one.
SIZE, FIRST, A_FACTOR = 0, 1, 4
INPUT, PROFILE, SIDE, AT_GAP = range(A_FACTOR)
POSITION, WIDTH, PARAMETERS_A_FACTOR = 0, 1, 2
DECODED_A_FACTOR = 5

# Where there is only noise, the best of all sets of L levels explains 2/pi of what the means of the L levels do. So it
# counts for 2/pi (L - 1) parameters, its coefficient among them.
SHARE_OF_BEST_SET = 2.0 / np.pi

# A hinge or a step is no nearer to the end of the range that it faces, in standard deviations.
SHORTEST = 1e-6

# Ways to change one product, each as probable as another; a walk twice.
WALK, WALK_TOO, REDRAW, EXCHANGE, GROW, SHRINK, TURN = range(7)
N_WAYS = 7


@glue
def first_word(data: InputData, family: int, factor: int) -> int:
    """Find where the words of a factor begin among the choices of a term."""
    return FIRST + A_FACTOR * data.most_inputs[family] + data.n_words * factor


@glue
def may_be_one_at_gaps(data: InputData, profile: int, at: int) -> bool:
    """Say whether a factor has a choice of what it is where its input is missing: a number itself is at its mean."""
    return data.has_gaps[at] and profile not in (IDENTITY, MISSING)


@glue
def draw_factor(
    rng: np.random.Generator, data: InputData, family: int, edits: Edits, which: int, factor: int, at: int
) -> None:
    """Draw the profile and the parameters of a factor on input `at` of the first incoming term from nu."""
    choices, parameters = edits.choices[which, 0], edits.incoming[which, 0]
    first, own = FIRST + A_FACTOR * factor, PARAMETERS_A_FACTOR * factor
    profile = draw_profile_for(rng, data, family, at)
    choices[first + INPUT] = at
    choices[first + PROFILE] = profile
    choices[first + SIDE] = draw_side(rng, profile)
    choices[first + AT_GAP] = pick(rng, 2) if may_be_one_at_gaps(data, profile, at) else 0
    parameters[own + POSITION] = rng.random()
    parameters[own + WIDTH] = rng.random()
    words = first_word(data, family, factor)
    for word in range(data.n_words):
        n_levels = data.n_levels[at] if profile == SUBSET else 0
        choices[words + word] = draw_level_word(rng, n_levels, word)


@kernel
def draw_product(
    rng: np.random.Generator, data: InputData | None, family: int, n_useful: int, edits: Edits, which: int
) -> None:
    """Draw the first incoming term of an edit from nu, its inputs among so many useful ones if they are enough."""
    if data is None:
        return
    choices, _ = begin_incoming(edits, which)
    g = draw_size(rng, data, family)
    choices[SIZE] = g
    draw_inputs(rng, choices[FIRST:], A_FACTOR, g, data.n_knots.size, edits.useful[1], n_useful)
    for factor in range(g):
        draw_factor(rng, data, family, edits, which, factor, choices[FIRST + A_FACTOR * factor + INPUT])


@glue
def walk_factors(
    rng: np.random.Generator, data: InputData, family: int, walk_scale: float, choices: Ints, parameters: Floats
) -> bool:
    """Walk along the parameters in use of one factor or all; False where that leaves [0, 1]. Phases wrap.

    A set of levels takes one in or out.
    """
    scale = draw_walk_scale(rng, walk_scale)
    g = choices[SIZE]
    one = pick(rng, 2 * g)  # beyond g: all
    moved, inside = False, True
    for factor in range(g):
        profile = choices[FIRST + A_FACTOR * factor + PROFILE]
        if one >= g or one == factor:
            for i in range(N_PARAMETERS[profile]):
                value = parameters[PARAMETERS_A_FACTOR * factor + i] + scale * rng.standard_normal()
                if profile == WAVE and i == POSITION:
                    value -= np.floor(value)
                parameters[PARAMETERS_A_FACTOR * factor + i] = value
                inside = inside and 0.0 <= value <= 1.0
                moved = True
            if profile == SUBSET:
                level = pick(rng, data.n_levels[choices[FIRST + A_FACTOR * factor + INPUT]])
                choices[first_word(data, family, factor) + level // LEVELS_A_WORD] ^= 1 << (level % LEVELS_A_WORD)
                moved = True
    return moved and inside


@glue
def shrink_product(data: InputData, family: int, choices: Ints, parameters: Floats, factor: int) -> None:
    """Take a factor out; the last takes its place."""
    last = choices[SIZE] - 1
    to, source = first_word(data, family, factor), first_word(data, family, last)
    for i in range(data.n_words):
        choices[to + i] = choices[source + i]
        choices[source + i] = 0
    for i in range(A_FACTOR):
        choices[FIRST + A_FACTOR * factor + i] = choices[FIRST + A_FACTOR * last + i]
        choices[FIRST + A_FACTOR * last + i] = 0
    for i in range(PARAMETERS_A_FACTOR):
        parameters[PARAMETERS_A_FACTOR * factor + i] = parameters[PARAMETERS_A_FACTOR * last + i]
        parameters[PARAMETERS_A_FACTOR * last + i] = 0.0
    choices[SIZE] = last


@kernel
def change_product(
    rng: np.random.Generator,
    data: InputData | None,
    terms: Terms,
    moved: int,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Change one product a little: fill the first incoming term of an edit, return (feasible, log_green)."""
    if data is None:
        return False, 0.0
    keep_term(terms, moved, edits, which, 0)
    choices, parameters, family = edits.choices[which, 0], edits.incoming[which, 0], terms.family[moved]
    g, n_inputs = choices[SIZE], data.n_knots.size
    way = pick(rng, N_WAYS)
    if way <= WALK_TOO:
        return walk_factors(rng, data, family, walk_scale, choices, parameters), 0.0
    factor = pick(rng, g)
    at = choices[FIRST + A_FACTOR * factor + INPUT]
    if way == TURN:
        first = FIRST + A_FACTOR * factor
        turns_gap = may_be_one_at_gaps(data, choices[first + PROFILE], at) and rng.random() < 0.5
        turned = first + (AT_GAP if turns_gap else SIDE)
        choices[turned] = 1 - choices[turned]
        return turns_gap or SIDED[choices[first + PROFILE]], 0.0
    if way == REDRAW:
        draw_factor(rng, data, family, edits, which, factor, at)
        return True, 0.0
    if way == SHRINK:
        if g == 1:
            return False, 0.0
        shrink_product(data, family, choices, parameters, factor)
        return True, data.log_pi[family, g - 2] - data.log_pi[family, g - 1]
    if g == n_inputs or (way == GROW and g == data.most_inputs[family]):
        return False, 0.0
    other = draw_other_input(rng, choices[FIRST:], A_FACTOR, g, n_inputs)
    if way == EXCHANGE:
        draw_factor(rng, data, family, edits, which, factor, other)
        return True, 0.0
    draw_factor(rng, data, family, edits, which, g, other)
    choices[SIZE] = g + 1
    # The number of sets of inputs, and the ways to pick the factor and the input, cancel.
    return True, data.log_pi[family, g] - data.log_pi[family, g - 1]


def count_product(data: InputData | None, choices: Ints, levels_only: bool) -> int:
    """Count the parameters of one term: those in use, and what sets of levels are worth, or the latter alone."""
    if data is None:
        return 0
    n_parameters = 0
    for factor in range(choices[SIZE]):
        profile = choices[FIRST + A_FACTOR * factor + PROFILE]
        if profile == SUBSET:
            n_levels = data.n_levels[choices[FIRST + A_FACTOR * factor + INPUT]]
            n_parameters += int(np.ceil(SHARE_OF_BEST_SET * (n_levels - 1))) - 1
        elif not levels_only:
            n_parameters += N_PARAMETERS[profile]
    return n_parameters


count_product_kernel = kernel(count_product)


@glue
def slope_from(position: float, end: float, side: int) -> float:
    """Find the slope of a line that is 0 at a position and 1 at the end of the range that it faces."""
    return 1.0 / (max(end - position, SHORTEST) if side == 0 else min(end - position, -SHORTEST))


@kernel
def decode_product(data: InputData | None, family: int, choices: Ints, parameters: Floats, decoded: Floats) -> None:
    """Turn choices and parameters into b and c of each factor."""
    if data is None:
        return
    g = choices[SIZE]
    decoded[0] = g
    for factor in range(g):
        first, to = FIRST + A_FACTOR * factor, 1 + DECODED_A_FACTOR * factor
        at, profile, side = choices[first + INPUT], choices[first + PROFILE], choices[first + SIDE]
        u, v = parameters[PARAMETERS_A_FACTOR * factor], parameters[PARAMETERS_A_FACTOR * factor + WIDTH]
        decoded[to] = at
        decoded[to + 1] = profile
        decoded[to + 4] = choices[first + AT_GAP]
        source, words = first_word(data, family, factor), 1 + DECODED_A_FACTOR * g + data.n_words * factor
        for word in range(data.n_words):
            decoded[words + word] = choices[source + word]
        if profile in (LEVEL, SUBSET, MISSING):
            decoded[to + 2] = level_at(u, data.n_levels[at]) if profile == LEVEL else side
            decoded[to + 3] = 0.0
        elif profile == IDENTITY:
            decoded[to + 2] = 1.0
            decoded[to + 3] = 0.0
        elif profile == WAVE:
            low, high = data.log_frequency[at, 0], data.log_frequency[at, 1]
            decoded[to + 2] = np.exp(low + v * (high - low))
            decoded[to + 3] = -u
        elif profile == POLYNOMIAL:
            low, high = data.ends[at, 0], data.ends[at, 1]
            decoded[to + 1] = POLYNOMIAL + degree_of_kernel(u, data.highest_degree[at]) - 1
            decoded[to + 2] = 2.0 / (high - low)
            decoded[to + 3] = -(high + low) / (high - low)
        else:
            position = find_position(data, at, u)
            if profile in (BUMP, HAT):
                narrow, wide = data.log_width[at, 0], data.log_width[at, 1]
                decoded[to + 2] = np.exp(-(narrow + v * (wide - narrow)))
            else:
                decoded[to + 2] = slope_from(position, data.ends[at, 1 - side], side)
            decoded[to + 3] = -decoded[to + 2] * position


@kernel
def multiply_by_levels(codes: Floats, decoded: Floats, words: int, column: Floats) -> None:
    """Multiply column[n] by 1 where its level is in the set that is written down from decoded[words] on. O(L)."""
    for n in range(column.size):
        code = int(codes[n])
        word = int(decoded[words + code // LEVELS_A_WORD])
        column[n] *= (word >> (code % LEVELS_A_WORD)) & 1


@kernel
def multiply_by_factor(data: InputData, t: int, decoded: Floats, factor: int, column: Floats) -> None:
    """Multiply column[n] by one factor of a term at the rows of tile t. O(L)."""
    at = 1 + DECODED_A_FACTOR * factor
    i, profile, b = int(decoded[at]), int(decoded[at + 1]), decoded[at + 2]
    x = data.rows[t, i]
    if profile == LEVEL:
        for n in range(column.size):
            column[n] *= 1.0 if x[n] == b else 0.0
    elif profile == SUBSET:
        words = 1 + DECODED_A_FACTOR * int(decoded[0]) + data.n_words * factor
        multiply_by_levels(x, decoded, words, column)
    elif profile == MISSING:
        # Side 0 sees the rows whose value is missing, side 1 the others.
        is_gap = data.is_gap[t, i]
        for n in range(column.size):
            column[n] *= abs(b - is_gap[n])
    elif data.has_gaps[i]:
        multiply_beside_gaps(profile, x, b, decoded[at + 3], data.is_gap[t, i], decoded[at + 4], column)
    else:
        multiply_by_profile(profile, x, b, decoded[at + 3], column)


@kernel
def evaluate_product(data: InputData | None, t: int, decoded: Floats, root_weight: Floats, column: Floats) -> None:
    """Set column[n] to the root of the weight times the product of the factors. O(L g)."""
    if data is None:
        return
    copy_column(root_weight, column)
    for factor in range(int(decoded[0])):
        multiply_by_factor(data, t, decoded, factor, column)


@kernel
def unpack_product(data: InputData | None, x: Floats, first: int, decoded: Floats) -> None:
    """Set b and c of the factors of a decoded term from a point of a descent: see `ProductSearch.free`. O(g)."""
    if data is None:
        return
    at_x = first
    for factor in range(int(decoded[0])):
        at = 1 + DECODED_A_FACTOR * factor
        profile = int(decoded[at + 1])
        if SMOOTH[profile] and N_PARAMETERS[profile] > 0:
            if profile == WAVE:
                decoded[at + 2] = np.exp(x[at_x + 1])
                decoded[at + 3] = -x[at_x]
            else:
                if N_PARAMETERS[profile] == 2:
                    decoded[at + 2] = np.exp(-x[at_x + 1])
                else:
                    side = 0 if decoded[at + 2] > 0.0 else 1
                    decoded[at + 2] = slope_from(x[at_x], data.ends[int(decoded[at]), 1 - side], side)
                decoded[at + 3] = -decoded[at + 2] * x[at_x]
            at_x += N_PARAMETERS[profile]


@kernel
def set_slope(data: InputData, t: int, decoded: Floats, factor: int, root_weight: Floats, slope: Floats) -> None:
    """Set slope[n] to the derivative of a column by z of one factor. O(L g)."""
    copy_column(root_weight, slope)
    for other in range(int(decoded[0])):
        if other != factor:
            multiply_by_factor(data, t, decoded, other, slope)
            continue
        at = 1 + DECODED_A_FACTOR * other
        i, profile, b, c = int(decoded[at]), int(decoded[at + 1]), decoded[at + 2], decoded[at + 3]
        if data.has_gaps[i]:
            multiply_by_slope_beside_gaps(profile, data.rows[t, i], b, c, data.is_gap[t, i], slope)
        else:
            multiply_by_slope(profile, data.rows[t, i], b, c, slope)


@kernel
def add_stretched(multiple: float, slope: Floats, x: Floats, b: float, c: float, column: Floats) -> None:
    """Add a multiple of slope (b x + c). O(L)."""
    for n in range(column.size):
        column[n] += multiple * slope[n] * (b * x[n] + c)


@kernel
def add_product_derivatives(
    data: InputData | None, t: int, decoded: Floats, root_weight: Floats, scratch: Floats, columns: Floats, first: int
) -> None:
    """Add the derivatives of a column by the coordinates of a descent to columns[first], columns[first + 1] and so on.

    With z = b (x - p): by the position p of a factor -b d phi/dz, by the logarithm of its width -z d phi/dz. Of a wave
    z = b x - p: by p minus d phi/dz, by the logarithm of b (z + p) d phi/dz. Of a hinge b = 1 / (e - p), so that z is 1
    at the end e of the range: by p, b (z - 1) d phi/dz. O(L g) for each factor.
    """
    if data is None:
        return
    to, slope = first, scratch[0]
    for factor in range(int(decoded[0])):
        at = 1 + DECODED_A_FACTOR * factor
        profile, b, c = int(decoded[at + 1]), decoded[at + 2], decoded[at + 3]
        if SMOOTH[profile] and N_PARAMETERS[profile] > 0:
            set_slope(data, t, decoded, factor, root_weight, slope)
            x = data.rows[t, int(decoded[at])]
            add_multiple(-1.0 if profile == WAVE else -b, slope, columns[to])
            if profile == WAVE:
                add_stretched(1.0, slope, x, b, 0.0, columns[to + 1])
            elif N_PARAMETERS[profile] == 2:
                add_stretched(-1.0, slope, x, b, c, columns[to + 1])
            else:
                add_stretched(b, slope, x, b, c, columns[to])
            to += N_PARAMETERS[profile]
