"""Draws of the posterior."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from saltus._typing import Floats, Ints


@dataclass(frozen=True)
class Draw:
    """One draw: the centres, and the posterior of everything above them given those, in scaled units.

    Given the centres and delta^2, alpha_i has a Student's t distribution with `degrees` of freedom, mean `mean` and
    scale S_i / degrees times K_i K_i'.
    """

    centers_unit: Floats  # (k, d_varying)
    sharpness: Floats  # (k,), of basis functions with widths of their own; otherwise 1
    relevance: Floats  # (q,), of a learned metric; otherwise 1
    mean: Floats  # (m, c)
    K: Floats  # (c, m, m), upper triangular
    S: Floats  # (c,), g0 + y_i'P_i y_i
    delta_squared: Floats  # (c,)
    sigma_squared: Floats  # (c,)
    rate: float
    log_posterior: float


@dataclass(frozen=True)
class Draws(Sequence[Draw]):
    """The draws of a chain, one after the other in flat arrays: they differ in size."""

    n_bases: Ints  # (n,)
    centers_unit: Floats  # (sum of k, d_varying)
    sharpness: Floats  # (sum of k,)
    relevance: Floats  # (n, q)
    mean: Floats  # (sum of m, c)
    K: Floats  # (sum of c m^2,)
    S: Floats  # (n, c)
    delta_squared: Floats  # (n, c)
    sigma_squared: Floats  # (n, c)
    rate: Floats  # (n,)
    log_posterior: Floats  # (n,)

    @classmethod
    def of(cls, draws: Sequence[Draw]) -> "Draws":
        """Join draws."""
        return cls(
            n_bases=np.array([len(draw.centers_unit) for draw in draws]),
            centers_unit=np.concatenate([draw.centers_unit for draw in draws]),
            sharpness=np.concatenate([draw.sharpness for draw in draws]),
            relevance=np.array([draw.relevance for draw in draws]),
            mean=np.concatenate([draw.mean for draw in draws]),
            K=np.concatenate([draw.K.ravel() for draw in draws]),
            S=np.array([draw.S for draw in draws]),
            delta_squared=np.array([draw.delta_squared for draw in draws]),
            sigma_squared=np.array([draw.sigma_squared for draw in draws]),
            rate=np.array([draw.rate for draw in draws]),
            log_posterior=np.array([draw.log_posterior for draw in draws]),
        )

    def __len__(self) -> int:
        return len(self.n_bases)

    def __getitem__(self, index: int) -> Draw:  # type: ignore[override]
        n = range(len(self))[index]
        before, k = int(self.offsets[n]), int(self.n_bases[n])
        m_fixed, c = self.m_fixed, self.S.shape[1]
        m = m_fixed + k
        m_before = before + n * m_fixed
        K_before = int(self._offsets_of_K[n])
        return Draw(
            centers_unit=self.centers_unit[before : before + k],
            sharpness=self.sharpness[before : before + k],
            relevance=self.relevance[n],
            mean=self.mean[m_before : m_before + m],
            K=self.K[K_before : K_before + c * m * m].reshape(c, m, m),
            S=self.S[n],
            delta_squared=self.delta_squared[n],
            sigma_squared=self.sigma_squared[n],
            rate=float(self.rate[n]),
            log_posterior=float(self.log_posterior[n]),
        )

    @property
    def m_fixed(self) -> int:
        """Columns of the linear term."""
        return (len(self.mean) - len(self.centers_unit)) // len(self)

    @cached_property
    def offsets(self) -> Ints:
        """Where the centres of each draw begin and, last, end: (n + 1,)."""
        return _running_sum(self.n_bases)

    @cached_property
    def _offsets_of_K(self) -> Ints:
        return _running_sum(self.S.shape[1] * (self.n_bases + self.m_fixed) ** 2)


def _running_sum(lengths: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
