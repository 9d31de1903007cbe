"""Downhill from a state: the gradient of log pi, quasi-Newton steps along it, and elimination of what is not needed.

All of this is heuristic as far as the chain is concerned: it chooses where chains start, and improves where they end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dtrtrs

from saltus._typing import Floats
from saltus.engine.kernels.factor import from_tiles, to_tiles
from saltus.engine.kernels.moves import LARGEST_RELEVANCE, SMALLEST_RELEVANCE
from saltus.engine.problem.design import ROUNDING, Design, rounded
from saltus.engine.search.gauss_newton import climb_damped, looks_a_step, make_curvature
from saltus.engine.search.gradient import DEPENDENT, SHORTEST, Surface, Work, flops_a_look, make_work
from saltus.engine.search.quasi_newton import Search, climb, start_search
from saltus.families import Basis

# Floating-point operations between two calls of `go_on`: about 20 milliseconds.
FLOPS_A_CALL = 6e7

# Inputs that are tried for elimination at a time, the least relevant.
MOST_INPUTS_TRIED = 3

# A descent from a start sees so many rows at first, drawn at random, then FINER times as many, and so on; all at
# the end, or so many. Friedman 1 with 100 000 rows, 3 starts of each kind of widths, mean log pi above -575 700 and CPU
# seconds: 66 and 7.2 by 5 000, 20 000 and all; 67 and 15 by 5 000 and all, thoroughly; 68 and 6.2 from 2 000 on. With
# 20 000 alone, the best of three random starts, -2 and 8 (4 times), which 20 000 annealed iterations bring to 48 in 30.
ROWS_AT_FIRST, FINER, MOST_ROWS = 5_000, 4, 1_000_000
ROWS_A_LINEAR_COLUMN = 10

# Few rows are stricter about columns that depend on each other, so that more rows take what is found: by this power of
# how many times as many there are. Descents lead to where columns are just about allowed, and on other rows one in ten
# such places had a column with .99 of the share that must be new: pivoting then took out several, and left little.
STRICTER = 0.1

GoOn = Callable[[], bool]


class Pains(NamedTuple):
    """The looks of a descent: from its start, after each elimination, at the end; and how far past the best it goes."""

    first: int
    between: int
    last: int
    most_stale: int
    damped: bool = False  # by Gauss-Newton steps


# Quartiles of log pi over 40 random starts of 20 centres, and milliseconds, with 25 and 40 between eliminations:
#   robot arm, N = 200:      236.2  240.1  241.8  (16)     238.9  241.3  243.7  (19)
#   Friedman 1, N = 500:    -770.7 -768.4 -765.6  (66)    -770.9 -767.7 -765.3  (81)
THOROUGHLY = Pains(first=60, between=40, last=300, most_stale=4)
# With more rows than this.
MANY_ROWS = 20_000
WITH_MANY_ROWS = Pains(first=60, between=20, last=150, most_stale=2)


@dataclass(frozen=True)
class Place:
    """Centres (k, d) in the unit cube, relevances (q,), and log pi there."""

    centers: Floats
    relevance: Floats
    log_posterior: float


def looks_a_call(surface: Surface, k: int, *, damped: bool = False) -> int:
    """Say how many looks take about FLOPS_A_CALL."""
    n_tiles, _, length = surface.X.shape
    flops = n_tiles * length * flops_a_look(surface, k) * (1 + damped * looks_a_step(surface, k))
    return max(int(FLOPS_A_CALL / flops), 1)


@dataclass(frozen=True)
class Landscape:
    """log pi as a smooth function of centres, log sharpnesses and log relevances, for all rows or a part of them."""

    basis: Basis
    X: Floats  # (n_tiles, q, L), where the metric is Euclidean and relevances are 1
    root_weight: Floats  # (n_tiles, L)
    Q_fixed: Floats  # (n_tiles, m_fixed, L)
    E_fixed: Floats  # (n_tiles, c, L), residuals of the linear term
    to_metric: Floats  # (q, d)
    log_sharpest: float  # 0 where all share a width
    n_total: float
    rss_floor: Floats  # (c,)
    penalty: Floats  # (k_max + 1, q + 1) or (k_max + 1, 1)
    faintest: float = 0.0  # the smallest squared length of a basis function
    dependent: float = DEPENDENT  # the smallest share of its length that is new

    @classmethod
    def of(cls, design: Design, rng: np.random.Generator | None = None, n_most: int | None = None) -> Self:
        """Take the rows of a design; with `rng`, at most MOST_ROWS or `n_most`, drawn at random.

        Fewer rows say less for each parameter: the penalty stands as it is, the likelihood is scaled up.
        """
        target = design.target
        root_weight = target.root_weight.ravel()
        rows = design.rows
        n_most = n_most or MOST_ROWS
        scale = 1.0
        if rng is not None and len(rows) > n_most:
            rows = np.sort(rng.choice(rows, n_most, replace=False))
            scale = target.n_total / float((root_weight[rows] ** 2).sum())
        X = rounded(design.X_metric(rows))
        Q, Y = np.linalg.qr(rounded(design.fixed.Q[rows]))[0], rounded(design.Y[rows])
        E = Y - Q @ (Q.T @ Y)
        return cls(
            basis=design.basis,
            X=to_tiles(X),
            root_weight=np.ascontiguousarray(to_tiles(root_weight[rows, None])[:, 0]),
            Q_fixed=to_tiles(Q),
            E_fixed=to_tiles(E - Q @ (Q.T @ E)),
            to_metric=rounded(target.to_metric),
            log_sharpest=target.log_sharpest,
            n_total=target.n_total,
            rss_floor=target.rss_floor / scale,
            penalty=target.penalty,
            faintest=target.faintest / scale * (1 + ROUNDING**0.5),  # so that the chain takes what is found
            dependent=DEPENDENT * (len(design.rows) / len(rows)) ** STRICTER,
        )

    @property
    def k_max(self) -> int:
        """The most centres there can be."""
        return len(self.penalty) - 1

    @property
    def n_rows(self) -> int:
        """The number of rows, without padding."""
        return int((self.root_weight > 0).sum())

    @property
    def pains(self) -> Pains:
        """What pains a descent should take."""
        return WITH_MANY_ROWS if self.has_many_rows else THOROUGHLY

    @property
    def has_many_rows(self) -> bool:
        """Whether a descent takes so long that there should be few."""
        return self.n_rows > MANY_ROWS

    @property
    def learns_metric(self) -> bool:
        """Whether relevances are free."""
        return self.penalty.shape[1] > 1

    def surface(self, k: int, relevance: Floats) -> Surface:
        """Give log pi of k centres as a function of what makes a difference: the inputs that are on."""
        on = relevance > 0
        return Surface(
            basis_code=self.basis.code,
            X=self.X if on.all() else np.ascontiguousarray(self.X[:, on]),
            root_weight=self.root_weight,
            Q_fixed=self.Q_fixed,
            E_fixed=self.E_fixed,
            to_metric=self.to_metric[on],
            log_sharpest=self.log_sharpest,
            sharpness_scale=2.0 * self.log_sharpest,
            n_total=self.n_total,
            rss_floor=self.rss_floor,
            penalty=float(self.penalty[k, on.sum() if self.learns_metric else 0]),
            learns_metric=self.learns_metric,
            faintest=self.faintest,
            dependent=self.dependent,
        )

    def look(self, centers: Floats, relevance: Floats) -> tuple[Search, Work]:
        """Evaluate log pi, its gradient, and the least-squares fit on the way. O(N m (m + q))."""
        on = relevance > 0
        surface = self.surface(len(centers), relevance)._replace(learns_metric=True)
        work = make_work(surface, relevance[on], len(centers))
        x = np.append(centers, np.log(relevance[on]))
        search = start_search(x, x, x)
        climb(surface, work, search, 1)
        return search, work

    def value(self, centers: Floats, relevance: Floats) -> float:
        """Evaluate log pi at a place; minus infinity where columns depend on each other."""
        return float(self.look(centers, relevance)[0].value[0])

    def gradient(self, centers: Floats, relevance: Floats) -> tuple[float, Floats, Floats]:
        """Evaluate log pi and its gradient with respect to centres (k, d) and log relevances (q,)."""
        search, _ = self.look(centers, relevance)
        to_log_relevance = np.zeros_like(relevance)
        to_log_relevance[relevance > 0] = search.gradient[centers.size :]
        return float(search.value[0]), search.gradient[: centers.size].reshape(centers.shape), to_log_relevance

    def place(self, centers: Floats, relevance: Floats) -> Place:
        """Evaluate log pi at a place and keep it."""
        return Place(centers, relevance, self.value(centers, relevance))

    def ascend(self, start: Place, n_looks: int, go_on: GoOn = lambda: True, *, damped: bool = False) -> Place:
        """Take steps on places and on relevances that are not 0; never end in a worse place.

        They are quasi-Newton's (L-BFGS) or, where `damped`, Gauss-Newton's.
        """
        k = len(start.centers)
        on = np.flatnonzero(start.relevance > 0)
        # Coordinates of centres along inputs that are switched off do not matter.
        scale = np.linalg.norm(self.to_metric[on], axis=0)
        if self.log_sharpest > 0:
            scale[-1] = 2.0 * self.log_sharpest
        moving = np.flatnonzero(scale > 0)
        if k == 0 or moving.size == 0 or not np.isfinite(start.log_posterior):
            return start
        scale = scale[moving]  # one step of the search is about as long in every direction
        surface = self.surface(k, start.relevance)
        to_metric = np.ascontiguousarray(surface.to_metric[:, moving] / scale)
        surface = surface._replace(to_metric=to_metric, sharpness_scale=1.0)
        x, high = (start.centers[:, moving] * scale).ravel(), np.tile(scale, k)
        low = np.zeros_like(high)
        if self.learns_metric:
            x = np.append(x, np.log(start.relevance[on]))
            low = np.append(low, np.full(on.size, np.log(SMALLEST_RELEVANCE)))
            high = np.append(high, np.full(on.size, np.log(LARGEST_RELEVANCE)))
        search = start_search(low, high, x)
        work = make_work(surface, start.relevance[on], k)
        curvature = make_curvature(surface, k) if damped else None
        a_call = looks_a_call(surface, k, damped=damped)
        is_under_way = True
        while is_under_way and n_looks > 0 and go_on():
            n_next = min(a_call, n_looks)
            n_looks -= n_next
            if curvature is None:
                is_under_way = climb(surface, work, search, n_next)
            else:
                is_under_way = climb_damped(surface, work, curvature, search, n_next)
        if not search.value[0] > start.log_posterior:
            return start
        centers, relevance = start.centers.copy(), start.relevance.copy()
        centers[:, moving] = np.clip(search.x[: k * moving.size].reshape(k, -1) / scale, 0.0, 1.0)
        if self.learns_metric:
            relevance[on] = np.exp(search.x[k * moving.size :])
        return Place(centers, relevance, float(search.value[0]))

    def eliminations(self, at: Place) -> list[Place]:
        """List the places with one centre less, the cheapest to lose, or with one of the least relevant inputs less."""
        found = []
        k = len(at.centers)
        search, work = self.look(at.centers, at.relevance)
        if k > 0 and np.isfinite(search.value[0]):
            R, Z = work.R[:, :k], work.R[:, k:]
            inverse, _ = dtrtrs(R, np.eye(k))
            norm = np.linalg.norm(inverse, axis=1)
            rss = work.rss + ((inverse / norm[:, None]) @ Z) ** 2
            j = int(np.log(rss).sum(axis=1).argmin())
            value = self.log_posterior(rss[j], k - 1, at.relevance)
            found.append(Place(np.delete(at.centers, j, axis=0), at.relevance, value))
        del search, work  # which is as large as three designs, and so is that of the next look
        on = np.flatnonzero(at.relevance > 0)
        if self.learns_metric and k > 0 and on.size > 1:
            for i in on[np.argsort(at.relevance[on], kind="stable")[:MOST_INPUTS_TRIED]]:
                relevance = at.relevance.copy()
                relevance[i] = 0.0
                found.append(self.place(at.centers, relevance))
        return found

    def log_posterior(self, rss: Floats, k: int, relevance: Floats) -> float:
        """Evaluate log pi, up to a constant where only a part of the rows is used."""
        n_active = int((relevance > 0).sum()) if self.learns_metric else 0
        return float(-0.5 * self.n_total * np.log(rss).sum() - self.penalty[k, n_active])

    def independent(self, centers: Floats, relevance: Floats) -> Place:
        """Leave out centres whose basis functions nearly depend on the others."""
        search, work = self.look(centers, relevance)
        if np.isfinite(search.value[0]):
            return Place(centers, relevance, float(search.value[0]))
        Phi = from_tiles(work.Phi) - from_tiles(self.Q_fixed) @ work.shared.T
        R, order = qr(Phi, overwrite_a=True, mode="r", pivoting=True, check_finite=False)
        n_most = min(R.shape)
        new = np.abs(np.diag(R)[:n_most])
        lengths = work.lengths[order[:n_most]]
        kept = order[:n_most][(new > 2 * (self.dependent * np.sqrt(lengths) + SHORTEST)) & (lengths >= self.faintest)]
        return self.place(centers[np.sort(kept)], relevance)

    def prune(
        self,
        start: Place,
        go_on: GoOn = lambda: True,
        pains: Pains | None = None,
        hopeless: tuple[float, float] = (-np.inf, -np.inf),
    ) -> Place:
        """Ascend, then eliminate centres and inputs one by one, ascending after each, past the best place and back.

        No further than `go_on` allows, nor from a place as low as the first of `hopeless` before anything is
        eliminated, as the second before the last ascent.
        """
        pains = pains or self.pains
        at = self.ascend(self.independent(start.centers, start.relevance), pains.first, go_on, damped=pains.damped)
        best, n_stale = at, 0
        if at.log_posterior <= hopeless[0]:
            return at
        while n_stale < pains.most_stale and go_on():
            candidates = self.eliminations(at)
            if not candidates:
                break
            next_best = max(candidates, key=lambda place: place.log_posterior)
            at = self.ascend(next_best, pains.between, go_on, damped=pains.damped)
            n_stale = 0 if at.log_posterior > best.log_posterior else n_stale + 1
            best = max(best, at, key=lambda place: place.log_posterior)
        if best.log_posterior <= hopeless[1]:
            return best
        return self.ascend(best, pains.last, go_on, damped=pains.damped)


def coarse_to_fine(rng: np.random.Generator, design: Design, finest: Landscape) -> Iterator[Landscape]:
    """Give the landscapes of more and more rows, drawn at random, and at last the finest."""
    weight = (design.target.root_weight[design.target.root_weight > 0] / design.target.root_weight.max()) ** 2
    n_effective = weight.sum() ** 2 / (weight**2).sum()
    # As many more as rows of unequal weight say less than others, and enough for the linear term.
    n_drawn = max(round(ROWS_AT_FIRST * weight.size / n_effective), ROWS_A_LINEAR_COLUMN * design.target.m_fixed)
    while n_drawn <= finest.n_rows / 2:
        yield Landscape.of(design, rng, n_drawn)
        n_drawn *= FINER
    yield finest
