"""Products and ridges as the numbers of a formula, in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.line_profiles import (
    BUMP,
    HAT,
    HINGE,
    IDENTITY,
    LINE_PROFILES,
    MISSING,
    NAMES,
    OFF_THE_LINE,
    POLYNOMIAL,
    SIGMOID,
    STEP,
    WAVE,
)
from saltus.families.words import MINUS, InputName, Numbers, PageTerms, finite_or_none, names_of_levels, round_digits

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Factor(Protocol):
    """What a term is a product of."""

    @property
    def profile(self) -> int:
        """The number of its profile."""

    def value(self, X: Floats) -> Floats:
        """Evaluate it at X (N, d), NaN where a value is missing."""

    def rounded(self, digits: int) -> "Factor":
        """Keep so many significant digits of every number."""

    def text(self, names: Sequence[str], number: str) -> str:
        """Write it with the names of inputs."""

    def for_page(self) -> list[Any]:
        """Write it as values that JSON holds."""


@dataclass(frozen=True)
class Indicator:
    """1 where a category is one of some levels, or where a value is missing, or is known; otherwise 0."""

    profile: int
    input: int
    codes: Ints  # of the levels; of "missing": 1, or 0 for what is known

    def value(self, X: Floats) -> Floats:
        """Evaluate it at X (N, d)."""
        x = X[:, self.input]
        return np.isin(np.isnan(x) if self.profile == MISSING else x, self.codes).astype(np.float64)

    def rounded(self, digits: int) -> "Indicator":
        """Return it as it is: there is nothing to round."""
        return self

    def for_page(self) -> list[Any]:
        """Write it as values that JSON holds: the input, and the codes of its levels or of what is missing."""
        return ["missing" if self.profile == MISSING else "level", self.input, self.codes.tolist()]

    def text(self, names: Sequence[str], number: str) -> str:
        """Write it with the names of the input and of its levels."""
        name = names[self.input]
        if self.profile == MISSING:
            return f"[{name} is {'missing' if self.codes[0] else 'known'}]"
        n_levels = len(name.levels) if isinstance(name, InputName) else 0
        others = np.setdiff1d(np.arange(n_levels), self.codes)
        is_other = 0 < len(others) < len(self.codes)
        shown = names_of_levels(name, others if is_other else self.codes)
        return f"[{name} is {'not ' * is_other}{' or '.join(filter(None, [', '.join(shown[:-1]), *shown[-1:]]))}]"


@dataclass(frozen=True)
class OnLine:
    """phi(z), z = sum_i slopes_i (x_i - origins_i) + constant, over some inputs, or what it is where one is missing."""

    profile: int
    inputs: Ints  # (g,)
    slopes: Floats  # (g,)
    origins: Floats  # (g,)
    constant: float
    at_gap: float = 0.0

    def value(self, X: Floats) -> Floats:
        """Evaluate it at X (N, d)."""
        z = (X[:, self.inputs] - self.origins) @ self.slopes + self.constant
        return np.where(np.isnan(z), self.at_gap, LINE_PROFILES[NAMES[self.profile]].value(z))

    def rounded(self, digits: int) -> "OnLine":
        """Keep so many significant digits of every number."""
        slopes, origins = round_digits(self.slopes, digits), round_digits(self.origins, digits)
        return replace(
            self, slopes=slopes, origins=origins, constant=float(round_digits(np.array(self.constant), digits))
        )

    def for_page(self) -> list[Any]:
        """Write it as values that JSON holds."""
        inputs, slopes, origins = self.inputs.tolist(), self.slopes.tolist(), self.origins.tolist()
        return [NAMES[self.profile], inputs, slopes, origins, self.constant, self.at_gap]

    def text(self, names: Sequence[str], number: str) -> str:
        """Write it with the names of inputs."""
        if self.at_gap != 0:
            return f"({replace(self, at_gap=0.0).text(names, number)}, or 1 if {names[self.inputs[0]]} is missing)"
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


def page_of_lines(columns: list[Any], low: Floats | None, high: Floats | None, at_gaps: Floats) -> PageTerms:
    """Give products of factors, as `for_page` writes these, to a page that evaluates them."""
    heading = {
        "kind": "line",
        "low": finite_or_none(low),
        "high": finite_or_none(high),
        "gaps": finite_or_none(at_gaps),
    }
    used = {factor[0] for factors in columns for factor in factors} - {"level", "missing"}
    return PageTerms(heading, columns, {name: f"z => {LINE_PROFILES[name].script}" for name in sorted(used)})


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
    at_gaps: Floats  # (d,), what a missing value counts as; NaN: factors say what they are where it is missing

    # How the sum of the terms is written, after the linear term.
    sum_html = " + Σ<sub>j</sub> <var>c</var><sub>j</sub> <var>f</var><sub>j</sub>"

    def columns(self, X: Floats) -> Floats:
        """Evaluate the terms at X (N, d): (N, k)."""
        X = np.where(np.isnan(X), self.at_gaps, X)
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
        if used & {STEP, *OFF_THE_LINE}:
            said += " [...] is 1 where what it says holds, otherwise 0."
        if np.isnan(self.at_gaps).any():
            said += " Where its input is missing, a factor is 0 unless it says otherwise."
        if HAT in used:
            said += f" hat(<var>z</var>) = {LINE_PROFILES['hat'].html}."
        if max(used, default=0) >= POLYNOMIAL:
            said += " P<sub>n</sub> is Legendre's polynomial of degree n."
        if self.low is not None:
            said += " In terms that are not linear, an input beyond the range of the data counts as at its edge."
        return f"<p>{said}</p>"

    def narrowest(self) -> None:
        """Say nothing of widths along inputs."""

    def cells_of_inputs(self) -> None:
        """Add nothing to a table of inputs."""

    def for_page(self) -> list[tuple[Ints, PageTerms]]:
        """Give the terms to a page that evaluates them."""
        columns = [[factor.for_page() for factor in factors] for factors in self.terms]
        return [(np.arange(len(columns)), page_of_lines(columns, self.low, self.high, self.at_gaps))]

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
