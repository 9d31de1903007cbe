"""Inputs as terms see them that choose some: standardised, with the places where thresholds may be, and how to choose.

A term of such a family first draws how many inputs it has, then which, each set alike, then a profile for each or for
all. Everything continuous is uniform: a position along the knots of its input, the logarithm of a width or frequency.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np

from saltus._jit import by_reference
from saltus._tiles import tile_shape, to_tiles
from saltus._typing import Bools, Bytes, Floats, Ints
from saltus.families.box import UnitBox
from saltus.families.line_profiles import HIGHEST_DEGREE

# Knots of an input: its distinct values, or so many quantiles of these.
MOST_KNOTS = 256

# A set of levels is written down in words of so many bits, which floating point holds exactly; a category has no more
# levels than this.
LEVELS_A_WORD, MOST_LEVELS = 32, 1024

# Widths are between this share of the range of an input, or what so many neighbouring values span, and all of it.
NARROWEST, VALUES_A_WIDTH = 1 / 400, 3.0
# A wave has between half a period along the range of its input and one for every two values.
FEWEST_PERIODS, VALUES_A_PERIOD = 0.5, 2.0
# With more rows than this, moments are taken column by column.
ROWS_AT_A_TIME = 2**16
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
    n_numbers: int  # of the inputs, which come before categories
    n_levels: Ints  # (v,), of categories; 0 for numbers
    n_words: int  # of 32 levels each that it takes to write down a set of levels
    has_gaps: Bytes  # (v,), whether values are missing; rows have 0 there, the mean
    is_gap: Bytes  # (n_tiles, v, L), which ones; (n_tiles, 0, L) where none are
    has_subsets: Bytes  # (F,), whether factors may be sets of levels, and not one level alone
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
    has_subsets: bool = False


@dataclass(frozen=True)
class InputScale:
    """How inputs are scaled, u of the unit cube to (u - means) / spreads, with methods for all that follows from it."""

    means: Annotated[Floats, "v"]
    spreads: Annotated[Floats, "v"]
    low: Annotated[Floats, "v"]  # of the rows, in standard deviations
    high: Annotated[Floats, "v"]
    knots: Annotated[Floats, "vz"]
    n_knots: Annotated[Ints, "v"]
    n_values: Annotated[Ints, "v"]  # distinct
    n_levels: Annotated[Ints, "v"]  # of categories, which come after numbers and keep their codes; 0 for numbers
    has_gaps: Annotated[Bools, "v"]  # whether values are missing

    @classmethod
    def of(cls, U: Floats, weight: Floats, n_levels: Ints | None = None) -> "InputScale":
        """Look at rows U (N, v) of the unit cube, NaN where a value is missing; categories are codes."""
        n_levels = np.zeros(U.shape[1], dtype=np.int64) if n_levels is None else n_levels
        is_gap = np.isnan(U)
        means, spreads = moments_of_present(U, weight)
        means, spreads = np.where(n_levels > 0, 0.0, means), np.where(n_levels > 0, 1.0, spreads)
        X = (U - means) / spreads
        # Categories have no thresholds; two places stand for all of theirs.
        values = [
            np.arange(2.0) if levels > 0 else np.unique(column[~np.isnan(column)])
            for column, levels in zip(X.T, n_levels, strict=True)
        ]
        chosen = [_thinned(each) for each in values]
        knots = np.zeros((len(values), max(map(len, chosen), default=0)))
        for row, each in zip(knots, chosen, strict=True):
            row[: each.size] = each
        return cls(
            means,
            spreads,
            low=np.where(n_levels > 0, 0.0, np.nanmin(X, axis=0, initial=np.inf)),
            high=np.where(n_levels > 0, n_levels - 1.0, np.nanmax(X, axis=0, initial=-np.inf)),
            knots=knots,
            n_knots=np.array([each.size for each in chosen], dtype=np.int64),
            n_values=np.array([each.size for each in values], dtype=np.int64),
            n_levels=n_levels,
            has_gaps=np.asarray(is_gap.any(axis=0)),
        )

    @property
    def n_numbers(self) -> int:
        """How many of the inputs are numbers: the first ones."""
        return int((self.n_levels == 0).sum())

    @property
    def n_words(self) -> int:
        """The words of 32 levels that it takes to write down a set of levels of any category."""
        return -(-int(self.n_levels.max(initial=0)) // LEVELS_A_WORD)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that vary."""
        return len(self.means)

    @property
    def is_sound(self) -> bool:
        """Whether every input has knots to be between: that of a file may not."""
        # A missing value of a category is a level of its own.
        whole = not (self.has_gaps & (self.n_levels > 0)).any()
        within = (self.n_knots >= 2) & (self.n_knots <= self.knots.shape[1]) & (self.n_values >= self.n_knots)
        in_order = (np.diff(self.n_levels > 0) >= 0).all() and ((self.n_levels == 0) | (self.n_levels >= 2)).all()
        return bool(
            within.all()
            and whole
            and (self.spreads > 0).all()
            and in_order
            and self.n_levels.max(initial=0) <= MOST_LEVELS
        )

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
        """Scale rows U (N, v); with `hold`, rows beyond the range of the data are taken at its edge.

        Missing values stay NaN, but of inputs that missed none in the data they count as the mean.
        """
        X = (U - self.means) / self.spreads
        if np.isnan(X).any():
            X[:, ~self.has_gaps] = self.without_gaps(X[:, ~self.has_gaps])
        return np.clip(X, self.low, self.high) if hold else X

    @staticmethod
    def without_gaps(X: Floats) -> Floats:
        """Put the mean where values of standardised rows are missing."""
        is_gap = np.isnan(X)
        return np.where(is_gap, 0.0, X) if is_gap.any() else X

    def range_in(self, box: UnitBox) -> tuple[Floats, Floats]:
        """Find the range of the rows in the user's units, (d,) and (d,); infinite for inputs that do not vary."""
        low, high = (box.from_unit((self.means + self.spreads * end)[None])[0] for end in (self.low, self.high))
        return np.where(box.varies, low, -np.inf), np.where(box.varies, high, np.inf)

    def counts_at_gaps(self, box: UnitBox, *, always: bool = False) -> Floats:
        """Find what missing values count as, (d,), in the user's units: means, and NaN where data have gaps too.

        With `always`, a mean for these as well.
        """
        counts = box.from_unit(self.means[None])[0]
        counts[np.flatnonzero(box.varies)[self.has_gaps & (not always)]] = np.nan
        return counts

    def data(self, rows: Floats, is_gap: Bytes, bins: Bytes, laws: Sequence[Law | None]) -> InputData:
        """Prepare for kernels: rows in tiles, 0 at gaps, and the laws of all families, None where of another sort."""
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
            n_numbers=self.n_numbers,
            n_levels=self.n_levels,
            n_words=self.n_words,
            has_gaps=self.has_gaps.astype(np.uint8),
            is_gap=is_gap,
            has_subsets=np.array([law is not None and law.has_subsets for law in laws], dtype=np.uint8),
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
    """Find which knot each value of rows in tiles is nearest to, of all inputs or of the first ones."""
    found = np.zeros(rows.shape, dtype=np.uint8)
    for i, (knots, n) in enumerate(zip(scale.knots[: rows.shape[1]], scale.n_knots, strict=False)):
        found[:, i] = np.searchsorted(0.5 * (knots[: n - 1] + knots[1:n]), rows[:, i])
    return found


@dataclass(frozen=True)
class FamilyRows:
    """The rows that families are fitted to, and what they share of them."""

    U: Floats  # (N, v), in the unit cube, NaN where a value is missing; categories are codes
    weight: Floats  # (N,)
    box_width: Floats  # (v,), the sides of the cube in the user's units
    varies: Bools  # (d,), which inputs these are
    rescale: bool  # whether terms without a scale of their own (r, r^3) may have one that suits the arithmetic
    ranges: Floats  # (2, v), the lowest and the highest value of each input, in the user's units
    n_levels: Ints | None = None  # (v,), of categories, which come after numbers; 0 for numbers, as all are if None

    @cached_property
    def scale(self) -> InputScale:
        """How inputs are scaled for terms that choose some."""
        return InputScale.of(self.U, self.weight, self.n_levels)

    @cached_property
    def numbers(self) -> Floats:
        """The inputs (N, v) that are numbers, with their means where values are missing."""
        U = self.U[:, : self.scale.n_numbers]
        return np.where(np.isnan(U), self.scale.means[: U.shape[1]], U)


def moments_of_present(U: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Find the means and standard deviations (v,) of the values of U (N, v) that are not missing."""
    if len(U) > ROWS_AT_A_TIME:
        return _moments_by_columns(U, weight)
    is_gap = np.isnan(U)
    if not is_gap.any():
        means = np.average(U, axis=0, weights=weight)
        return means, np.sqrt(np.average((U - means) ** 2, axis=0, weights=weight))
    present = np.where(is_gap, 0.0, weight[:, None])
    total = np.maximum(present.sum(axis=0), np.finfo(np.float64).tiny)  # of a column of gaps, which has no moments
    means = (present * np.where(is_gap, 0.0, U)).sum(axis=0) / total
    squares: Floats = (present * np.where(is_gap, 0.0, U - means) ** 2).sum(axis=0)
    return means, np.sqrt(squares / total)


def _moments_by_columns(U: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Do the same without a copy of U, which is large."""
    means, spreads = np.empty(U.shape[1]), np.empty(U.shape[1])
    for j, column in enumerate(U.T):
        present = np.where(np.isnan(column), 0.0, weight)
        total = max(present.sum(), np.finfo(np.float64).tiny)
        values = np.where(present > 0, column, 0.0)
        means[j] = present @ values / total
        spreads[j] = np.sqrt(present @ (values - means[j]) ** 2 / total)
    return means, spreads


def gaps_in_tiles(X: Floats) -> Bytes:
    """Say in tiles (n_tiles, v, L) which values of X (N, v) are missing; (n_tiles, 0, L) where none are."""
    is_gap = np.isnan(X)
    if not is_gap.any():
        return np.zeros((*tile_shape(len(X)), 0), dtype=np.uint8).transpose(0, 2, 1).copy()
    return to_tiles(is_gap.astype(np.uint8))


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
