"""Products, compiled: how they are drawn, moved, evaluated and differentiated.

A term has g factors. Its choices are g, then for each factor its input, its profile and which way that faces. Its
parameters are two for each factor, a position and a width, of which a factor uses as many as its profile has.
Decoded, a term is g, then for each factor the input, the profile, and b and c of z = b x + c.
"""

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, copy_column
from saltus.families.inputs import (
    InputData,
    draw_inputs,
    draw_other_input,
    draw_profile,
    draw_side,
    draw_size,
    find_position,
)
from saltus.families.line_profiles import (
    BUMP,
    HAT,
    IDENTITY,
    N_PARAMETERS,
    POLYNOMIAL,
    SIDED,
    SMOOTH,
    WAVE,
    degree_of_kernel,
    multiply_by_profile,
    multiply_by_slope,
)
from saltus.families.terms import Edits, Terms, begin_incoming, draw_walk_scale, keep_term, pick

# Where things are among the choices and the parameters of a term, and in a decoded one.
SIZE, FIRST, A_FACTOR = 0, 1, 3
INPUT, PROFILE, SIDE = range(A_FACTOR)
POSITION, WIDTH, PARAMETERS_A_FACTOR = 0, 1, 2
DECODED_A_FACTOR = 4

# A hinge or a step is no nearer to the end of the range that it faces, in standard deviations.
SHORTEST = 1e-6

# Ways to change one product, each as probable as another; a walk twice.
WALK, WALK_TOO, REDRAW, EXCHANGE, GROW, SHRINK, TURN = range(7)
N_WAYS = 7


@glue
def draw_factor(
    rng: np.random.Generator, data: InputData, family: int, edits: Edits, which: int, factor: int, at: int
) -> None:
    """Draw the profile and the parameters of a factor on input `at` of the first incoming term from nu."""
    choices, parameters = edits.choices[which, 0], edits.incoming[which, 0]
    first, own = FIRST + A_FACTOR * factor, PARAMETERS_A_FACTOR * factor
    profile = draw_profile(rng, data, family)
    choices[first + INPUT] = at
    choices[first + PROFILE] = profile
    choices[first + SIDE] = draw_side(rng, profile)
    parameters[own + POSITION] = rng.random()
    parameters[own + WIDTH] = rng.random()


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
def walk_factors(rng: np.random.Generator, walk_scale: float, choices: Ints, parameters: Floats) -> bool:
    """Walk along the parameters in use of one factor or all; False where that leaves [0, 1]. Phases wrap."""
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
    return moved and inside


@glue
def shrink_product(choices: Ints, parameters: Floats, factor: int) -> None:
    """Take a factor out; the last takes its place."""
    last = choices[SIZE] - 1
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
        return walk_factors(rng, walk_scale, choices, parameters), 0.0
    factor = pick(rng, g)
    at = choices[FIRST + A_FACTOR * factor + INPUT]
    if way == TURN:
        side = FIRST + A_FACTOR * factor + SIDE
        choices[side] = 1 - choices[side]
        return SIDED[choices[FIRST + A_FACTOR * factor + PROFILE]], 0.0
    if way == REDRAW:
        draw_factor(rng, data, family, edits, which, factor, at)
        return True, 0.0
    if way == SHRINK:
        if g == 1:
            return False, 0.0
        shrink_product(choices, parameters, factor)
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


def count_product(data: InputData | None, choices: Ints) -> int:
    """Count the parameters in use of one term."""
    if data is None:
        return 0
    n_parameters = 0
    for factor in range(choices[SIZE]):
        n_parameters += N_PARAMETERS[choices[FIRST + A_FACTOR * factor + PROFILE]]
    return n_parameters


count_product_kernel = kernel(count_product)


@glue
def slope_from(position: float, end: float, side: int) -> float:
    """Find the slope of a line that is 0 at a position and 1 at the end of the range that it faces."""
    return 1.0 / (max(end - position, SHORTEST) if side == 0 else min(end - position, -SHORTEST))


@kernel
def decode_product(data: InputData | None, choices: Ints, parameters: Floats, decoded: Floats) -> None:
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
        if profile == IDENTITY:
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
def evaluate_product(data: InputData | None, t: int, decoded: Floats, root_weight: Floats, column: Floats) -> None:
    """Set column[n] to the root of the weight times the product of the factors. O(L g)."""
    if data is None:
        return
    copy_column(root_weight, column)
    for factor in range(int(decoded[0])):
        at = 1 + DECODED_A_FACTOR * factor
        x = data.rows[t, int(decoded[at])]
        multiply_by_profile(int(decoded[at + 1]), x, decoded[at + 2], decoded[at + 3], column)


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
        at = 1 + DECODED_A_FACTOR * other
        x = data.rows[t, int(decoded[at])]
        if other == factor:
            multiply_by_slope(int(decoded[at + 1]), x, decoded[at + 2], decoded[at + 3], slope)
        else:
            multiply_by_profile(int(decoded[at + 1]), x, decoded[at + 2], decoded[at + 3], slope)


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
