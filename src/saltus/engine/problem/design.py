"""From the user's data to the problem a chain works on: scaled, weighted, with its fixed part factored."""

from dataclasses import dataclass, replace

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.engine.kernels.chain import Target
from saltus.engine.kernels.factor import make_factor, no_factor, pad_rows, to_tiles
from saltus.engine.problem.criteria import resolution
from saltus.families import Basis
from saltus.families.distances import metric_factor
from saltus.families.sharpness import MIDDLE, SHARPEST, split_places

# A column of the linear term that is nearer than this to the span of those before it, relative to its
# spread, depends on them.
DEPENDENT = 1e-10

# Residuals smaller than this, relative to the spread of y, are rounding: a fit that good is exact, and no better than
# another. So are residuals below the last digit of y itself.
RESIDUAL_ROUNDING = 1e-13
LAST_DIGIT = np.finfo(np.float64).eps

# A feature that varies less than this, relative to its size, is constant.
CONSTANT = 8 * np.finfo(np.float64).eps

# A basis function that fades is refused where the sum of its squares over the rows is below this. Where its width is
# given: no row is within three of its widths, so that the data cannot say what it does at its centre, and least squares
# would say anything. Where its width is learned: it sees fewer rows than so many, and one as narrow as a row has so
# many places to sit that it finds noise to explain. On a line with noise, 1 000 rows and 3 inputs, the worst of three
# errors to the truth is 1.4 with the first, 0.10 with the second; on the Bumps of Donoho and Johnstone 101, and 5.3.
FAINTEST, FEWEST_ROWS = 1e-4, 3.0
# Under a ridge, one row is enough. Without it the sampler fills places between rows with functions that none of them
# sees, as a prior that expects many would have it, and narrows the rest to make room: on Friedman 2, 500 rows, the
# worst of four errors to the truth is 2.2 times that of a Gaussian process, and 1.3 with it.
FEWEST_ROWS_OF_A_RIDGE = 1.0

# Squares and cubes of distances within these bounds neither overflow nor vanish.
SMALLEST_DISTANCE, LARGEST_DISTANCE = 1e-50, 1e50

# Descents see the data rounded to this: far below any noise, and far above the last digits, in which data in other
# units differ. So units do not decide which way a search turns.
ROUNDING = 2.0**-26


def rounded(values: Floats) -> Floats:
    """Leave out the last digits."""
    return np.round(values / ROUNDING) * ROUNDING


@dataclass(frozen=True)
class Box:
    """Where centres live: the range of the data, widened. Constant features have no place in it."""

    lower: Floats  # (d,)
    width: Floats  # (d,), 1 for a constant feature
    varies: Bools  # (d,)

    @classmethod
    def around(cls, X: Floats, margin: float) -> "Box":
        """Take the range of X (N, d), widened on each side by `margin` times itself."""
        low, high = X.min(axis=0), X.max(axis=0)
        span = high - low
        varies = span > CONSTANT * np.maximum(np.abs(low), np.abs(high))
        lower = np.where(varies, low - margin * span, low)
        return cls(lower, np.where(varies, span * (1 + 2 * margin), 1.0), varies)

    def to_unit(self, X: Floats) -> Floats:
        """Take X (N, d) to the unit cube, (N, d_varying)."""
        return (X[:, self.varies] - self.lower[self.varies]) / self.width[self.varies]

    def from_unit(self, U: Floats) -> Floats:
        """Take points of the unit cube (N, d_varying) back to the user's units, (N, d)."""
        X = np.tile(self.lower, (len(U), 1))
        X[:, self.varies] += U * self.width[self.varies]
        return X


@dataclass(frozen=True)
class FixedPart:
    """The linear term: a constant and the independent ones of the features, standardised."""

    means: Floats  # (d_varying,), of the features in the unit cube
    spreads: Floats  # (d_varying,), their standard deviations
    kept: Ints  # the features in use, counted among those that vary
    Q: Floats  # (N, m_fixed), padded, orthonormal, rows times the root of their weight
    R: Floats  # (m_fixed, m_fixed)

    @classmethod
    def of(cls, U: Floats, weight: Floats) -> "FixedPart":
        """Factor [1, (U - means) / spreads], leaving out columns that depend on those before them."""
        root_weight = np.sqrt(weight)
        means = np.average(U, axis=0, weights=weight)
        spreads = np.sqrt(np.average((U - means) ** 2, axis=0, weights=weight))
        columns = [root_weight, *((U - means) / spreads * root_weight[:, None]).T]
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

    mean: Floats  # (c,)
    scale: Floats  # (c,)

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


@dataclass(frozen=True)
class Design:
    """The problem of one fit, shared by its chains."""

    target: Target
    box: Box
    basis: Basis
    metric_scale: float  # distances inside are the user's divided by this, where units do not matter
    fixed: FixedPart
    outputs: OutputScale
    Y: Floats  # (N, c), padded, scaled, rows times the root of their weight
    alternative: "Design | None" = None  # the same data, for basis functions of another kind

    @property
    def k_max(self) -> int:
        """The largest number of basis functions."""
        return self.target.penalty.shape[0] - 1

    @property
    def rows(self) -> Ints:
        """Which rows are not padding."""
        return np.flatnonzero(self.target.root_weight.ravel() > 0)

    @property
    def learns_metric(self) -> bool:
        """Whether relevances are a part of the state."""
        return self.target.penalty.shape[1] > 1

    @property
    def log_posterior_shift(self) -> float:
        """What takes log pi of the scaled outputs to log pi of the user's."""
        return float(-self.target.n_total * np.log(self.outputs.scale).sum())

    @property
    def resolution(self) -> float:
        """How near two values of log pi are that are as good as the same."""
        return resolution(self.target.n_total)

    @property
    def to_metric(self) -> Floats:
        """What takes inputs in the unit cube to where the metric is Euclidean, (q, inputs that vary)."""
        return self.target.to_metric[:, : int(self.box.varies.sum())]

    def split(self, places: Floats) -> tuple[Floats, Floats]:
        """Take places (k, d) of the chain apart: centres (k, inputs that vary) in the unit cube, sharpnesses (k,)."""
        return split_places(places, int(self.box.varies.sum()), self.target.log_sharpest)

    def join(self, centers: Floats) -> Floats:
        """Put centres (k, inputs that vary) in places (k, d), with a sharpness of 1."""
        n_widths = self.target.to_metric.shape[1] - centers.shape[1]
        return np.hstack([centers, np.full((len(centers), n_widths), MIDDLE)])

    @property
    def kinds(self) -> tuple["Design", ...]:
        """The designs among which a search chooses."""
        return (self,) if self.alternative is None else (self, self.alternative)

    def kind_of(self, places: Floats) -> int:
        """Say for which of the kinds places (k, d) are."""
        return [kind.target.to_metric.shape[1] for kind in self.kinds].index(places.shape[1])

    def with_own_widths(self, penalty: Floats) -> "Design":
        """Give each basis function a width of its own; the data are shared."""
        to_metric = self.target.to_metric
        target = self.target._replace(
            to_metric=np.hstack([to_metric, np.zeros((len(to_metric), 1))]),
            log_sharpest=float(np.log(SHARPEST)),
            penalty=np.ascontiguousarray(penalty[:, None] if penalty.ndim == 1 else penalty),
        )
        return replace(self, target=target)

    def X_metric(self, rows: Ints) -> Floats:
        """Find where rows are where the metric is Euclidean and relevances are 1, (n, q)."""
        tile, row = np.divmod(rows, self.target.X_metric.shape[2])
        return self.target.X_metric[tile, :, row]

    def places_of_rows(self, rng: np.random.Generator, n_most: int) -> tuple[Floats, Floats]:
        """Find where rows are in the unit cube, (n, d), the coordinate of a width being 0, and their weights (n,).

        All rows, or n_most of them, drawn at random.
        """
        target, rows = self.target, self.rows
        if rows.size > n_most:
            rows = rng.choice(rows, n_most, replace=False)
        places = np.linalg.lstsq(target.to_metric, self.X_metric(rows).T, rcond=None)[0].T
        return rounded(np.clip(places, 0.0, 1.0)), target.root_weight.ravel()[rows] ** 2

    def columns(self, places: Floats, relevance: Floats | None = None) -> Floats:
        """Evaluate the basis functions at the rows: places (k, d) of the unit cube -> (N, k), padded. O(N d k)."""
        relevance = np.ones(len(self.target.to_metric)) if relevance is None else relevance
        X_metric, root_weight = self.target.X_metric, self.target.root_weight
        centers, sharpness = self.split(places)
        Phi = np.empty((root_weight.size, len(places)), order="F")
        for j, center in enumerate(centers @ self.to_metric.T):
            r_squared = np.zeros(root_weight.shape)
            for i, coordinate in enumerate(center):
                if relevance[i] > 0:
                    r_squared += (sharpness[j] * relevance[i] * (X_metric[:, i] - coordinate)) ** 2
            Phi[:, j] = (self.basis.profile(r_squared) * root_weight).ravel()
        return Phi


def make_design(
    X: Floats,
    Y: Floats,
    weight: Floats,
    *,
    box: Box,
    fixed: FixedPart,
    basis: Basis,
    metric: str | Floats,
    penalty: Floats,
    own_widths: bool = False,
    rescale: bool = True,
) -> Design:
    """Prepare X (N, d), Y (N, c), weight (N,) > 0 for the chains.

    A table of penalties with more than one column, (k_max + 1, d + 1), asks for a learned metric. With `own_widths`,
    each basis function has one. With `rescale`, basis functions without a scale (r, r^3) are given one that suits the
    arithmetic.
    """
    U = box.to_unit(X)
    if not isinstance(metric, str):
        metric = metric[np.ix_(box.varies, box.varies)]
        if box.varies.any() and not metric.any():
            raise ValueError(
                "The given metric is zero on every feature that varies, so every distance would be 0. Give another."
            )
    to_metric = metric_factor(metric, U, weight, box.width[box.varies]) / basis.width
    _check_distances(to_metric, basis)
    metric_scale = 1.0
    penalty = penalty[:, None] if penalty.ndim == 1 else penalty
    learns_metric = penalty.shape[1] > 1
    if rescale and basis.degree is not None and not learns_metric:
        metric_scale = float(np.abs(to_metric).max(initial=0.0)) or 1.0
        to_metric = to_metric / metric_scale
    outputs = OutputScale.of(Y, weight)
    root_weight = np.sqrt(weight)
    Y_scaled = (Y - outputs.mean) / outputs.scale * root_weight[:, None]
    smallest = np.maximum(RESIDUAL_ROUNDING, LAST_DIGIT * np.abs(Y).max(axis=0) / outputs.scale)
    rss_floor = weight.sum() * smallest**2
    Y_padded = pad_rows(Y_scaled)
    target = Target(
        basis_code=basis.code,
        m_fixed=fixed.Q.shape[1],
        X_metric=to_tiles(U @ to_metric.T),
        to_metric=np.ascontiguousarray(to_metric),
        log_sharpest=0.0,
        root_weight=to_tiles(root_weight[:, None])[:, 0],
        n_total=float(weight.sum()),
        penalty=np.ascontiguousarray(penalty),
        rss_floor=np.maximum(rss_floor, np.finfo(np.float64).tiny),
        linear=make_factor(fixed.Q, Y_padded, fixed.Q.shape[1]) if learns_metric else no_factor(),
        faintest=_faintest(basis, learns_metric=learns_metric, ridge=not rescale),
    )
    design = Design(target, box, basis, metric_scale, fixed, outputs, Y_padded)
    return design.with_own_widths(penalty) if own_widths else design


def _faintest(basis: Basis, *, learns_metric: bool, ridge: bool) -> float:
    """Choose the smallest squared norm of a basis function. Of a given width, a ridge holds it down itself."""
    if not basis.fades:
        return 0.0
    if learns_metric:
        return FEWEST_ROWS_OF_A_RIDGE if ridge else FEWEST_ROWS
    return 0.0 if ridge else FAINTEST


def count_distinct_rows(X: Floats, Y: Floats) -> int:
    """Count the distinct rows of [X, Y], by a random projection. O(N log N)."""
    table = np.hstack([X, Y])
    scale: Floats = np.abs(table).max(axis=0)
    multipliers = np.random.default_rng(0).standard_normal((table.shape[1],))
    projection = np.zeros(len(table))
    # Column by column: rows that are equal then have equal sums, to the last bit.
    for j in range(table.shape[1]):
        if scale[j] > 0:
            projection += multipliers[j] * (table[:, j] / scale[j])
    return len(np.unique(projection))


def _check_distances(to_metric: Floats, basis: Basis) -> None:
    largest = float(np.abs(to_metric).sum(axis=1).max(initial=1.0 if to_metric.size == 0 else 0.0))
    if not SMALLEST_DISTANCE < largest < LARGEST_DISTANCE:
        raise ValueError(
            f"Distances between rows are of the order of {largest:.3g} widths of the basis {basis!r}, which "
            f"{'overflows' if largest > 1 else 'vanishes'} in its function. Rescale X, change the width, or use "
            f"metric='standardized'."
        )
