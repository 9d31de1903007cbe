"""Profiles of a number z along a line: what products do with an input, and ridges with a projection.

z = b x + c, where b and c come from the parameters of a term. Value and derivative, for NumPy, for kernels, in words
and in ONNX, once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.polynomial import legendre

from saltus._jit import glue, kernel
from saltus._typing import Bytes, Floats, Ints
from saltus.families.profiles import Graph, exp_of_negative

TWO_PI = 2.0 * np.pi


@dataclass(frozen=True)
class LineProfile:
    """A function phi of z, and what its parameters are."""

    value: Callable[[Floats], Floats]
    html: str  # as a function of z
    add_nodes: Callable[[Graph, str], str]  # to an ONNX graph, where the name given is that of z
    n_parameters: int  # in use: none, a position, or a position and a width, slope or frequency
    is_smooth: bool = True  # whether a descent can move its parameters
    is_sided: bool = False  # whether phi(-z) is another function
    script: str = "NaN"  # as a function of z, in JavaScript


def _add_step(graph: Graph, z: str) -> str:
    half = graph.number(0.5)
    # (sign + |sign|) / 2: 1 where z > 0, otherwise 0.
    sign = graph.add("Sign", z)
    return graph.add("Mul", graph.add("Add", sign, graph.add("Abs", sign)), half)


def _add_bump(graph: Graph, z: str) -> str:
    return graph.add("Exp", graph.add("Mul", graph.square(z), graph.number(-0.5)))


def _add_hat(graph: Graph, z: str) -> str:
    return graph.add("Mul", graph.add("Sub", graph.number(1.0), graph.square(z)), _add_bump(graph, z))


def _no_line(z: Floats) -> Floats:
    raise NotImplementedError("a category has no place along a line")


def _no_nodes(graph: Graph, z: str) -> str:
    raise NotImplementedError("a category has no place along a line")


def _polynomial(degree: int) -> LineProfile:
    """Make Legendre's polynomial of a degree. Its parameter is the degree, which no descent changes."""
    powers = legendre.leg2poly([0.0] * degree + [1.0])

    def value(z: Floats) -> Floats:
        found = np.zeros_like(z)
        for power in powers[::-1]:
            found = found * z + power
        return found

    def add_nodes(graph: Graph, z: str) -> str:
        value = graph.number(float(powers[-1]))
        for power in powers[-2::-1]:
            value = graph.add("Mul", value, z)
            value = graph.add("Add", value, graph.number(float(power))) if power != 0 else value
        return value

    html = f"P<sub>{degree}</sub>(<var>z</var>)"
    script = "0"
    for power in powers[::-1].tolist():
        script = f"({script}) * z + {power!r}"
    return LineProfile(value, html, add_nodes, 1, is_smooth=False, script=script)


# In the order of the numbers by which kernels know them.
LINE_PROFILES: dict[str, LineProfile] = {
    "identity": LineProfile(lambda z: z, "<var>z</var>", lambda graph, z: z, 0, script="z"),
    "hinge": LineProfile(
        lambda z: np.maximum(z, 0.0),
        "max(<var>z</var>, 0)",
        lambda graph, z: graph.add("Max", z, graph.number(0.0)),
        1,
        is_sided=True,
        script="Math.max(z, 0)",
    ),
    "step": LineProfile(
        lambda z: (z > 0).astype(np.float64),
        "[<var>z</var> > 0]",
        _add_step,
        1,
        is_smooth=False,
        is_sided=True,
        script="z > 0 ? 1 : 0",
    ),
    "bump": LineProfile(
        lambda z: np.exp(-0.5 * z * z),
        "exp(&minus;<var>z</var>²/2)",
        _add_bump,
        2,
        script="Math.exp(-0.5 * z * z)",
    ),
    "hat": LineProfile(
        lambda z: (1.0 - z * z) * np.exp(-0.5 * z * z),
        "(1 &minus; <var>z</var>²) exp(&minus;<var>z</var>²/2)",
        _add_hat,
        2,
        script="(1 - z * z) * Math.exp(-0.5 * z * z)",
    ),
    "wave": LineProfile(
        lambda z: np.cos(TWO_PI * z),
        "cos(2π<var>z</var>)",
        lambda graph, z: graph.add("Cos", graph.add("Mul", z, graph.number(TWO_PI))),
        2,
        script="Math.cos(2 * Math.PI * z)",
    ),
    "sigmoid": LineProfile(
        np.tanh, "tanh <var>z</var>", lambda graph, z: graph.add("Tanh", z), 2, script="Math.tanh(z)"
    ),
    # Of a category, and of whether a value is missing: nobody evaluates these along a line.
    "level": LineProfile(_no_line, "[<var>x</var> is a level]", _no_nodes, 1, is_smooth=False),
    "subset": LineProfile(_no_line, "[<var>x</var> is one of some levels]", _no_nodes, 0, is_smooth=False),
    "missing": LineProfile(_no_line, "[<var>x</var> is missing]", _no_nodes, 0, is_smooth=False, is_sided=True),
}
IDENTITY, HINGE, STEP, BUMP, HAT, WAVE, SIGMOID, LEVEL, SUBSET, MISSING, POLYNOMIAL = range(len(LINE_PROFILES) + 1)

# Legendre's polynomials: a factor of degree n, which comes from its parameter, has the n-th of these profiles. On
# [-1, 1] they are at most 1 in size, and orthogonal where rows are spread evenly.
HIGHEST_DEGREE = 8
LINE_PROFILES["polynomial"] = _polynomial(1)
LINE_PROFILES |= {f"polynomial of degree {n}": _polynomial(n) for n in range(2, HIGHEST_DEGREE + 1)}
NAMES = tuple(LINE_PROFILES)

# Tables by number, for kernels.
SIDED = np.array([profile.is_sided for profile in LINE_PROFILES.values()])
N_PARAMETERS = np.array([profile.n_parameters for profile in LINE_PROFILES.values()])
SMOOTH = np.array([profile.is_smooth for profile in LINE_PROFILES.values()])

# What is not a function of a number along a line.
OFF_THE_LINE = (LEVEL, SUBSET, MISSING)

# The coefficients of Legendre's polynomials by degree, of the highest power first, with zeros before it.
POLYNOMIALS = np.zeros((HIGHEST_DEGREE + 1, HIGHEST_DEGREE + 1))
for _degree in range(HIGHEST_DEGREE + 1):
    POLYNOMIALS[_degree, HIGHEST_DEGREE - _degree :] = legendre.leg2poly([0.0] * _degree + [1.0])[::-1]


def degree_of(u: float, highest: int) -> int:
    """Find the degree whose coordinate is u in [0, 1]: each up to the highest is half as probable as the one below."""
    return min(int(1.0 - np.log2(1.0 - u * (1.0 - 0.5**highest))), highest)


degree_of_kernel = glue(degree_of)


def replace_by_profiles(Z: Floats, codes: Ints) -> None:
    """Replace each column z of Z (N, q) by phi(z) of its profile, by number (q,), where that has a line."""
    for code in np.setdiff1d(codes, OFF_THE_LINE):
        which = np.flatnonzero(codes == code)
        Z[:, which] = LINE_PROFILES[NAMES[code]].value(Z[:, which])


@glue
def value_of_sigmoid(z: float) -> float:
    """Evaluate tanh z: tanh |z| = (1 - e) / (1 + e), e = exp(-2 |z|)."""
    e = exp_of_negative(-2.0 * abs(z))
    rise = (1.0 - e) / (1.0 + e)
    return rise if z > 0.0 else -rise


# Two of these, as a loop whose result goes where one of its arguments is can be made for whole vectors only if the
# compiler sees that it does: products of bumps are evaluated 4 times as fast.


@kernel
def multiply_by_profile(code: int, x: Floats, b: float, c: float, column: Floats) -> None:
    """Multiply column[n] by phi(b x[n] + c). O(L)."""
    n_rows = column.size
    if code == IDENTITY:
        for n in range(n_rows):
            column[n] *= b * x[n] + c
    elif code == HINGE:
        for n in range(n_rows):
            column[n] *= max(b * x[n] + c, 0.0)
    elif code == STEP:
        for n in range(n_rows):
            column[n] *= 1.0 if b * x[n] + c > 0.0 else 0.0
    elif code == WAVE:
        for n in range(n_rows):
            column[n] *= np.cos(TWO_PI * (b * x[n] + c))
    elif code == SIGMOID:
        for n in range(n_rows):
            column[n] *= value_of_sigmoid(b * x[n] + c)
    elif code >= POLYNOMIAL:
        powers = POLYNOMIALS[code - POLYNOMIAL + 1]
        for n in range(n_rows):
            z, total = b * x[n] + c, 0.0
            for i in range(HIGHEST_DEGREE + 1):
                total = total * z + powers[i]
            column[n] *= total
    else:
        # A bump, or times 1 - z^2, a Mexican hat.
        hat = 1.0 if code == HAT else 0.0
        for n in range(n_rows):
            squared = (b * x[n] + c) * (b * x[n] + c)
            column[n] *= (1.0 - hat * squared) * exp_of_negative(-0.5 * squared)


@kernel
def replace_by_profile(code: int, b: float, c: float, column: Floats) -> None:
    """Replace x = column[n] by phi(b x + c), of those profiles that ridges have. O(L)."""
    n_rows = column.size
    if code == HINGE:
        for n in range(n_rows):
            column[n] = max(b * column[n] + c, 0.0)
    elif code == SIGMOID:
        for n in range(n_rows):
            column[n] = value_of_sigmoid(b * column[n] + c)
    else:
        for n in range(n_rows):
            column[n] = exp_of_negative(-0.5 * (b * column[n] + c) * (b * column[n] + c))


# Taylor's series of sin(2 pi s) / s in powers of s^2, from the last to the first: exact to rounding up to s = 1/4.
SINE_SERIES = tuple((-1.0) ** k * TWO_PI ** (2 * k + 1) / factorial(2 * k + 1) for k in range(11, -1, -1))


@glue
def cosine_of_cycles(z: float) -> float:
    """Evaluate cos(2 pi z) as sin(2 pi (1/4 - r)), r the distance to the nearest whole number.

    Unlike the cosine of the library, it is made for whole vectors: 256 rows take a fifth of the time.
    """
    s = 0.25 - abs(z - np.floor(z + 0.5))
    total = 0.0
    for coefficient in SINE_SERIES:
        total = total * (s * s) + coefficient
    return total * s


@kernel
def replace_by_wave(c: float, column: Floats) -> None:
    """Replace z = column[n] by cos 2 pi (z + c). O(L)."""
    for n in range(column.size):
        column[n] = cosine_of_cycles(column[n] + c)


@glue
def value_at(code: int, z: float) -> float:
    """Evaluate phi(z)."""
    if code == IDENTITY:
        return z
    if code == HINGE:
        return max(z, 0.0)
    if code == STEP:
        return 1.0 if z > 0.0 else 0.0
    if code == WAVE:
        return np.cos(TWO_PI * z)
    if code == SIGMOID:
        return value_of_sigmoid(z)
    if code >= POLYNOMIAL:
        value = 0.0
        for i in range(HIGHEST_DEGREE + 1):
            value = value * z + POLYNOMIALS[code - POLYNOMIAL + 1, i]
        return value
    hat = 1.0 if code == HAT else 0.0
    return (1.0 - hat * z * z) * exp_of_negative(-0.5 * z * z)


@kernel
def multiply_beside_gaps(
    code: int, x: Floats, b: float, c: float, is_gap: Bytes, at_gap: float, column: Floats
) -> None:
    """Multiply column[n] by phi(b x[n] + c), or by `at_gap` where x[n] is missing. O(L)."""
    for n in range(column.size):
        column[n] *= at_gap if is_gap[n] else value_at(code, b * x[n] + c)


@kernel
def multiply_by_slope_beside_gaps(code: int, x: Floats, b: float, c: float, is_gap: Bytes, column: Floats) -> None:
    """Multiply column[n] by d phi / d z at z = b x[n] + c, or by 0 where x[n] is missing. O(L)."""
    for n in range(column.size):
        column[n] *= 0.0 if is_gap[n] else slope_at(code, b * x[n] + c)


@glue
def slope_at(code: int, z: float) -> float:
    """Evaluate d phi / d z."""
    if code == IDENTITY:
        return 1.0
    if code == HINGE:
        return 1.0 if z > 0.0 else 0.0
    if code == WAVE:
        return -TWO_PI * np.sin(TWO_PI * z)
    if code == SIGMOID:
        e = exp_of_negative(-2.0 * abs(z))
        return 4.0 * e / ((1.0 + e) * (1.0 + e))
    if code == BUMP:
        return -z * exp_of_negative(-0.5 * z * z)
    if code == HAT:
        return z * (z * z - 3.0) * exp_of_negative(-0.5 * z * z)
    if code >= POLYNOMIAL:
        value, slope = 0.0, 0.0
        for i in range(HIGHEST_DEGREE + 1):
            slope = slope * z + value
            value = value * z + POLYNOMIALS[code - POLYNOMIAL + 1, i]
        return slope
    return 0.0


@kernel
def multiply_by_slope(code: int, x: Floats, b: float, c: float, column: Floats) -> None:
    """Multiply column[n] by d phi / d z at z = b x[n] + c. O(L)."""
    for n in range(column.size):
        column[n] *= slope_at(code, b * x[n] + c)
