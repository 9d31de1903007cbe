"""Ridges, compiled: how they are drawn, moved, evaluated and differentiated.

A term is phi(b (a'x - t)) with a direction a of length 1 on g inputs. Its choices are g, its profile, and the inputs.
Its parameters are those of the offset and the slope, then one for each input: logistic quantiles v of these, divided by
their length, are a, so that directions are nearly as probable as each other. t is between -T and T, T^2 the sum of
(a_i reach_i)^2. Decoded, a term is g, the profile, b, t / T, T, |v|, then for each input its number and a_i.
"""

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, clear, copy_column
from saltus.families.choosing_kernels import (
    count_useful_numbers,
    draw_inputs,
    draw_other_input,
    draw_profile,
    draw_size,
)
from saltus.families.inputs import GENTLEST, STEEPEST, InputData
from saltus.families.line_profiles import N_PARAMETERS, multiply_by_slope, replace_by_profile
from saltus.families.terms import Edits, Terms, begin_incoming, draw_walk_scale, keep_term, pick
from saltus.families.useful import log_nu_over_q_of_inputs

SIZE, PROFILE, FIRST = range(3)
OFFSET, SLOPE, DIRECTION = range(3)
AT_SLOPE, AT_OFFSET, AT_REACH, AT_LENGTH, AT_INPUTS = 2, 3, 4, 5, 6

LOG_GENTLEST, LOG_STEEPEST = float(np.log(GENTLEST)), float(np.log(STEEPEST))

# Coordinates of a direction nearer to 0 or 1 than this are taken as this.
NEAREST_TO_EDGE = 1e-3

# Ways to change one ridge, each as probable as another; a walk twice.
WALK, WALK_TOO, REDRAW, EXCHANGE, GROW, SHRINK = range(6)
N_WAYS = 6


def direction_at(u: Floats) -> Floats:
    """Find the v in whose direction a ridge goes at coordinates u in [0, 1]: logistic quantiles, cut at both ends."""
    inside = np.minimum(np.maximum(u, NEAREST_TO_EDGE), 1.0 - NEAREST_TO_EDGE)
    v: Floats = np.log(inside / (1.0 - inside))
    return v


kernel_direction = glue(direction_at)


@kernel
def draw_ridge(
    rng: np.random.Generator, data: InputData | None, family: int, n_useful: int, edits: Edits, which: int
) -> None:
    """Draw the first incoming term of an edit from nu, its inputs among so many useful ones if they are enough."""
    if data is None:
        return
    choices, parameters = begin_incoming(edits, which)
    g = draw_size(rng, data, family)
    choices[SIZE] = g
    choices[PROFILE] = draw_profile(rng, data, family)
    n_useful = count_useful_numbers(data, edits.useful[1], n_useful)
    draw_inputs(rng, choices[FIRST:], 1, g, data.n_numbers, edits.useful[1], n_useful)
    for i in range(DIRECTION + g):
        parameters[i] = rng.random()


@glue
def log_nu_over_q_ridge(data: InputData | None, choices: Ints, is_used: Ints) -> float:
    """Evaluate ln nu/q of a term, given which inputs others use: it chooses among those that are numbers. O(v)."""
    if data is None:
        return 0.0
    n_used = 0
    for i in range(data.n_numbers):
        n_used += is_used[i]
    return log_nu_over_q_of_inputs(choices[FIRST:], 1, choices[SIZE], is_used, n_used, data.n_numbers)


@kernel
def change_ridge(
    rng: np.random.Generator,
    data: InputData | None,
    terms: Terms,
    moved: int,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Change one ridge a little: fill the first incoming term of an edit, return (feasible, log_green)."""
    if data is None:
        return False, 0.0
    keep_term(terms, moved, edits, which, 0)
    choices, parameters, family = edits.choices[which, 0], edits.incoming[which, 0], terms.family[moved]
    g, n_inputs = choices[SIZE], data.n_numbers
    way = pick(rng, N_WAYS)
    if way <= WALK_TOO:
        scale = draw_walk_scale(rng, walk_scale)
        inside = True
        for i in range(DIRECTION + g):
            if i == SLOPE and N_PARAMETERS[choices[PROFILE]] < 2:
                continue
            parameters[i] += scale * rng.standard_normal()
            inside = inside and 0.0 <= parameters[i] <= 1.0
        return inside, 0.0
    if way == REDRAW:
        choices[PROFILE] = draw_profile(rng, data, family)
        parameters[OFFSET] = rng.random()
        parameters[SLOPE] = rng.random()
        return True, 0.0
    one = pick(rng, g)
    if way == SHRINK:
        if g == 1:
            return False, 0.0
        last = g - 1
        choices[FIRST + one] = choices[FIRST + last]
        choices[FIRST + last] = 0
        parameters[DIRECTION + one] = parameters[DIRECTION + last]
        parameters[DIRECTION + last] = 0.0
        choices[SIZE] = last
        return True, data.log_pi[family, g - 2] - data.log_pi[family, g - 1]
    if g == n_inputs or (way == GROW and g == data.most_inputs[family]):
        return False, 0.0
    other = draw_other_input(rng, choices[FIRST:], 1, g, n_inputs)
    if way == GROW:
        one = g
        choices[SIZE] = g + 1
    choices[FIRST + one] = other
    parameters[DIRECTION + one] = rng.random()
    log_green = data.log_pi[family, g] - data.log_pi[family, g - 1] if way == GROW else 0.0
    return True, log_green


def count_ridge(data: InputData | None, choices: Ints) -> int:
    """Count the parameters in use of one term: those of its profile, and one less than it has inputs."""
    if data is None:
        return 0
    return int(N_PARAMETERS[choices[PROFILE]] + choices[SIZE] - 1)


count_ridge_kernel = kernel(count_ridge)


@glue
def set_direction(data: InputData, decoded: Floats, g: int) -> None:
    """Turn the v_i that stand for a_i into a_i, and find |v| and T. O(g)."""
    squared = 0.0
    for i in range(g):
        squared += decoded[AT_INPUTS + 2 * i + 1] ** 2
    length = np.sqrt(max(squared, 1e-300))
    reach = 0.0
    for i in range(g):
        a = decoded[AT_INPUTS + 2 * i + 1] / length
        decoded[AT_INPUTS + 2 * i + 1] = a
        reach += (a * data.reach[int(decoded[AT_INPUTS + 2 * i])]) ** 2
    decoded[AT_REACH] = np.sqrt(reach)
    decoded[AT_LENGTH] = length


@kernel
def decode_ridge(data: InputData | None, choices: Ints, parameters: Floats, decoded: Floats) -> None:
    """Turn choices and parameters into a direction, an offset and a slope."""
    if data is None:
        return
    g, profile = choices[SIZE], choices[PROFILE]
    decoded[0] = g
    decoded[1] = profile
    decoded[AT_SLOPE] = 1.0
    if N_PARAMETERS[profile] == 2:
        decoded[AT_SLOPE] = np.exp(LOG_GENTLEST + parameters[SLOPE] * (LOG_STEEPEST - LOG_GENTLEST))
    decoded[AT_OFFSET] = 2.0 * parameters[OFFSET] - 1.0
    for i in range(g):
        decoded[AT_INPUTS + 2 * i] = choices[FIRST + i]
        decoded[AT_INPUTS + 2 * i + 1] = kernel_direction(parameters[DIRECTION + i])
    set_direction(data, decoded, g)


@glue
def project(data: InputData, t: int, decoded: Floats, projection: Floats) -> None:
    """Set projection[n] = a'x of each row. O(L g)."""
    clear(projection)
    for i in range(int(decoded[0])):
        add_multiple(decoded[AT_INPUTS + 2 * i + 1], data.rows[t, int(decoded[AT_INPUTS + 2 * i])], projection)


@glue
def constant_of(decoded: Floats) -> float:
    """Find c of z = b a'x + c."""
    return -decoded[AT_SLOPE] * decoded[AT_OFFSET] * decoded[AT_REACH]


@kernel
def evaluate_ridge(data: InputData | None, t: int, decoded: Floats, root_weight: Floats, column: Floats) -> None:
    """Set column[n] to the root of the weight times phi. O(L g)."""
    if data is None:
        return
    project(data, t, decoded, column)
    replace_by_profile(int(decoded[1]), decoded[AT_SLOPE], constant_of(decoded), column)
    for n in range(column.size):
        column[n] *= root_weight[n]


@kernel
def unpack_ridge(data: InputData | None, x: Floats, first: int, decoded: Floats) -> None:
    """Set offset, slope and direction of a decoded term from a point of a descent: see `RidgeSearch.free`. O(g)."""
    if data is None:
        return
    g, to = int(decoded[0]), first + 1
    decoded[AT_OFFSET] = x[first]
    if N_PARAMETERS[int(decoded[1])] == 2:
        decoded[AT_SLOPE] = np.exp(x[to])
        to += 1
    if g > 1:
        for i in range(g):
            decoded[AT_INPUTS + 2 * i + 1] = x[to + i]
        set_direction(data, decoded, g)


@kernel
def add_ridge_derivatives(
    data: InputData | None, t: int, decoded: Floats, root_weight: Floats, scratch: Floats, columns: Floats, first: int
) -> None:
    """Add the derivatives of a column by the coordinates of a descent to columns[first], columns[first + 1] and so on.

    z = b (a'x - s T), a = v / |v|: by s, -b T d phi/dz; by ln b, z d phi/dz; by v_i,
    b / |v| (x_i - s a_i reach_i^2 / T - a_i (a'x - s T)) d phi/dz. O(L g).
    """
    if data is None:
        return
    projection, slope = scratch[0], scratch[1]
    g, profile = int(decoded[0]), int(decoded[1])
    b, c, s, reach = decoded[AT_SLOPE], constant_of(decoded), decoded[AT_OFFSET], decoded[AT_REACH]
    project(data, t, decoded, projection)
    copy_column(root_weight, slope)
    multiply_by_slope(profile, projection, b, c, slope)
    add_multiple(-b * reach, slope, columns[first])
    to = first + 1
    if N_PARAMETERS[profile] == 2:
        for n in range(slope.size):
            columns[to, n] += slope[n] * (b * projection[n] + c)
        to += 1
    if g > 1:
        scale = b / decoded[AT_LENGTH]
        for i in range(g):
            at, a = int(decoded[AT_INPUTS + 2 * i]), decoded[AT_INPUTS + 2 * i + 1]
            x, column = data.rows[t, at], columns[to + i]
            shift = s * a * (reach - data.reach[at] * data.reach[at] / reach)
            for n in range(slope.size):
                column[n] += scale * slope[n] * (x[n] - a * projection[n] + shift)
