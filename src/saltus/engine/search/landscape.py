"""log pi as a smooth function of a network, for all rows or a part of them: what descents go down on."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from saltus._tiles import ROUNDING, rounded, to_tiles
from saltus._typing import Floats
from saltus.engine.kernels.factor import no_factor
from saltus.engine.kernels.target import penalty_of
from saltus.engine.problem.design import Design
from saltus.engine.problem.problem import Problem
from saltus.engine.search.gradient import Work, make_work
from saltus.engine.search.policy import DEFAULT_POLICY, SearchPolicy
from saltus.engine.search.quasi_newton import Search, descend, start_search
from saltus.families import FittedMixture
from saltus.families.terms import TermSet

# Few rows are stricter about columns that depend on each other, so that more rows take what is found: by this power of
# how many times as many there are. Descents lead to where columns are just about allowed, and on other rows one in ten
# such candidates had a column with .99 of the share that must be new: pivoting then took out several, and left little.
STRICTER = 0.1


@dataclass(frozen=True)
class Candidate:
    """A network that a search considers: its terms, and its log pi."""

    terms: TermSet
    log_posterior: float

    @property
    def k(self) -> int:
        """The number of terms."""
        return len(self.terms)


@dataclass(frozen=True)
class Landscape:
    """log pi as a smooth function of the parameters of terms, for all rows or a part of them."""

    problem: Problem
    mixture: FittedMixture
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
        families = design.mixture.search.sample(problem.families, rows)
        smallest = families.smallest_squared_norm / scale * (1 + ROUNDING**0.5)  # so that the chain takes what is found
        Q, Y = np.linalg.qr(rounded(design.linear.Q[rows]))[0], rounded(design.Y[rows])
        E = Y - Q @ (Q.T @ Y)
        tiles = np.concatenate([to_tiles(E - Q @ (Q.T @ E)), to_tiles(Q)], axis=1)
        sampled = problem._replace(
            families=families._replace(smallest_squared_norm=smallest),
            root_weight=np.ascontiguousarray(to_tiles(root_weight[rows, None])[:, 0]),
            linear=no_factor()._replace(tiles=tiles),
            rss_floor=problem.rss_floor / scale,
            prior_rss=problem.prior_rss / scale,
            smallest_new_share=problem.smallest_new_share * (len(design.rows) / len(rows)) ** STRICTER,
        )
        return cls(sampled, design.mixture, policy)

    @property
    def n_rows(self) -> int:
        """The number of rows, without padding."""
        return int((self.problem.root_weight > 0).sum())

    @property
    def has_many_rows(self) -> bool:
        """Whether a descent takes so long that there should be few."""
        return self.n_rows > self.policy.many_rows

    def evaluate(self, terms: TermSet) -> tuple[Search, Work]:
        """Evaluate log pi, its gradient, and the least-squares fit on the way. O(N m (m + q))."""
        free = self.mixture.search.free(self.problem.families, terms, raw=True)
        problem = self.problem._replace(families=free.families)
        work, search = make_work(problem, free), start_search(free.x, free.x, free.x)
        descend(problem, penalty_of(self.problem, terms), work, search, 1)
        return search, work

    def value(self, terms: TermSet) -> float:
        """Evaluate log pi; minus infinity where columns depend on each other."""
        return float(self.evaluate(terms)[0].value[0])

    def value_and_gradient(self, terms: TermSet) -> tuple[float, Floats]:
        """Evaluate log pi and its gradient by what is free of the terms, as it is."""
        search, _ = self.evaluate(terms)
        return float(search.value[0]), search.gradient

    def candidate(self, terms: TermSet) -> Candidate:
        """Evaluate log pi and keep it with the network."""
        return Candidate(terms, self.value(terms))

    def log_posterior(self, rss: Floats, terms: TermSet) -> float:
        """Evaluate log pi of terms whose fit is known, up to a constant where only a part of the rows is used."""
        return float(-0.5 * self.problem.degrees * np.log(rss).sum() - penalty_of(self.problem, terms))
