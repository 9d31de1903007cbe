"""log pi as a smooth function of a network, for all rows or a part of them: what descents go down on."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from saltus._tiles import ROUNDING, rounded, to_tiles
from saltus._typing import Floats
from saltus.engine.kernels.factor import SMALLEST_NEW_SHARE, no_factor
from saltus.engine.kernels.target import penalty_of
from saltus.engine.problem.design import Design
from saltus.engine.problem.problem import Problem
from saltus.engine.search.gradient import Work, make_work
from saltus.engine.search.policy import DEFAULT_POLICY, SearchPolicy
from saltus.engine.search.quasi_newton import Search, descend, start_search
from saltus.families import FittedFamily

# Few rows are stricter about columns that depend on each other, so that more rows take what is found: by this power of
# how many times as many there are. Descents lead to where columns are just about allowed, and on other rows one in ten
# such candidates had a column with .99 of the share that must be new: pivoting then took out several, and left little.
STRICTER = 0.1


@dataclass(frozen=True)
class Candidate:
    """A network that a search considers: parameters (k, p) of terms, shared ones (s,), and its log pi."""

    parameters: Floats
    shared: Floats
    log_posterior: float

    @property
    def k(self) -> int:
        """The number of terms."""
        return len(self.parameters)


@dataclass(frozen=True)
class Landscape:
    """log pi as a smooth function of the parameters of terms, for all rows or a part of them."""

    problem: Problem
    family: FittedFamily
    policy: SearchPolicy = DEFAULT_POLICY

    @classmethod
    def of(
        cls,
        design: Design,
        rng: np.random.Generator | None = None,
        n_most: int | None = None,
        policy: SearchPolicy = DEFAULT_POLICY,
    ) -> Self:
        """Take the rows of a design; with `rng`, at most `n_most` or the policy's `most_rows`, drawn at random.

        Fewer rows say less for each parameter: the penalty stands as it is, the likelihood is scaled up.
        """
        problem = design.problem
        root_weight = problem.root_weight.ravel()
        rows = design.rows
        n_most = n_most or policy.most_rows
        scale = 1.0
        if rng is not None and len(rows) > n_most:
            rows = np.sort(rng.choice(rows, n_most, replace=False))
            scale = problem.n_total / float((root_weight[rows] ** 2).sum())
        families = design.family.search.sample(problem.families, rows)
        Q, Y = np.linalg.qr(rounded(design.linear.Q[rows]))[0], rounded(design.Y[rows])
        E = Y - Q @ (Q.T @ Y)
        tiles = np.concatenate([to_tiles(E - Q @ (Q.T @ E)), to_tiles(Q)], axis=1)
        sampled = problem._replace(
            families=families,
            root_weight=np.ascontiguousarray(to_tiles(root_weight[rows, None])[:, 0]),
            linear=no_factor()._replace(tiles=tiles),
            rss_floor=problem.rss_floor / scale,
            # So that the chain takes what is found.
            smallest_squared_norm=problem.smallest_squared_norm / scale * (1 + ROUNDING**0.5),
            smallest_new_share=SMALLEST_NEW_SHARE * (len(design.rows) / len(rows)) ** STRICTER,
        )
        return cls(sampled, design.family, policy)

    @property
    def n_rows(self) -> int:
        """The number of rows, without padding."""
        return int((self.problem.root_weight > 0).sum())

    @property
    def has_many_rows(self) -> bool:
        """Whether a descent takes so long that there should be few."""
        return self.n_rows > self.policy.many_rows

    def evaluate(self, parameters: Floats, shared: Floats) -> tuple[Search, Work]:
        """Evaluate log pi, its gradient, and the least-squares fit on the way. O(N m (m + q))."""
        k = len(parameters)
        families, x, in_use = self.family.search.with_free_shared(self.problem.families, parameters, shared)
        problem = self.problem._replace(families=families)
        work, search = make_work(problem, in_use, k), start_search(x, x, x)
        descend(problem, penalty_of(self.problem, parameters, shared), work, search, 1)
        return search, work

    def value(self, parameters: Floats, shared: Floats) -> float:
        """Evaluate log pi; minus infinity where columns depend on each other."""
        return float(self.evaluate(parameters, shared)[0].value[0])

    def value_and_gradient(self, parameters: Floats, shared: Floats) -> tuple[float, Floats, Floats]:
        """Evaluate log pi and its gradient with respect to parameters (k, p) and logarithms of shared ones (s,)."""
        search, _ = self.evaluate(parameters, shared)
        by_shared = np.zeros_like(shared)
        by_shared[shared > 0] = search.gradient[parameters.size :]
        return float(search.value[0]), search.gradient[: parameters.size].reshape(parameters.shape), by_shared

    def candidate(self, parameters: Floats, shared: Floats) -> Candidate:
        """Evaluate log pi and keep it with the network."""
        return Candidate(parameters, shared, self.value(parameters, shared))

    def log_posterior(self, rss: Floats, parameters: Floats, shared: Floats) -> float:
        """Evaluate log pi of terms whose fit is known, up to a constant where only a part of the rows is used."""
        return float(-0.5 * self.problem.n_total * np.log(rss).sum() - penalty_of(self.problem, parameters, shared))
