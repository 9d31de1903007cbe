"""How data are scaled inside: inputs to the unit cube, outputs to mean 0 and spread 1, and the linear term."""

import warnings
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from saltus._tiles import pad_rows
from saltus._typing import Bools, Floats, Ints
from saltus.families.inputs import moments_of_present

# A column of the linear term that is nearer than this to the span of those before it, relative to its
# spread, depends on them.
DEPENDENT = 1e-10

# A feature that varies less than this, relative to its size, is constant.
CONSTANT = 8 * np.finfo(np.float64).eps

# Inputs that are farther from 0 than so many widths of the box are counted from a number near them, in formulas.
FAR = 100.0

# Where rows are farther away than this, in widths of the box, terms overflow.
FARTHEST = 1e50


@dataclass(frozen=True)
class Box:
    """Where the parameters of terms live: the range of the data, widened. Constant features have no place in it."""

    lower: Annotated[Floats, "d"]
    width: Annotated[Floats, "d"]  # 1 for a constant feature
    varies: Annotated[Bools, "d"]
    n_levels: Annotated[Ints, "d"]  # of categories, whose codes stay as they are; 0 for numbers

    @classmethod
    def around(cls, X: Floats, margin: float, n_levels: Ints | None = None) -> "Box":
        """Take the range of X (N, d), widened on each side by `margin` times itself. Categories keep their codes.

        Missing values, NaN, have no part in it.
        """
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
            low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        low, high = np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), 0.0, high)
        span = high - low
        varies = span > CONSTANT * np.maximum(np.abs(low), np.abs(high))
        lower = np.where(varies, low - margin * span, low)
        width = np.where(varies, span * (1 + 2 * margin), 1.0)
        n_levels = np.zeros(X.shape[1], dtype=np.int64) if n_levels is None else n_levels
        lower, width = np.where(n_levels > 0, 0.0, lower), np.where(n_levels > 0, 1.0, width)
        return cls(lower, width, varies, n_levels)

    def of_first(self, n: int) -> "Box":
        """Take the box of the first n of the inputs that vary, as if no others did."""
        return replace(self, varies=self.varies & (np.cumsum(self.varies) <= n))

    @property
    def origin(self) -> Floats:
        """A round number near the data (d,) for inputs far from 0 in widths of the box, otherwise 0.

        What is written in the units of the user loses digits there: at x + 1e12 four of five that a formula has. From
        a number near by, differences are exact.
        """
        origin = np.zeros(len(self.lower))
        for j in np.flatnonzero(self.varies & (self.n_levels == 0) & (np.abs(self.lower) > FAR * self.width)):
            origin[j] = round(float(self.lower[j]), -int(np.ceil(np.log10(self.width[j]))))
        return origin

    def counted_from(self, origin: Floats) -> "Box":
        """Take the box of inputs that are counted from another origin (d,) than 0."""
        return replace(self, lower=self.lower - origin)

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw points (n, d) in the user's units: uniform, and any level of a category."""
        U = rng.random((n, int(self.varies.sum())))
        n_levels = self.n_levels[self.varies]
        return self.from_unit(np.where(n_levels > 0, np.floor(U * n_levels), U))

    def to_unit(self, X: Floats) -> Floats:
        """Take X (N, d) to the unit cube, (N, d_varying)."""
        return (X[:, self.varies] - self.lower[self.varies]) / self.width[self.varies]

    def to_unit_in_reach(self, X: Floats) -> Floats:
        """Do the same for rows to be predicted, which must not be so far away that terms overflow."""
        U = self.to_unit(X)
        farthest = np.nanmax(np.abs(U), initial=0.0)
        if farthest > FARTHEST:
            raise ValueError(
                f"X is as far as {farthest:.3g} widths of the training data away from it, where the network overflows. "
                f"Check the units of X."
            )
        return U

    def from_unit(self, U: Floats) -> Floats:
        """Take points of the unit cube (N, d_varying) back to the user's units, (N, d)."""
        X = np.tile(self.lower, (len(U), 1))
        X[:, self.varies] += U * self.width[self.varies]
        return X


def from_mean(U: Floats, means: Floats) -> Floats:
    """Subtract the means (v,) from U (N, v); a missing value counts as its mean."""
    away = U - means
    is_gap = np.isnan(away)
    return np.where(is_gap, 0.0, away) if is_gap.any() else away


@dataclass(frozen=True)
class LinearTerm:
    """The linear term: a constant and the independent ones of the features, standardised."""

    means: Floats  # (d_varying,), of the features in the unit cube
    spreads: Floats  # (d_varying,), their standard deviations
    kept: Ints  # the features in use, counted among those that vary
    Q: Floats  # (N, m_fixed), padded, orthonormal, rows times the root of their weight
    R: Floats  # (m_fixed, m_fixed)

    @classmethod
    def of(cls, U: Floats, weight: Floats, *, only_constant: bool = False) -> "LinearTerm":
        """Factor [1, (U - means) / spreads], leaving out columns that depend on those before them, or all but the 1."""
        root_weight = np.sqrt(weight)
        means, spreads = moments_of_present(U, weight)
        inputs = (from_mean(U, means) / spreads * root_weight[:, None]).T
        columns = [root_weight] if only_constant else [root_weight, *inputs]
        Q = np.empty((len(U), min(len(U), len(columns))), order="F")
        R = np.zeros((Q.shape[1], Q.shape[1]))
        kept: list[int] = []
        rank = 0
        for j, column in enumerate(columns):
            length = np.linalg.norm(column)
            share = np.zeros(rank)
            for _ in range(2):
                along = Q[:, :rank].T @ column
                column = column - Q[:, :rank] @ along
                share += along
            rest = np.linalg.norm(column)
            if rank == Q.shape[1] or rest <= DEPENDENT * length:
                continue
            Q[:, rank] = column / rest
            R[:rank, rank] = share
            R[rank, rank] = rest
            rank += 1
            if j > 0:
                kept.append(j - 1)
        return cls(
            means, spreads, np.array(kept, dtype=np.int64), np.asfortranarray(pad_rows(Q[:, :rank])), R[:rank, :rank]
        )


@dataclass(frozen=True)
class OutputScale:
    """Outputs are centred and scaled inside."""

    mean: Annotated[Floats, "c"]
    scale: Annotated[Floats, "c"]

    @classmethod
    def of(cls, Y: Floats, weight: Floats) -> "OutputScale":
        """Take the weighted mean and standard deviation; a constant output has scale 1."""
        mean = np.average(Y, axis=0, weights=weight)
        # In two steps, so that the squares of a small spread do not vanish.
        spread = np.abs(Y - mean).max(axis=0)
        varies = spread > CONSTANT * np.abs(Y).max(axis=0)
        spread = np.where(varies, spread, 1.0)
        scale = spread * np.sqrt(np.average(((Y - mean) / spread) ** 2, axis=0, weights=weight))
        return cls(mean, np.where(varies, scale, 1.0))
