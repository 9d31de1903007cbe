"""How the inputs of a term, their profiles and their levels are drawn, and where along an input a position is."""

from typing import Protocol

import numpy as np

from saltus._jit import glue
from saltus._typing import Floats, Ints
from saltus.families.inputs import LEVELS_A_WORD, InputData
from saltus.families.line_profiles import LEVEL, MISSING, SIDED, SUBSET
from saltus.families.terms import pick


class Sizes(Protocol):
    """What says how many inputs terms have."""

    @property
    def most_inputs(self) -> Ints:
        """The largest numbers (F,)."""

    @property
    def shares(self) -> Floats:
        """Running sums (F, G) of pi_g."""


@glue
def draw_size(rng: np.random.Generator, data: Sizes, family: int) -> int:
    """Draw how many inputs a term has."""
    chance, g = rng.random(), 1
    while g < data.most_inputs[family] and chance >= data.shares[family, g - 1]:
        g += 1
    return g


@glue
def draw_profile(rng: np.random.Generator, data: InputData, family: int) -> int:
    """Draw a profile along a line."""
    return data.profiles[family, pick(rng, data.n_profiles[family])]


@glue
def draw_profile_for(rng: np.random.Generator, data: InputData, family: int, at: int) -> int:
    """Draw one of the profiles that suit input `at`: of a line, or of a category, or whether its value is missing."""
    if data.n_levels[at] > 0:
        may_be_set = data.has_subsets[family] and data.n_levels[at] > 2
        return SUBSET if may_be_set and rng.random() < 0.5 else LEVEL
    chosen = pick(rng, data.n_profiles[family] + data.has_gaps[at])
    return data.profiles[family, chosen] if chosen < data.n_profiles[family] else MISSING


@glue
def draw_level_word(rng: np.random.Generator, n_levels: int, word: int) -> int:
    """Draw which of the levels that a word is for are in a set: each with probability 1/2."""
    n = min(n_levels - LEVELS_A_WORD * word, LEVELS_A_WORD)
    return pick(rng, 1 << n) if n > 0 else 0


@glue
def level_at(u: float, n_levels: int) -> int:
    """Find the level whose coordinate is u in [0, 1]."""
    return min(int(u * n_levels), n_levels - 1)


@glue
def count_useful_numbers(data: InputData, useful: Ints, n_useful: int) -> int:
    """Count those of the useful inputs, in rising order, that are numbers."""
    while n_useful > 0 and useful[n_useful - 1] >= data.n_numbers:
        n_useful -= 1
    return n_useful


@glue
def draw_side(rng: np.random.Generator, profile: int) -> int:
    """Draw which way a profile faces: 0 or 1; 0 where it does not matter."""
    return pick(rng, 2) if SIDED[profile] else 0


@glue
def draw_other_input(rng: np.random.Generator, chosen: Ints, stride: int, g: int, n_inputs: int) -> int:
    """Draw one of the inputs that are not among the first g of chosen[0], chosen[stride], and so on."""
    rank = pick(rng, n_inputs - g)
    # The rank-th of the others: each chosen input that is not beyond it moves it on, in rising order.
    found, moved = rank, True
    while moved:
        below = 0
        for f in range(g):
            if chosen[f * stride] <= found:
                below += 1
        moved = found != rank + below
        found = rank + below
    return found


@glue
def draw_inputs(
    rng: np.random.Generator, chosen: Ints, stride: int, g: int, n_inputs: int, useful: Ints, n_useful: int
) -> None:
    """Draw g inputs into chosen[0], chosen[stride] and so on: of all, or of those in `useful` if they are as many."""
    among = n_useful if n_useful >= g else n_inputs
    for i in range(g):
        chosen[i * stride] = draw_other_input(rng, chosen, stride, i, among)
    if n_useful >= g:
        for i in range(g):
            chosen[i * stride] = useful[chosen[i * stride]]


@glue
def find_position(data: InputData, at: int, u: float) -> float:
    """Find the position along an input whose coordinate is u in [0, 1]."""
    n = data.n_knots[at]
    along = u * (n - 1)
    first = min(int(along), n - 2)
    below = data.knots[at, first]
    return below + (along - first) * (data.knots[at, first + 1] - below)
