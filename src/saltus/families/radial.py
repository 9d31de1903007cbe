"""Radial basis functions: functions of the distance to a centre."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from saltus._jit import glue
from saltus._typing import Floats, is_number

RadialName = Literal["linear", "cubic", "thin_plate", "gaussian", "multiquadric", "inverse_multiquadric"]
RADIAL_NAMES: tuple[str, ...] = get_args(RadialName)
LINEAR, CUBIC, THIN_PLATE, GAUSSIAN, MULTIQUADRIC, INVERSE_MULTIQUADRIC = range(len(RADIAL_NAMES))


def _thin_plate(s: Floats) -> Floats:
    return np.where(s > 0, 0.5 * s * np.log(np.where(s > 0, s, 1.0)), 0.0)


# phi as a function of s = r^2.
_PROFILES: dict[str, Callable[[Floats], Floats]] = {
    "linear": np.sqrt,
    "cubic": lambda s: s * np.sqrt(s),
    "thin_plate": _thin_plate,
    "gaussian": lambda s: np.exp(-0.5 * s),
    "multiquadric": lambda s: np.sqrt(1.0 + s),
    "inverse_multiquadric": lambda s: 1.0 / np.sqrt(1.0 + s),
}
_DEGREES = {"linear": 1.0, "cubic": 3.0}


@dataclass(frozen=True)
class Radial:
    """A radial basis function phi(r / width).

    Parameters
    ----------
    name : str
        "linear" (r), "cubic" (r^3), "thin_plate" (r^2 ln r), "gaussian" (exp(-r^2/2)),
        "multiquadric" (sqrt(1 + r^2)) or "inverse_multiquadric" (1 / sqrt(1 + r^2)).
    width : float, default=1.0
        What r is divided by, in the units of the metric: under "standardized", one is a standard deviation of
        the inputs. "linear" and "cubic" give the same model whatever the width.

    Examples
    --------
    >>> from saltus import Radial
    >>> Radial("gaussian", width=0.5)
    Radial(name='gaussian', width=0.5)
    """

    name: RadialName
    width: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in RADIAL_NAMES:
            raise ValueError(f"Radial basis must be one of {', '.join(RADIAL_NAMES)}. Got {self.name!r}.")
        if not (is_number(self.width) and 0 < self.width < np.inf):
            raise ValueError(f"The width of a basis must be a positive number. Got {self.width!r}.")

    @property
    def code(self) -> int:
        """Number by which the compiled chain knows the function."""
        return RADIAL_NAMES.index(self.name)

    @property
    def degree(self) -> float | None:
        """The p of phi(s r) = s^p phi(r), or None."""
        return _DEGREES.get(self.name)

    @property
    def has_width(self) -> bool:
        """Whether phi(s r) for another s is a basis function of another width."""
        return self.name in ("gaussian", "multiquadric", "inverse_multiquadric")

    @property
    def fades(self) -> bool:
        """Whether phi falls from 1 at its centre to nothing."""
        return self.name == "gaussian"

    def profile(self, r_squared: Floats) -> Floats:
        """Evaluate phi at distances given by their squares."""
        return _PROFILES[self.name](r_squared)


# 2^-n, and ln 2 in two parts whose products with a small integer are exact.
_POWERS_OF_HALF = 2.0 ** -np.arange(1080.0)
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_INVERSE_LOG2 = 1.4426950408889634
_SMALLEST_EXPONENT = -745.0


@glue
def exp_of_negative(x: float) -> float:
    """Evaluate exp(x) for x <= 0 to the last bit or one beside it: 2^n times a Taylor polynomial.

    Unlike a call to the library's exp, it can be made for a whole vector at once: 3 times as fast.
    """
    x = max(x, _SMALLEST_EXPONENT)
    n = np.floor(x * _INVERSE_LOG2 + 0.5)
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    p = 1 / 6227020800
    p = p * r + 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 1 / 2
    p = p * r + 1 / 1
    p = p * r + 1 / 1
    return p * _POWERS_OF_HALF[np.int32(-n)]


@glue
def squared_distances(X: Floats, center: Floats, relevance: Floats, column: Floats) -> None:
    """Set column[n] = sum_i (sharpness relevance_i (X[i, n] - center_i))^2; sharpness is last in `center`. O(N d)."""
    n_rows = column.size
    sharpness = center[relevance.size]
    for n in range(n_rows):
        column[n] = 0.0
    for i in range(relevance.size):
        mu, scale = center[i], sharpness * relevance[i]
        if scale != 0.0:
            for n in range(n_rows):
                difference = scale * (X[i, n] - mu)
                column[n] += difference * difference


@glue
def radial_column(code: int, X: Floats, center: Floats, relevance: Floats, column: Floats) -> None:
    """Set column[n] = phi(r), r being the distance from `center`. O(N d)."""
    n_rows = column.size
    squared_distances(X, center, relevance, column)
    if code == GAUSSIAN:
        for n in range(n_rows):
            column[n] = exp_of_negative(-0.5 * column[n])
    elif code == THIN_PLATE:
        for n in range(n_rows):
            s = column[n]
            column[n] = 0.5 * s * np.log(s) if s > 0.0 else 0.0
    elif code == INVERSE_MULTIQUADRIC:
        for n in range(n_rows):
            column[n] = 1.0 / np.sqrt(1.0 + column[n])
    elif code in (LINEAR, CUBIC, MULTIQUADRIC):
        # r, r^3 and sqrt(1 + r^2) are (a + b s) sqrt(o + s), s = r^2: one loop to compile instead of three.
        a = 0.0 if code == CUBIC else 1.0
        b = 1.0 - a
        o = 1.0 if code == MULTIQUADRIC else 0.0
        for n in range(n_rows):
            s = column[n]
            column[n] = (a + b * s) * np.sqrt(o + s)


@glue
def radial_column_and_slope(
    code: int, X: Floats, center: Floats, relevance: Floats, squared: Floats, column: Floats, slope: Floats
) -> None:
    """Set squared[n] = r^2, column[n] = phi(r), slope[n] = d phi / d r^2, 0 at r = 0 where there is none. O(N d)."""
    n_rows = column.size
    squared_distances(X, center, relevance, squared)
    if code == GAUSSIAN:
        for n in range(n_rows):
            column[n] = exp_of_negative(-0.5 * squared[n])
            slope[n] = -0.5 * column[n]
    elif code == THIN_PLATE:
        for n in range(n_rows):
            s = squared[n]
            log_s = np.log(s) if s > 0.0 else 0.0
            column[n] = 0.5 * s * log_s
            slope[n] = 0.5 * (log_s + 1.0) if s > 0.0 else 0.0
    else:
        # r, r^3, sqrt(1 + r^2) and its inverse are (a + b s) u + c / u, u^2 = o + s: one loop to compile, not four.
        b = 1.0 if code == CUBIC else 0.0
        c = 1.0 if code == INVERSE_MULTIQUADRIC else 0.0
        a = 1.0 - b - c
        o = 1.0 if code in (MULTIQUADRIC, INVERSE_MULTIQUADRIC) else 0.0
        for n in range(n_rows):
            s = squared[n]
            u = np.sqrt(o + s)
            inverse = 1.0 / u if u > 0.0 else 0.0
            column[n] = (a + b * s) * u + c * inverse
            slope[n] = 0.5 * inverse * (a - c * inverse * inverse) + 1.5 * b * u
