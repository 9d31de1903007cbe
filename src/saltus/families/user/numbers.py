"""Terms of a user's family as the numbers of a formula, in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.user.evaluation import evaluate_column
from saltus.families.user.family import UserFamily
from saltus.families.words import Numbers, round_digits


@dataclass(frozen=True)
class UserTerm:
    """One term: its inputs among all d, its parameters, and the ranges and the means of its inputs."""

    inputs: Ints  # (g,)
    parameters: Floats  # (p,)
    ranges: Floats  # (2, g)
    means: Floats  # (g,), what missing values count as


@dataclass(frozen=True)
class UserNumbers:
    """Terms of a user's family."""

    family: UserFamily
    terms: tuple[UserTerm, ...]
    holds: bool  # whether inputs are held at the edge of their range

    # How the sum of the terms is written, after the linear term.
    sum_html = " + Σ<sub>j</sub> <var>c</var><sub>j</sub> <var>f</var><sub>j</sub>"

    def columns(self, X: Floats) -> Floats:
        """Evaluate the terms at X (N, d): (N, k)."""
        columns = np.zeros((len(X), len(self.terms)))
        for j, term in enumerate(self.terms):
            own = np.where(np.isnan(X[:, term.inputs]), term.means, X[:, term.inputs])
            if self.holds:
                own = np.clip(own, *term.ranges)
            columns[:, j] = evaluate_column(self.family, own, term.parameters.copy(), term.ranges.copy())
        return columns

    def rounded(self, digits: int) -> "UserNumbers":
        """Keep so many significant digits of every parameter."""
        terms = (replace(term, parameters=round_digits(term.parameters, digits)) for term in self.terms)
        return replace(self, terms=tuple(terms))

    def texts(self, names: Sequence[str], number: str) -> list[str]:
        """Write each term with the names of inputs, as its author does."""
        return [
            self.family.formula([names[i] for i in term.inputs], term.parameters.copy(), term.ranges.copy(), number)
            for term in self.terms
        ]

    def html(self) -> str:
        """Write what a term is, and what its symbols mean."""
        said = (
            f"<var>f</var><sub>j</sub> is term j of the table below, <var>c</var><sub>j</sub> its coefficient. "
            f"{type(self.family).__name__}: {escape(self.family.describe())}"
        )
        if not said.endswith("."):
            said += "."
        if self.holds:
            said += " In the terms, an input beyond the range of the data counts as at its edge."
        return f"<p>{said}</p>"

    def narrowest(self) -> None:
        """Say nothing of widths along inputs."""

    def cells_of_inputs(self) -> None:
        """Add nothing to a table of inputs."""

    def for_page(self) -> None:
        """Give nothing: a page cannot run what is written in NumPy."""

    def tables(
        self, input_names: Sequence[str], output_names: Sequence[str], coefficients: Floats, number: str
    ) -> list[Numbers]:
        """List the terms with their coefficients (c, k)."""
        columns = [("j", "d"), ("term", ""), *((f"c for {output}", number) for output in output_names)]
        texts = self.texts(input_names, number)
        rows = [
            (j, text, *row) for j, (text, row) in enumerate(zip(texts, coefficients.T.tolist(), strict=True), start=1)
        ]
        return [Numbers(f"The terms f of {type(self.family).__name__}, and their coefficients c.", columns, rows)]
