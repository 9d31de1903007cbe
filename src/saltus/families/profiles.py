"""Profiles: what a family does with a number. Value and derivative, for NumPy, for kernels, in words and in ONNX, once.

Those here are functions of s = r^2, a squared distance. Written in s, the Gaussian needs no root, and all are smooth
where r is 0, or have the derivative 0 there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from saltus._jit import glue
from saltus._typing import Floats


class Graph(Protocol):
    """What families need of an ONNX graph under construction. Methods return the names of values."""

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node."""

    def constant(self, value: Any) -> str:
        """Add a constant array."""

    def number(self, value: float) -> str:
        """Add a constant number."""

    def split(self, value: str, sizes: Sequence[int], axis: int) -> list[str]:
        """Split along an axis."""

    def square(self, value: str) -> str:
        """Square each element."""

    def total(self, values: Sequence[str]) -> str:
        """Add values up."""

    def double(self, value: str) -> str:
        """Turn what is true into 1 and what is false into 0."""

    def is_known(self, value: str) -> str:
        """Say where a value is not missing."""


@dataclass(frozen=True)
class Profile:
    """A function phi of s = r^2."""

    value: Callable[[Floats], Floats]
    html: str  # as a function of r
    add_nodes: Callable[[Graph, str], str]  # to an ONNX graph, where the name given is that of s
    degree: float | None = None  # the p of phi(c r) = c^p phi(r), where there is one: then units do not matter
    has_width: bool = False  # whether phi(c r) for another c is a function of another width
    script: str = "NaN"  # as a function of s, in JavaScript
    fades: bool = False  # whether phi falls from 1 to nothing, so that a column far from every row is nearly 0


def _thin_plate(s: Floats) -> Floats:
    return np.where(s > 0, 0.5 * s * np.log(np.where(s > 0, s, 1.0)), 0.0)


def _add_thin_plate(graph: Graph, s: str) -> str:
    # At r = 0 this is 0 times the logarithm of the smallest number: 0, as it should be.
    logarithm = graph.add("Log", graph.add("Max", s, graph.number(np.finfo(np.float64).tiny)))
    return graph.add("Mul", graph.add("Mul", s, graph.number(0.5)), logarithm)


def _add_multiquadric(graph: Graph, s: str) -> str:
    return graph.add("Sqrt", graph.add("Add", s, graph.number(1.0)))


def _add_mexican_hat(graph: Graph, s: str) -> str:
    bump = graph.add("Exp", graph.add("Mul", s, graph.number(-0.5)))
    return graph.add("Mul", graph.add("Sub", graph.number(1.0), s), bump)


# In the order of the numbers by which kernels know them.
RADIAL_PROFILES: dict[str, Profile] = {
    "linear": Profile(
        np.sqrt, "<var>r</var>", lambda graph, s: graph.add("Sqrt", s), degree=1.0, script="Math.sqrt(s)"
    ),
    "cubic": Profile(
        lambda s: s * np.sqrt(s),
        "<var>r</var>³",
        lambda graph, s: graph.add("Mul", s, graph.add("Sqrt", s)),
        degree=3.0,
        script="s * Math.sqrt(s)",
    ),
    "thin_plate": Profile(
        _thin_plate,
        "<var>r</var>² ln <var>r</var>",
        _add_thin_plate,
        script="s > 0 ? 0.5 * s * Math.log(s) : 0",
    ),
    "gaussian": Profile(
        lambda s: np.exp(-0.5 * s),
        "exp(&minus;<var>r</var>²/2)",
        lambda graph, s: graph.add("Exp", graph.add("Mul", s, graph.number(-0.5))),
        has_width=True,
        script="Math.exp(-0.5 * s)",
        fades=True,
    ),
    "multiquadric": Profile(
        lambda s: np.sqrt(1.0 + s),
        "√(1 + <var>r</var>²)",
        _add_multiquadric,
        has_width=True,
        script="Math.sqrt(1 + s)",
    ),
    "inverse_multiquadric": Profile(
        lambda s: 1.0 / np.sqrt(1.0 + s),
        "1 / √(1 + <var>r</var>²)",
        lambda graph, s: graph.add("Reciprocal", _add_multiquadric(graph, s)),
        has_width=True,
        script="1 / Math.sqrt(1 + s)",
    ),
    "mexican_hat": Profile(
        lambda s: (1.0 - np.minimum(s, BEYOND_A_HAT)) * np.exp(-0.5 * np.minimum(s, BEYOND_A_HAT)),
        "(1 &minus; <var>r</var>²) exp(&minus;<var>r</var>²/2)",
        _add_mexican_hat,
        has_width=True,
        script="(1 - Math.min(s, 2000)) * Math.exp(-0.5 * Math.min(s, 2000))",
        fades=True,
    ),
}
LINEAR, CUBIC, THIN_PLATE, GAUSSIAN, MULTIQUADRIC, INVERSE_MULTIQUADRIC, MEXICAN_HAT = range(len(RADIAL_PROFILES))

# Where a Mexican hat is 0 to the last bit.
BEYOND_A_HAT = 2000.0

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
def apply_profile(code: int, column: Floats) -> None:
    """Replace squared distances by phi. O(L)."""
    n_rows = column.size
    if code == GAUSSIAN:
        for n in range(n_rows):
            column[n] = exp_of_negative(-0.5 * column[n])
    elif code == THIN_PLATE:
        for n in range(n_rows):
            s = column[n]
            column[n] = 0.5 * s * np.log(s) if s > 0.0 else 0.0
    elif code == MEXICAN_HAT:
        for n in range(n_rows):
            s = min(column[n], BEYOND_A_HAT)
            column[n] = (1.0 - s) * exp_of_negative(-0.5 * s)
    elif code == INVERSE_MULTIQUADRIC:
        for n in range(n_rows):
            column[n] = 1.0 / np.sqrt(1.0 + column[n])
    else:
        # r, r^3 and sqrt(1 + r^2) are (a + b s) sqrt(o + s), s = r^2: one loop to compile instead of three.
        a = 0.0 if code == CUBIC else 1.0
        b = 1.0 - a
        o = 1.0 if code == MULTIQUADRIC else 0.0
        for n in range(n_rows):
            s = column[n]
            column[n] = (a + b * s) * np.sqrt(o + s)


@glue
def apply_profile_and_slope(code: int, squared: Floats, column: Floats, slope: Floats) -> None:
    """Set column[n] = phi and slope[n] = d phi / d s at s = squared[n]; the slope at r = 0 is taken as 0. O(L)."""
    n_rows = column.size
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
    elif code == MEXICAN_HAT:
        for n in range(n_rows):
            s = min(squared[n], BEYOND_A_HAT)
            bump = exp_of_negative(-0.5 * s)
            column[n] = (1.0 - s) * bump
            slope[n] = -0.5 * (3.0 - s) * bump
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
