"""A network as the numbers of a formula, in the user's units, with as many digits as it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus._typing import Floats
from saltus.engine.results.network import Network
from saltus.families.distances import squared_distances

# Rounded numbers move predictions by no more than this share of the scale of the output.
ROUNDING = 1e-3
FEWEST_DIGITS, MOST_DIGITS = 4, 17
# Looked at in so many places.
N_POINTS = 500


@dataclass(frozen=True)
class Formula:
    """y_i = intercept_i + x'linear_i + sum_j coefficients_ij phi(r_j).

    (r_j width_j)^2 is the sum over inputs of ((x - center_j) / length_scales)^2, where an infinite length scale means
    off; or, where there is a matrix, (x - center_j)' matrix (x - center_j).
    """

    profile: Callable[[Floats], Floats]  # phi, of r^2
    intercept: Floats  # (c,)
    linear: Floats  # (c, d)
    centers: Floats  # (k, d)
    widths: Floats  # (k,), 1 where all share one
    coefficients: Floats  # (c, k)
    length_scales: Floats  # (d,)
    matrix: Floats | None  # (d, d)

    @classmethod
    def of(cls, network: Network) -> "Formula":
        """Take the numbers of a network."""
        matrix = network.metric / network.basis.width**2
        slopes = np.sqrt(np.diag(matrix))
        return cls(
            profile=network.basis.profile,
            intercept=network.intercept,
            linear=network.linear_coef,
            centers=network.centers,
            widths=network.widths,
            coefficients=network.basis_coef,
            length_scales=np.divide(1.0, slopes, out=np.full(slopes.shape, np.inf), where=slopes > 0),
            matrix=matrix if (matrix - np.diag(np.diag(matrix))).any() else None,
        )

    @property
    def uses(self) -> list[int]:
        """The inputs that the basis functions use."""
        return np.flatnonzero(np.isfinite(self.length_scales)).tolist()

    @property
    def has_widths(self) -> bool:
        """Whether basis functions differ in width."""
        return bool((self.widths != 1).any())

    def predict(self, X: Floats) -> Floats:
        """Evaluate the formula at X (N, d): (N, c)."""
        if self.matrix is None:
            squared = squared_distances(X / self.length_scales, self.centers / self.length_scales)
        else:
            offsets = X[:, None, :] - self.centers
            squared = np.maximum(np.einsum("nki,ij,nkj->nk", offsets, self.matrix, offsets), 0.0)
        return self.intercept + X @ self.linear.T + self.profile(squared / self.widths**2) @ self.coefficients.T

    def rounded(self, digits: "Digits") -> "Formula":
        """Keep so many significant digits of every number."""
        return Formula(
            self.profile,
            _round(self.intercept, digits.linear),
            _round(self.linear, digits.linear),
            _round(self.centers, digits.bases),
            _round(self.widths, digits.bases),
            _round(self.coefficients, digits.bases),
            _round(self.length_scales, digits.bases),
            None if self.matrix is None else _round(self.matrix, digits.bases),
        )


class Digits(NamedTuple):
    """How many digits are written: of the linear term, and of all that makes up the basis functions."""

    linear: int
    bases: int


def digits_needed(network: Network) -> Digits:
    """Find how many digits keep the formula within a thousandth of the spread of the outputs, in the box of the data.

    Coefficients of basis functions may be thousands of times larger than their sum: it can take many.
    """
    n_varying = int(network.box.varies.sum())
    points = network.box.from_unit(np.random.default_rng(0).random((N_POINTS, n_varying)))
    formula = Formula.of(network)

    def is_enough(digits: Digits) -> bool:
        error = np.abs(formula.rounded(digits).predict(points) - network.predict(points)) / network.outputs.scale
        return bool(error.max() <= ROUNDING)

    digits = Digits(MOST_DIGITS, MOST_DIGITS)
    for part in Digits._fields:
        candidates = (digits._replace(**{part: n}) for n in range(FEWEST_DIGITS, MOST_DIGITS))
        digits = next(filter(is_enough, candidates), digits)
    return digits


def _round(values: Floats, digits: int) -> Floats:
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"), otypes=[np.float64])(values)
