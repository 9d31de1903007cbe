"""Downhill from a state: the gradient of log pi, quasi-Newton steps along it, and elimination of what is not needed.

Coefficients are projected out (variable projection), so the gradient is with respect to centres and log relevances
alone. With e_i the residuals and alpha_i the coefficients at the least-squares solution,

    d log pi = N sum_i 1/RSS_i  e_i' (d Phi) alpha_i

exactly: what the coefficients and the linear term do in response has no first-order effect. All of this is heuristic
as far as the chain is concerned: it chooses where chains start, and improves where they end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dgeqrf, dorgqr, dtrtrs
from scipy.optimize import minimize

from saltus._typing import Floats
from saltus.bases import Basis
from saltus.engine.design import Design
from saltus.engine.factor import COLLINEAR, VANISHED
from saltus.engine.moves import LARGEST_RELEVANCE, SMALLEST_RELEVANCE

# A column is dependent when less than this share of its length is new: twice what chains would refuse.
DEPENDENT = 2 * COLLINEAR**0.5
SHORTEST = VANISHED**0.5

# Steps of L-BFGS: from a random start, after each elimination, at the end; pairs that it remembers.
FIRST_STEPS, STEPS_BETWEEN_ELIMINATIONS, LAST_STEPS = 60, 15, 200
MEMORY = 20

# Where columns depend on each other, the search sees a value this much worse than its start.
WORSE = 1e6

# Elimination goes on so many times past the best state.
MOST_STALE = 4

# Descents use no more rows than this, drawn at random where there are more.
MOST_ROWS = 20_000


# Descents see the data rounded to this: far below any noise, and far above the last digits, in which data in other
# units differ. So units do not decide which way a search turns.
ROUNDING = 2.0**-26


def rounded(values: Floats) -> Floats:
    """Leave out the last digits."""
    return np.round(values / ROUNDING) * ROUNDING


@dataclass(frozen=True)
class Place:
    """Centres (k, d) in the unit cube, relevances (q,), and log pi there."""

    centers: Floats
    relevance: Floats
    log_posterior: float


@dataclass(frozen=True)
class Fit:
    """The least-squares fit at a place."""

    squared: Floats  # (N, k), distances
    R: Floats  # (k, k), of the basis functions less the linear term; what is below the diagonal is not to be read
    Z: Floats  # (k, c)
    E: Floats  # (N, c), residuals
    rss: Floats  # (c,)


@dataclass(frozen=True)
class Landscape:
    """log pi as a smooth function of centres and log relevances, for a design or a part of its rows."""

    basis: Basis
    X: Floats  # (N, q), where the metric is Euclidean and relevances are 1
    X_squared: Floats  # (N, q)
    root_weight: Floats  # (N,)
    Q_fixed: Floats  # (N, m_fixed)
    E_fixed: Floats  # (N, c), residuals of the linear term
    to_metric: Floats  # (q, d)
    n_total: float
    rss_floor: Floats  # (c,)
    penalty: Floats  # (k_max + 1, q + 1) or (k_max + 1, 1)

    @classmethod
    def of(cls, design: Design, rng: np.random.Generator | None = None) -> Self:
        """Take the rows of a design; with `rng`, no more than MOST_ROWS of them."""
        target = design.target
        root_weight = target.root_weight.ravel()
        rows = np.flatnonzero(root_weight > 0)
        scale = 1.0
        Q, Y = design.fixed.Q[rows], design.Y[rows]
        if rng is not None and len(rows) > MOST_ROWS:
            # Fewer rows say less for each parameter: the penalty stands as it is, the likelihood is scaled up.
            chosen = np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))
            rows = rows[chosen]
            scale = float((root_weight**2).sum() / (root_weight[rows] ** 2).sum())
            Q, Y = Q[chosen], Y[chosen]
        X = rounded(target.X_metric.transpose(0, 2, 1).reshape(len(root_weight), -1)[rows])
        Q, Y = np.linalg.qr(rounded(Q))[0], rounded(Y)
        E = Y - Q @ (Q.T @ Y)
        return cls(
            basis=design.basis,
            X=X,
            X_squared=X**2,
            root_weight=root_weight[rows],
            Q_fixed=Q,
            E_fixed=E - Q @ (Q.T @ E),
            to_metric=rounded(target.to_metric),
            n_total=target.n_total,
            rss_floor=target.rss_floor / scale,
            penalty=target.penalty,
        )

    def basis_functions(self, centers: Floats, relevance: Floats) -> tuple[Floats, Floats, Floats]:
        """Evaluate squared distances (N, k), basis functions less the linear term (N, k), and their lengths before."""
        on = relevance > 0
        rows, points = self.X[:, on] * relevance[on], (centers @ self.to_metric.T)[:, on] * relevance[on]
        squared = (points @ (-2.0 * rows).T).T
        squared += np.einsum("nq,nq->n", rows, rows)[:, None]
        squared += np.einsum("kq,kq->k", points, points)
        np.maximum(squared, 0.0, out=squared)
        Phi = self.basis.profile(squared)
        Phi *= self.root_weight[:, None]
        lengths = np.sqrt(np.einsum("nk,nk->k", Phi, Phi))
        Phi -= self.Q_fixed @ (self.Q_fixed.T @ Phi)
        return squared, np.asfortranarray(Phi), lengths

    def fit(self, centers: Floats, relevance: Floats) -> Fit | None:
        """Solve for the coefficients; None where columns depend on each other. O(N m^2)."""
        if len(centers) == 0:
            E = self.E_fixed
            rss = np.maximum(np.einsum("nc,nc->c", E, E), self.rss_floor)
            return Fit(np.empty((len(E), 0)), np.empty((0, 0)), np.empty((0, E.shape[1])), E, rss)
        squared, Phi, lengths = self.basis_functions(centers, relevance)
        factored, tau, _, _ = dgeqrf(Phi, overwrite_a=1)
        R = factored[: len(centers)]
        if not (np.abs(R.diagonal()) > DEPENDENT * lengths + SHORTEST).all():
            return None
        R = R.copy()
        Q, _, _ = dorgqr(factored, tau, overwrite_a=1)
        Z = Q.T @ self.E_fixed
        E = self.E_fixed - Q @ Z
        rss = np.maximum(np.einsum("nc,nc->c", E, E), self.rss_floor)
        return Fit(squared, R, Z, E, rss)

    def log_posterior(self, rss: Floats, k: int, relevance: Floats) -> float:
        """Evaluate log pi, up to a constant where only a part of the rows is used."""
        n_active = int((relevance > 0).sum()) if self.penalty.shape[1] > 1 else 0
        return float(-0.5 * self.n_total * np.log(rss).sum() - self.penalty[k, n_active])

    def value(self, centers: Floats, relevance: Floats) -> float:
        """Evaluate log pi at a place; minus infinity where columns depend on each other."""
        fit = self.fit(centers, relevance)
        return -np.inf if fit is None else self.log_posterior(fit.rss, len(centers), relevance)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def gradient(self, centers: Floats, relevance: Floats) -> tuple[float, Floats, Floats] | None:
        """Evaluate log pi and its gradient with respect to centres (k, d) and log relevances (q,). O(N m (m + d))."""
        fit = self.fit(centers, relevance)
        if fit is None:
            return None
        alpha, _ = dtrtrs(fit.R, fit.Z)
        by_column = (self.n_total * fit.E / fit.rss * self.root_weight[:, None]) @ alpha.T
        by_squared = by_column * self.basis.slope(fit.squared)  # d log pi / d r^2 of each row and centre
        centers_metric = centers @ self.to_metric.T
        total = by_squared.sum(axis=0)[:, None]
        first, second = by_squared.T @ self.X, by_squared.T @ self.X_squared
        to_centers = -2.0 * relevance**2 * (first - centers_metric * total)
        to_log_relevance = 2.0 * relevance**2 * (second - 2.0 * centers_metric * first + centers_metric**2 * total)
        if not (np.isfinite(to_centers).all() and np.isfinite(to_log_relevance).all()):
            return None
        value = self.log_posterior(fit.rss, len(centers), relevance)
        return value, to_centers @ self.to_metric, to_log_relevance.sum(axis=0)

    @property
    def learns_metric(self) -> bool:
        """Whether relevances are free."""
        return self.penalty.shape[1] > 1

    def place(self, centers: Floats, relevance: Floats) -> Place:
        """Evaluate log pi at a place and keep it."""
        return Place(centers, relevance, self.value(centers, relevance))

    def ascend(self, start: Place, n_steps: int, go_on: Callable[[], bool] = lambda: True) -> Place:
        """Take quasi-Newton steps (L-BFGS) on centres and on relevances that are not 0; never end in a worse place."""
        k = len(start.centers)
        on = np.flatnonzero(start.relevance > 0) if self.learns_metric else np.empty(0, dtype=np.int64)
        # Coordinates of centres along inputs that are switched off do not matter.
        scale = np.linalg.norm(self.to_metric[start.relevance > 0], axis=0)
        moving = np.flatnonzero(scale > 0)
        if k == 0 or moving.size == 0 or not go_on():
            return start
        scale = scale[moving]  # one step of the search is about as long in every direction
        worst = -start.log_posterior + WORSE if np.isfinite(start.log_posterior) else WORSE

        def unpack(x: Floats) -> tuple[Floats, Floats]:
            centers, relevance = start.centers.copy(), start.relevance.copy()
            centers[:, moving] = np.clip(x[: k * moving.size].reshape(k, -1) / scale, 0.0, 1.0)
            relevance[on] = np.exp(x[k * moving.size :])
            return centers, relevance

        def negative(x: Floats) -> tuple[float, Floats]:
            found = self.gradient(*unpack(x))
            if found is None:
                return worst, np.zeros_like(x)
            value, to_centers, to_log_relevance = found
            return -value, -np.concatenate([(to_centers[:, moving] / scale).ravel(), to_log_relevance[on]])

        def look_up(_: Floats) -> None:
            if not go_on():
                raise StopIteration

        x = np.concatenate([(start.centers[:, moving] * scale).ravel(), np.log(start.relevance[on])])
        bounds = [(0.0, high) for high in np.tile(scale, k)]
        bounds += [(np.log(SMALLEST_RELEVANCE), np.log(LARGEST_RELEVANCE))] * on.size
        options = {"maxiter": n_steps, "maxcor": MEMORY}
        found = minimize(negative, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=look_up)
        end = self.place(*unpack(found.x))
        return end if end.log_posterior >= start.log_posterior else start

    def eliminations(self, at: Place) -> list[Place]:
        """List the places with one centre less, the cheapest to lose, or with one input less."""
        found = []
        k = len(at.centers)
        fit = self.fit(at.centers, at.relevance) if k > 0 else None
        if fit is not None:
            inverse, _ = dtrtrs(fit.R, np.eye(k))
            norm = np.linalg.norm(inverse, axis=1)
            rss = fit.rss + ((inverse / norm[:, None]) @ fit.Z) ** 2
            j = int(np.log(rss).sum(axis=1).argmin())
            value = self.log_posterior(rss[j], k - 1, at.relevance)
            found.append(Place(np.delete(at.centers, j, axis=0), at.relevance, value))
        if self.learns_metric and k > 0 and (at.relevance > 0).sum() > 1:
            for i in np.flatnonzero(at.relevance > 0):
                relevance = at.relevance.copy()
                relevance[i] = 0.0
                found.append(self.place(at.centers, relevance))
        return found

    def independent(self, centers: Floats, relevance: Floats) -> Place:
        """Leave out centres whose basis functions nearly depend on the others."""
        whole = self.place(centers, relevance)
        if np.isfinite(whole.log_posterior):
            return whole
        _, Phi, lengths = self.basis_functions(centers, relevance)
        R, order = qr(Phi, overwrite_a=True, mode="r", pivoting=True, check_finite=False)
        n_most = min(R.shape)
        new = np.abs(np.diag(R)[:n_most])
        kept = order[:n_most][new > 2 * (DEPENDENT * lengths[order[:n_most]] + SHORTEST)]
        return self.place(centers[np.sort(kept)], relevance)

    def prune(self, start: Place, go_on: Callable[[], bool] = lambda: True) -> Place:
        """Ascend, then eliminate centres and inputs one by one, ascending after each, past the best place and back.

        No further than `go_on` allows.
        """
        at = self.ascend(self.independent(start.centers, start.relevance), FIRST_STEPS, go_on)
        best, n_stale = at, 0
        while n_stale < MOST_STALE and go_on():
            candidates = self.eliminations(at)
            if not candidates:
                break
            next_best = max(candidates, key=lambda place: place.log_posterior)
            at = self.ascend(next_best, STEPS_BETWEEN_ELIMINATIONS, go_on)
            n_stale = 0 if at.log_posterior > best.log_posterior else n_stale + 1
            best = max(best, at, key=lambda place: place.log_posterior)
        return self.ascend(best, LAST_STEPS, go_on)
