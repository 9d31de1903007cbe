"""Draws of the posterior."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.terms import TermSet


@dataclass(frozen=True)
class Draw:
    """One draw: the terms, and the posterior of everything above them given those, in scaled units.

    Given the terms and how wide the prior of their coefficients is, alpha_i has a Student's t distribution with
    `degrees` of freedom, mean `mean` and scale S_i / degrees times K_i K_i'.
    """

    terms: TermSet
    mean: Floats  # (m, c)
    K: Floats  # (c, m, m), a root of the covariance
    S: Floats  # (c,), g0 + y_i'P_i y_i, with P_i what the prior of the coefficients leaves of y
    prior_width: Floats  # (c,), of the coefficients: delta^2 under a ridge, else g
    sigma_squared: Floats  # (c,)
    rate: float  # under a g-prior 0
    log_posterior: float


@dataclass(frozen=True)
class Draws(Sequence[Draw]):
    """The draws of a chain, one after the other in flat arrays: they differ in size."""

    n_terms: Annotated[Ints, "n"]  # k
    family: Annotated[Ints, "k"]  # of all k terms of all draws
    choices: Annotated[Ints, "kh"]
    parameters: Annotated[Floats, "kp"]
    shared: Annotated[Floats, "ns"]
    mean: Annotated[Floats, "mc"]  # of all m columns of all draws
    K: Annotated[Floats, "w"]  # c m^2 for each draw
    S: Annotated[Floats, "nc"]
    prior_width: Annotated[Floats, "nc"]
    sigma_squared: Annotated[Floats, "nc"]
    rate: Annotated[Floats, "n"]
    log_posterior: Annotated[Floats, "n"]
    n_columns: Annotated[Ints, "n"]  # m

    @classmethod
    def of(cls, draws: Sequence[Draw]) -> "Draws":
        """Join draws."""
        return cls(
            n_terms=np.array([len(draw.terms) for draw in draws]),
            family=np.concatenate([draw.terms.family for draw in draws]),
            choices=np.concatenate([draw.terms.choices for draw in draws]),
            parameters=np.concatenate([draw.terms.parameters for draw in draws]),
            shared=np.array([draw.terms.shared for draw in draws]),
            mean=np.concatenate([draw.mean for draw in draws]),
            K=np.concatenate([draw.K.ravel() for draw in draws]),
            S=np.array([draw.S for draw in draws]),
            prior_width=np.array([draw.prior_width for draw in draws]),
            sigma_squared=np.array([draw.sigma_squared for draw in draws]),
            rate=np.array([draw.rate for draw in draws]),
            log_posterior=np.array([draw.log_posterior for draw in draws]),
            n_columns=np.array([len(draw.mean) for draw in draws]),
        )

    def __len__(self) -> int:
        return len(self.n_terms)

    def __getitem__(self, index: int) -> Draw:  # type: ignore[override]
        n = range(len(self))[index]
        before, k = int(self.offsets[n]), int(self.n_terms[n])
        m, c = int(self.n_columns[n]), self.S.shape[1]
        m_before, K_before = int(self._offsets_of_columns[n]), int(self._offsets_of_K[n])
        return Draw(
            terms=self.all_terms.take(slice(before, before + k)).with_shared(self.shared[n]),
            mean=self.mean[m_before : m_before + m],
            K=self.K[K_before : K_before + c * m * m].reshape(c, m, m),
            S=self.S[n],
            prior_width=self.prior_width[n],
            sigma_squared=self.sigma_squared[n],
            rate=float(self.rate[n]),
            log_posterior=float(self.log_posterior[n]),
        )

    @property
    def all_terms(self) -> TermSet:
        """The terms of all draws, one after the other. What they share differs from draw to draw."""
        return TermSet(self.family, self.choices, self.parameters, self.shared[0])

    @cached_property
    def offsets(self) -> Ints:
        """Where the terms of each draw begin and, last, end: (n + 1,)."""
        return _running_sum(self.n_terms)

    @cached_property
    def _offsets_of_columns(self) -> Ints:
        return _running_sum(self.n_columns)

    @cached_property
    def _offsets_of_K(self) -> Ints:
        return _running_sum(self.S.shape[1] * self.n_columns**2)


def _running_sum(lengths: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
