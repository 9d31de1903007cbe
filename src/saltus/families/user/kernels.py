"""Terms of a user's families, compiled: how they are drawn and moved, and how Python is called to evaluate them.

The choices of a term are its number of inputs g, and the inputs, in an order. Its parameters are its own, then those of
each input. Decoded, a term is the number of its family, g, the inputs, and the parameters.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue, kernel
from saltus._typing import Floats, Ints
from saltus.families.choosing_kernels import draw_other_input, draw_size
from saltus.families.terms import Edits, Terms, begin_incoming, draw_walk_scale, keep_term, pick
from saltus.families.user import calls

# Where things are among the choices of a term.
SIZE, FIRST = range(2)

# Ways to change one term, each as probable as another; a walk twice.
WALK, WALK_TOO, REDRAW, EXCHANGE, GROW, SHRINK = range(6)
N_WAYS = 6


@by_reference
class UserData(NamedTuple):
    """How terms are drawn, and where the functions are that evaluate them.

    F is the number of all families, of which those that are not a user's have no laws here.
    """

    columns_at: int  # the address of what evaluates a column
    derivatives_at: int  # the address of what evaluates its derivatives
    n_inputs: int
    most_inputs: Ints  # (F,)
    shares: Floats  # (F, G), pi_g of g = 1, 2 ... inputs, running sums
    log_pi: Floats  # (F, G), the logarithms of pi_g
    n_own: Ints  # (F,), parameters of a term
    n_of_an_input: Ints  # (F,), further parameters for each of its inputs
    is_periodic: Ints  # (F, p), 1 or 0
    is_free: Ints  # (F, p), 1 where a descent changes them, otherwise 0
    counts: Ints  # (F, G), what a term of g = 1, 2 ... inputs counts for


@glue
def count_in_use(data: UserData, family: int, g: int) -> int:
    """Count the parameters of a term of g inputs."""
    return data.n_own[family] + g * data.n_of_an_input[family]


@kernel
def draw_user(rng: np.random.Generator, data: UserData | None, family: int, edits: Edits, which: int) -> None:
    """Draw the first incoming term of an edit from nu."""
    if data is None:
        return
    choices, parameters = begin_incoming(edits, which)
    g = draw_size(rng, data, family)
    choices[SIZE] = g
    for i in range(g):
        choices[FIRST + i] = draw_other_input(rng, choices[FIRST:], 1, i, data.n_inputs)
    for i in range(count_in_use(data, family, g)):
        parameters[i] = rng.random()


@glue
def walk_user(rng: np.random.Generator, data: UserData, family: int, n: int, scale: float, parameters: Floats) -> bool:
    """Walk along one of n parameters or all; False where that leaves [0, 1]. Periodic ones wrap."""
    if n == 0:
        return False
    one = pick(rng, 2 * n)  # beyond n: all
    inside = True
    for i in range(n):
        if one >= n or one == i:
            value = parameters[i] + scale * rng.standard_normal()
            if data.is_periodic[family, i] > 0:
                value -= np.floor(value)
            parameters[i] = value
            inside = inside and 0.0 <= value <= 1.0
    return inside


@glue
def redraw_user(rng: np.random.Generator, data: UserData, family: int, g: int, parameters: Floats) -> bool:
    """Draw a term's own parameters anew, or those of one input; False where it has none."""
    n_own, n_each = data.n_own[family], data.n_of_an_input[family]
    group = -1  # its own
    if n_each > 0:
        group = pick(rng, g + 1) - 1 if n_own > 0 else pick(rng, g)
    first, n = (0, n_own) if group < 0 else (n_own + group * n_each, n_each)
    for i in range(n):
        parameters[first + i] = rng.random()
    return n > 0


@glue
def move_input(data: UserData, family: int, choices: Ints, parameters: Floats, source: int, to: int) -> None:
    """Put an input, with its parameters, where another is."""
    n_own, n_each = data.n_own[family], data.n_of_an_input[family]
    choices[FIRST + to] = choices[FIRST + source]
    for i in range(n_each):
        parameters[n_own + to * n_each + i] = parameters[n_own + source * n_each + i]


@glue
def put_input(
    rng: np.random.Generator, data: UserData, family: int, choices: Ints, parameters: Floats, at: int, to: int
) -> None:
    """Put input `at` at a place, with parameters from nu."""
    n_own, n_each = data.n_own[family], data.n_of_an_input[family]
    choices[FIRST + to] = at
    for i in range(n_each):
        parameters[n_own + to * n_each + i] = rng.random()


@glue
def take_last_input_out(data: UserData, family: int, choices: Ints, parameters: Floats) -> None:
    """Leave nothing of the last input behind."""
    last = choices[SIZE] - 1
    n_own, n_each = data.n_own[family], data.n_of_an_input[family]
    choices[FIRST + last] = 0
    for i in range(n_each):
        parameters[n_own + last * n_each + i] = 0.0
    choices[SIZE] = last


@kernel
def change_user(
    rng: np.random.Generator,
    data: UserData | None,
    terms: Terms,
    moved: int,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Change one term a little: fill the first incoming term of an edit, return (feasible, log_green).

    The order of inputs matters. A term shrinks by any of them, whose place the last takes, and grows by one at any
    place, whose input becomes the last: one undoes the other, and the ways to pick the place and the input cancel with
    the number of ordered choices.
    """
    if data is None:
        return False, 0.0
    keep_term(terms, moved, edits, which, 0)
    choices, parameters, family = edits.choices[which, 0], edits.incoming[which, 0], terms.family[moved]
    g, n_inputs = choices[SIZE], data.n_inputs
    way = pick(rng, N_WAYS)
    if way <= WALK_TOO:
        scale = draw_walk_scale(rng, walk_scale)
        return walk_user(rng, data, family, count_in_use(data, family, g), scale, parameters), 0.0
    if way == REDRAW:
        return redraw_user(rng, data, family, g, parameters), 0.0
    if way == SHRINK:
        if g == 1:
            return False, 0.0
        move_input(data, family, choices, parameters, g - 1, pick(rng, g))
        take_last_input_out(data, family, choices, parameters)
        return True, data.log_pi[family, g - 2] - data.log_pi[family, g - 1]
    if g == n_inputs or (way == GROW and g == data.most_inputs[family]):
        return False, 0.0
    other = draw_other_input(rng, choices[FIRST:], 1, g, n_inputs)
    if way == EXCHANGE:
        put_input(rng, data, family, choices, parameters, other, pick(rng, g))
        return True, 0.0
    place = pick(rng, g + 1)
    if place < g:
        move_input(data, family, choices, parameters, place, g)
    put_input(rng, data, family, choices, parameters, other, place)
    choices[SIZE] = g + 1
    return True, data.log_pi[family, g] - data.log_pi[family, g - 1]


def count_user(data: UserData | None, family: int, choices: Ints) -> int:
    """Count the parameters of one term, as its family counts them."""
    if data is None:
        return 0
    return data.counts[family, choices[SIZE] - 1]


count_user_kernel = kernel(count_user)


@kernel
def decode_user(data: UserData | None, family: int, choices: Ints, parameters: Floats, decoded: Floats) -> None:
    """Put together what Python is told of a term."""
    if data is None:
        return
    g = choices[SIZE]
    decoded[calls.FAMILY] = family
    decoded[calls.SIZE] = g
    for i in range(g):
        decoded[calls.FIRST_INPUT + i] = choices[FIRST + i]
    first = calls.FIRST_INPUT + data.most_inputs[family]
    for i in range(count_in_use(data, family, g)):
        decoded[first + i] = parameters[i]


@kernel
def evaluate_user(data: UserData | None, t: int, decoded: Floats, root_weight: Floats, column: Floats) -> None:
    """Set column[n] to the root of the weight times the term. A call of Python, and O(L)."""
    if data is None:
        return
    calls.call(data.columns_at, t, decoded, column)
    for n in range(column.size):
        column[n] *= root_weight[n]


@kernel
def unpack_user(data: UserData | None, x: Floats, first: int, decoded: Floats) -> None:
    """Set the parameters of a decoded term from a point of a descent: see `UserSearch.free`. O(p)."""
    if data is None:
        return
    family, g, to = int(decoded[calls.FAMILY]), int(decoded[calls.SIZE]), first
    at = calls.FIRST_INPUT + data.most_inputs[family]
    for i in range(count_in_use(data, family, g)):
        if data.is_free[family, i] > 0:
            decoded[at + i] = x[to]
            if data.is_periodic[family, i] > 0:
                decoded[at + i] -= np.floor(x[to])
            to += 1


@kernel
def add_user_derivatives(
    data: UserData | None, t: int, decoded: Floats, root_weight: Floats, columns: Floats, first: int
) -> None:
    """Fill columns[first], columns[first + 1] and so on, which are 0, with the derivatives of a column.

    By the coordinates of a descent. A call of Python, and O(L p).
    """
    if data is None:
        return
    family, g = int(decoded[calls.FAMILY]), int(decoded[calls.SIZE])
    n_free = 0
    for i in range(count_in_use(data, family, g)):
        if data.is_free[family, i] > 0:
            n_free += 1
    if n_free == 0:
        return
    calls.call(data.derivatives_at, t, decoded, columns[first:])
    for i in range(n_free):
        for n in range(root_weight.size):
            columns[first + i, n] *= root_weight[n]
