"""Products and ridges as the numbers of a formula, in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.line_profiles import (
    BUMP,
    HAT,
    HINGE,
    IDENTITY,
    LINE_PROFILES,
    NAMES,
    POLYNOMIAL,
    SIGMOID,
    STEP,
    WAVE,
)
from saltus.families.words import Numbers, round_digits

MINUS = "\N{MINUS SIGN}"
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class Factor:
    """phi(z), z = sum_i slopes_i (x_i - origins_i) + constant, over some inputs."""

    profile: int
    inputs: Ints  # (g,)
    slopes: Floats  # (g,)
    origins: Floats  # (g,)
    constant: float

    def value(self, X: Floats) -> Floats:
        """Evaluate it at X (N, d)."""
        z = (X[:, self.inputs] - self.origins) @ self.slopes + self.constant
        return LINE_PROFILES[NAMES[self.profile]].value(z)

    def rounded(self, digits: int) -> "Factor":
        """Keep so many significant digits of every number."""
        slopes, origins = round_digits(self.slopes, digits), round_digits(self.origins, digits)
        return replace(
            self, slopes=slopes, origins=origins, constant=float(round_digits(np.array(self.constant), digits))
        )

    def text(self, names: Sequence[str], number: str) -> str:
        """Write it with the names of inputs."""
        if self.inputs.size == 1 and self.constant == 0:
            return self._text_of_one(names[self.inputs[0]], number)
        z = weighted_sum([names[i] for i in self.inputs], self.slopes, self.origins, number)
        if self.constant != 0:
            z += f" {MINUS if self.constant < 0 else '+'} {_written(abs(self.constant), number)}"
        if self.profile >= POLYNOMIAL:
            return self._polynomial(z)
        return {
            IDENTITY: f"({z})",
            HINGE: f"max(0, {z})",
            STEP: f"[{z} > 0]",
            BUMP: f"exp({MINUS}½ ({z})²)",
            HAT: f"hat({z})",
            WAVE: f"cos 2π({z})",
            SIGMOID: f"tanh({z})",
        }[self.profile]

    def _text_of_one(self, name: str, number: str) -> str:
        at, slope = float(self.origins[0]), float(self.slopes[0])
        if self.profile == STEP:
            return f"[{name} {'>' if slope > 0 else '<'} {_written(at, number)}]"
        width = _written(abs(1.0 / slope), number)
        ahead = _shifted(name, at, number)
        if self.profile == HINGE:
            if slope < 0:
                ahead = f"({_written(at, number)} {MINUS} {name})"
            return f"max(0, {ahead} / {width})"
        z = f"{ahead} / {width}"
        if self.profile >= POLYNOMIAL:
            return self._polynomial(z)
        return {
            IDENTITY: z,
            BUMP: f"exp({MINUS}½ ({z})²)",
            HAT: f"hat({z})",
            WAVE: f"cos(2π {z})",
            SIGMOID: f"tanh({z})",
        }[self.profile]

    def _polynomial(self, z: str) -> str:
        return f"P{str(self.profile - POLYNOMIAL + 1).translate(SUBSCRIPTS)}({z})"


def weighted_sum(names: Sequence[str], slopes: Floats, origins: Floats, number: str) -> str:
    """Write sum_i slopes_i (x_i - origins_i) with the names of the inputs."""
    z = ""
    for name, slope, origin in zip(names, slopes, origins, strict=True):
        sign = f" {MINUS if slope < 0 else '+'} " if z else MINUS * int(slope < 0)
        z += f"{sign}{_written(abs(slope), number)} {_shifted(name, origin, number)}"
    return z


def _written(value: float, number: str) -> str:
    return format(value, number).replace("-", MINUS)


def _shifted(name: str, origin: float, number: str) -> str:
    if origin == 0:
        return name
    return f"({name} {MINUS if origin > 0 else '+'} {_written(abs(origin), number)})"


@dataclass(frozen=True)
class LineNumbers:
    """Terms that are products of factors, in the user's units."""

    terms: tuple[tuple[Factor, ...], ...]
    low: Floats | None  # (d,), where inputs are held; None: nowhere
    high: Floats | None

    # How the sum of the terms is written, after the linear term.
    sum_html = " + Σ<sub>j</sub> <var>c</var><sub>j</sub> <var>f</var><sub>j</sub>"

    def columns(self, X: Floats) -> Floats:
        """Evaluate the terms at X (N, d): (N, k)."""
        if self.low is not None:
            X = np.clip(X, self.low, self.high)
        columns = np.ones((len(X), len(self.terms)))
        for j, factors in enumerate(self.terms):
            for factor in factors:
                columns[:, j] *= factor.value(X)
        return columns

    def rounded(self, digits: int) -> "LineNumbers":
        """Keep so many significant digits of every number."""
        return replace(self, terms=tuple(tuple(each.rounded(digits) for each in factors) for factors in self.terms))

    def texts(self, names: Sequence[str], number: str) -> list[str]:
        """Write each term with the names of inputs."""
        return [" · ".join(factor.text(names, number) for factor in factors) for factors in self.terms]

    def html(self) -> str:
        """Write what a term is, and what its symbols mean."""
        used = {factor.profile for factors in self.terms for factor in factors}
        said = "<var>f</var><sub>j</sub> is term j of the table below, <var>c</var><sub>j</sub> its coefficient."
        if STEP in used:
            said += " [...] is 1 where what it says holds, otherwise 0."
        if HAT in used:
            said += f" hat(<var>z</var>) = {LINE_PROFILES['hat'].html}."
        if max(used, default=0) >= POLYNOMIAL:
            said += " P<sub>n</sub> is Legendre's polynomial of degree n."
        if self.low is not None:
            said += " In the terms, an input beyond the range of the data counts as at its edge."
        return f"<p>{said}</p>"

    def cells_of_inputs(self) -> None:
        """Add nothing to a table of inputs."""

    def tables(
        self, input_names: Sequence[str], output_names: Sequence[str], coefficients: Floats, number: str
    ) -> list[Numbers]:
        """List the terms with their coefficients (c, k)."""
        columns = [("j", "d"), ("term", ""), *((f"c for {output}", number) for output in output_names)]
        texts = self.texts(input_names, number)
        rows = [
            (j, text, *row) for j, (text, row) in enumerate(zip(texts, coefficients.T.tolist(), strict=True), start=1)
        ]
        return [Numbers("The terms f, and their coefficients c.", columns, rows)]
