"""Waves, compiled: how they are drawn, moved, evaluated and differentiated.

A term is A cos(2 pi w'x) + B sin(2 pi w'x) with frequencies w along g inputs: the frequency times the direction. Its
choices are g and the inputs. Its parameters are one for each input: of the first, its frequency, which is not negative
as w and -w are the same wave; of the others, from the fastest one way to the fastest the other. A term has two columns,
the cosine and the sine. Decoded, a column is g, its phase, then for each input its number and w_i.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue, kernel
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, clear
from saltus.families.choosing_kernels import draw_other_input, draw_size
from saltus.families.inputs import InputData
from saltus.families.line_profiles import WAVE, multiply_by_slope, replace_by_wave
from saltus.families.terms import Edits, Terms, begin_incoming, draw_walk_scale, keep_term, pick
from saltus.families.wave.frequencies import SLOWEST
from saltus.families.wave.periodogram import Informed

SIZE, FIRST = range(2)
AT_PHASE, AT_INPUTS = 1, 2

# A sine is a cosine a quarter of a cycle later.
N_COLUMNS, QUARTER = 2, 0.25

# Ways to change one wave, each as probable as another; the last where there is another input. A fine walk goes about
# one cycle over the range of the rows, which is as near as two waves can be told apart; a wide one as far as others do.
FINE_WALK, FINE_WALK_TOO, WIDE_WALK, EXCHANGE = range(4)


@by_reference
class WaveData(NamedTuple):
    """The rows, the frequencies that waves may have, and how they are drawn."""

    inputs: InputData
    span: Floats  # (i,), the ranges of the inputs that are numbers, in standard deviations
    cycles: Floats  # (i, G), the most cycles over these, for waves in 1, 2 ... inputs
    informed: Informed  # what the data say about waves in one input


def slowest_cycles(slot: int, g: int, fastest: float) -> float:
    """Say how few cycles over its range a wave in g inputs has along that in a slot."""
    if slot > 0:
        return -fastest
    return SLOWEST if g == 1 else 0.0


kernel_slowest = glue(slowest_cycles)


@kernel
def draw_wave(rng: np.random.Generator, data: WaveData | None, family: int, edits: Edits, which: int) -> None:
    """Draw the first incoming term of an edit from q: from nu, or with some probability from the periodogram."""
    if data is None:
        return
    choices, parameters = begin_incoming(edits, which)
    if rng.random() < data.informed.share:
        n_bins = data.informed.relative.shape[1]
        chosen = find_bin(data.informed.cumulative, rng.random())
        choices[SIZE] = 1
        choices[FIRST] = chosen // n_bins
        parameters[0] = (chosen % n_bins + rng.random()) / n_bins
        return
    g = draw_size(rng, data.inputs, family)
    choices[SIZE] = g
    for i in range(g):
        choices[FIRST + i] = draw_other_input(rng, choices[FIRST:], 1, i, data.span.size)
        parameters[i] = rng.random()


@glue
def find_bin(cumulative: Floats, chance: float) -> int:
    """Find the first bin whose running sum is above a number in [0, 1). O(log B)."""
    low, high = 0, cumulative.size - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > chance:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def log_nu_over_q_wave(data: WaveData | None, family: int, choices: Ints, parameters: Floats) -> float:
    """Evaluate ln nu/q of a term, q the law that `draw_wave` draws from.

    In one input, chosen by nu with probability pi_1 / v, the periodogram has a density of its own; in several, none.
    """
    if data is None:
        return 0.0
    share, relative = data.informed.share, data.informed.relative
    q_over_nu = 1.0 - share
    if choices[SIZE] == 1 and share > 0.0:
        n_bins = relative.shape[1]
        chosen = min(int(parameters[0] * n_bins), n_bins - 1)
        q_over_nu += share * relative[choices[FIRST], chosen] / data.inputs.shares[family, 0]
    return -np.log(q_over_nu)


@kernel
def change_wave(
    rng: np.random.Generator,
    data: WaveData | None,
    terms: Terms,
    moved: int,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Change one wave a little: fill the first incoming term of an edit, return (feasible, log_green)."""
    if data is None:
        return False, 0.0
    keep_term(terms, moved, edits, which, 0)
    choices, parameters = edits.choices[which, 0], edits.incoming[which, 0]
    g, n_inputs = choices[SIZE], data.span.size
    # No way changes g, so that each has the same probability there and back.
    way = pick(rng, EXCHANGE + 1 if g < n_inputs else EXCHANGE)
    if way == EXCHANGE:
        one = pick(rng, g)
        choices[FIRST + one] = draw_other_input(rng, choices[FIRST:], 1, g, n_inputs)
        parameters[one] = rng.random()
        return True, 0.0
    scale = draw_walk_scale(rng, walk_scale if way == WIDE_WALK else 1.0)
    inside = True
    for i in range(g):
        step = scale
        if way != WIDE_WALK:
            fastest = data.cycles[choices[FIRST + i], g - 1]
            step = scale / (fastest - kernel_slowest(i, g, fastest))
        parameters[i] += step * rng.standard_normal()
        inside = inside and 0.0 <= parameters[i] <= 1.0
    return inside, 0.0


def count_wave(data: WaveData | None, choices: Ints) -> int:
    """Count the parameters in use of one term: its frequency, and one less than it has inputs for its direction."""
    if data is None:
        return 0
    return int(choices[SIZE])


count_wave_kernel = kernel(count_wave)


@kernel
def decode_wave(data: WaveData | None, choices: Ints, parameters: Floats, part: int, decoded: Floats) -> None:
    """Turn choices and parameters into the frequencies and the phase of column number `part`."""
    if data is None:
        return
    g = choices[SIZE]
    decoded[0] = g
    decoded[AT_PHASE] = -QUARTER * part
    for i in range(g):
        at = choices[FIRST + i]
        fastest = data.cycles[at, g - 1]
        slowest = kernel_slowest(i, g, fastest)
        decoded[AT_INPUTS + 2 * i] = at
        decoded[AT_INPUTS + 2 * i + 1] = (slowest + parameters[i] * (fastest - slowest)) / data.span[at]


@glue
def project_wave(data: WaveData, t: int, decoded: Floats, projection: Floats) -> None:
    """Set projection[n] = w'x of each row. O(L g)."""
    clear(projection)
    for i in range(int(decoded[0])):
        add_multiple(decoded[AT_INPUTS + 2 * i + 1], data.inputs.rows[t, int(decoded[AT_INPUTS + 2 * i])], projection)


@kernel
def evaluate_wave(data: WaveData | None, t: int, decoded: Floats, root_weight: Floats, column: Floats) -> None:
    """Set column[n] to the root of the weight times the cosine or the sine. O(L g)."""
    if data is None:
        return
    project_wave(data, t, decoded, column)
    replace_by_wave(decoded[AT_PHASE], column)
    for n in range(column.size):
        column[n] *= root_weight[n]


@kernel
def unpack_wave(data: WaveData | None, x: Floats, first: int, decoded: Floats) -> None:
    """Set the frequencies of a decoded column from a point of a descent: cycles over the ranges of inputs. O(g)."""
    if data is None:
        return
    for i in range(int(decoded[0])):
        decoded[AT_INPUTS + 2 * i + 1] = x[first + i] / data.span[int(decoded[AT_INPUTS + 2 * i])]


@kernel
def add_wave_derivatives(
    data: WaveData | None, t: int, decoded: Floats, root_weight: Floats, scratch: Floats, columns: Floats, first: int
) -> None:
    """Add the derivatives of a column by the coordinates of a descent to columns[first], columns[first + 1] and so on.

    By the cycles along x_i, x_i / span_i d phi/dz. O(L g).
    """
    if data is None:
        return
    projection, slope = scratch[0], scratch[1]
    project_wave(data, t, decoded, projection)
    for n in range(slope.size):
        slope[n] = root_weight[n]
    multiply_by_slope(WAVE, projection, 1.0, decoded[AT_PHASE], slope)
    for i in range(int(decoded[0])):
        at = int(decoded[AT_INPUTS + 2 * i])
        x, column, scale = data.inputs.rows[t, at], columns[first + i], 1.0 / data.span[at]
        for n in range(slope.size):
            column[n] += scale * slope[n] * x[n]
