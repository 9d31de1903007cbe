"""Inputs as terms see them that choose some: standardised, with the places where thresholds may be, and how to choose.

A term of such a family first draws how many inputs it has, then which, each set alike, then a profile for each or for
all. Everything continuous is uniform: a position along the knots of its input, the logarithm of a width or frequency.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple, Protocol

import numpy as np

from saltus._jit import by_reference, glue
from saltus._typing import Bools, Bytes, Floats, Ints
from saltus.families.box import UnitBox
from saltus.families.line_profiles import HIGHEST_DEGREE, SIDED
from saltus.families.terms import pick

# Knots of an input: its distinct values, or so many quantiles of these.
MOST_KNOTS = 256

# Widths are between this share of the range of an input, or what so many neighbouring values span, and all of it.
NARROWEST, VALUES_A_WIDTH = 1 / 400, 3.0
# A wave has between half a period along the range of its input and one for every two values.
FEWEST_PERIODS, VALUES_A_PERIOD = 0.5, 2.0
# Offsets of projections reach to the farthest row, but no farther than so many standard deviations.
FARTHEST_OFFSET = 4.0
# Slopes of a projection are between these, for one standard deviation.
GENTLEST, STEEPEST = 0.3, 20.0


@by_reference
class InputData(NamedTuple):
    """The rows, each input less its mean and in standard deviations; where parameters are; how terms are drawn.

    F is the number of all families, of which those that are not of this sort have no laws here.
    """

    rows: Floats  # (n_tiles, v, L)
    bins: Bytes  # (n_tiles, v, L), which knot each value is nearest to
    knots: Floats  # (v, K), rising; those that are not used are 0
    n_knots: Ints  # (v,)
    log_width: Floats  # (v, 2), the narrowest and the widest
    log_frequency: Floats  # (v, 2), the slowest and the fastest
    reach: Floats  # (v,), of offsets
    ends: Floats  # (v, 2), the range of the rows
    highest_degree: Ints  # (v,), of polynomials
    most_inputs: Ints  # (F,)
    shares: Floats  # (F, G), pi_g of g = 1, 2 ... inputs, running sums
    log_pi: Floats  # (F, G), the logarithms of pi_g
    n_profiles: Ints  # (F,)
    profiles: Ints  # (F, P)


@dataclass(frozen=True)
class Law:
    """How terms of one family are drawn: every number of inputs up to the most is as probable, and every profile."""

    most_inputs: int
    profiles: tuple[int, ...]


@dataclass(frozen=True)
class InputScale:
    """How inputs are scaled: u of the unit cube to (u - means) / spreads, and what there is to know of their values."""

    means: Annotated[Floats, "v"]
    spreads: Annotated[Floats, "v"]
    low: Annotated[Floats, "v"]  # of the rows, in standard deviations
    high: Annotated[Floats, "v"]
    knots: Annotated[Floats, "vz"]
    n_knots: Annotated[Ints, "v"]
    n_values: Annotated[Ints, "v"]  # distinct

    @classmethod
    def of(cls, U: Floats, weight: Floats) -> "InputScale":
        """Look at rows U (N, v) of the unit cube."""
        means = np.average(U, axis=0, weights=weight)
        spreads = np.sqrt(np.average((U - means) ** 2, axis=0, weights=weight))
        X = (U - means) / spreads
        values = [np.unique(column) for column in X.T]
        chosen = [_thinned(each) for each in values]
        knots = np.zeros((len(values), max(map(len, chosen), default=0)))
        for row, each in zip(knots, chosen, strict=True):
            row[: each.size] = each
        return cls(
            means,
            spreads,
            low=X.min(axis=0, initial=np.inf),
            high=X.max(axis=0, initial=-np.inf),
            knots=knots,
            n_knots=np.array([each.size for each in chosen], dtype=np.int64),
            n_values=np.array([each.size for each in values], dtype=np.int64),
        )

    @property
    def n_inputs(self) -> int:
        """The number of inputs that vary."""
        return len(self.means)

    @property
    def is_sound(self) -> bool:
        """Whether every input has knots to be between: that of a file may not."""
        within = (self.n_knots >= 2) & (self.n_knots <= self.knots.shape[1]) & (self.n_values >= self.n_knots)
        return bool(within.all() and (self.spreads > 0).all())

    @property
    def log_width(self) -> Floats:
        """The logarithms of the narrowest and the widest bump along each input, (v, 2)."""
        span = self.high - self.low
        narrowest = np.clip(VALUES_A_WIDTH / self.n_values, NARROWEST, 0.25)
        return np.log(np.stack([narrowest * span, span], axis=1))

    @property
    def log_frequency(self) -> Floats:
        """The logarithms of the slowest and the fastest wave along each input, (v, 2), in periods a unit."""
        span = self.high - self.low
        fastest = np.maximum(self.n_values / VALUES_A_PERIOD, 2 * FEWEST_PERIODS)
        return np.log(np.stack([FEWEST_PERIODS / span, fastest / span], axis=1))

    @property
    def highest_degree(self) -> Ints:
        """The highest degree of a polynomial along each input, (v,): fewer than it has values."""
        return np.minimum(self.n_values - 1, HIGHEST_DEGREE)

    @property
    def reach(self) -> Floats:
        """How far from the middle offsets of a projection on each input may be, (v,)."""
        return np.minimum(np.maximum(-self.low, self.high), FARTHEST_OFFSET)

    def standardize(self, U: Floats, *, hold: bool = False) -> Floats:
        """Scale rows U (N, v); with `hold`, rows beyond the range of the data are taken at its edge."""
        X = (U - self.means) / self.spreads
        return np.clip(X, self.low, self.high) if hold else X

    def range_in(self, box: UnitBox) -> tuple[Floats, Floats]:
        """Find the range of the rows in the user's units, (d,) and (d,); infinite for inputs that do not vary."""
        low, high = (box.from_unit((self.means + self.spreads * end)[None])[0] for end in (self.low, self.high))
        return np.where(box.varies, low, -np.inf), np.where(box.varies, high, np.inf)

    def data(self, rows: Floats, bins: Bytes, laws: Sequence[Law | None]) -> InputData:
        """Prepare for kernels: rows in tiles, and the laws of all families, None where they are not of this sort."""
        most = np.array([0 if law is None else law.most_inputs for law in laws])
        shares, log_pi = probabilities_of_sizes(most)
        codes = [() if law is None else law.profiles for law in laws]
        profiles = np.zeros((len(laws), max(map(len, codes))), dtype=np.int64)
        for row, each in zip(profiles, codes, strict=True):
            row[: len(each)] = each
        return InputData(
            rows,
            bins,
            self.knots,
            self.n_knots,
            np.ascontiguousarray(self.log_width),
            np.ascontiguousarray(self.log_frequency),
            self.reach,
            np.stack([self.low, self.high], axis=1),
            self.highest_degree,
            most_inputs=most,
            shares=shares,
            log_pi=log_pi,
            n_profiles=np.array([len(each) for each in codes]),
            profiles=profiles,
        )

    def position(self, at: Ints, u: Floats) -> Floats:
        """Find the positions along inputs `at` whose coordinates are u in [0, 1]."""
        along = u * (self.n_knots[at] - 1)
        first = np.minimum(along.astype(np.int64), self.n_knots[at] - 2)
        below, above = self.knots[at, first], self.knots[at, first + 1]
        return below + (along - first) * (above - below)

    def coordinate(self, at: int, position: float) -> float:
        """Find u in [0, 1] of a position along an input."""
        n = int(self.n_knots[at])
        return float(np.interp(position, self.knots[at, :n], np.linspace(0.0, 1.0, n)))


def find_bins(scale: InputScale, rows: Floats) -> Bytes:
    """Find which knot each value of rows in tiles is nearest to."""
    found = np.zeros(rows.shape, dtype=np.uint8)
    for i, (knots, n) in enumerate(zip(scale.knots, scale.n_knots, strict=True)):
        found[:, i] = np.searchsorted(0.5 * (knots[: n - 1] + knots[1:n]), rows[:, i])
    return found


@dataclass(frozen=True)
class FamilyRows:
    """The rows that families are fitted to, and what they share of them."""

    U: Floats  # (N, v), in the unit cube
    weight: Floats  # (N,)
    box_width: Floats  # (v,), the sides of the cube in the user's units
    varies: Bools  # (d,), which inputs these are
    rescale: bool  # whether terms without a scale of their own (r, r^3) may have one that suits the arithmetic
    ranges: Floats  # (2, v), the lowest and the highest value of each input, in the user's units

    @cached_property
    def scale(self) -> InputScale:
        """How inputs are scaled for terms that choose some."""
        return InputScale.of(self.U, self.weight)


def _thinned(values: Floats) -> Floats:
    if values.size <= MOST_KNOTS:
        return values
    return values[np.linspace(0, values.size - 1, MOST_KNOTS).round().astype(np.int64)]


def probabilities_of_sizes(most_inputs: Ints) -> tuple[Floats, Floats]:
    """Find the running sums (F, G) of pi_g, and their logarithms, for families of at most so many (F,) inputs a term.

    Every number of inputs up to the most is as probable as another.
    """
    pi = (np.arange(max(most_inputs.max(), 1)) < most_inputs[:, None]) / np.maximum(most_inputs, 1)[:, None]
    return np.cumsum(pi, axis=1), np.log(np.where(pi > 0, pi, 1.0))


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
    """Draw a profile."""
    return data.profiles[family, pick(rng, data.n_profiles[family])]


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
