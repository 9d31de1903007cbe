"""Waves as the numbers of a formula, in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.line_numbers import page_of_lines, weighted_sum
from saltus.families.line_profiles import TWO_PI
from saltus.families.wave.kernels import N_COLUMNS, QUARTER
from saltus.families.words import Numbers, PageTerms, round_digits


@dataclass(frozen=True)
class Wave:
    """z = sum_i frequencies_i (x_i - origins_i), over some inputs: cycles since the origin."""

    inputs: Ints  # (g,)
    frequencies: Floats  # (g,)
    origins: Floats  # (g,)

    def cycles(self, X: Floats) -> Floats:
        """Evaluate z at X (N, d)."""
        z: Floats = (X[:, self.inputs] - self.origins) @ self.frequencies
        return z

    def rounded(self, digits: int) -> "Wave":
        """Keep so many significant digits of every number."""
        return Wave(self.inputs, round_digits(self.frequencies, digits), round_digits(self.origins, digits))

    def text(self, names: Sequence[str], number: str) -> str:
        """Write z with the names of inputs."""
        return weighted_sum([names[i] for i in self.inputs], self.frequencies, self.origins, number)


@dataclass(frozen=True)
class WaveNumbers:
    """Terms that are waves, in the user's units. The columns of each are its cosine and its sine."""

    waves: tuple[Wave, ...]
    low: Floats | None  # (d,), where inputs are held; None: nowhere
    high: Floats | None
    at_gaps: Floats  # (d,), what a missing value counts as

    # How the sum of the terms is written, after the linear term.
    sum_html = (
        " + Σ<sub>j</sub> <var>A</var><sub>j</sub> cos 2π<var>z</var><sub>j</sub>"
        " + <var>B</var><sub>j</sub> sin 2π<var>z</var><sub>j</sub>"
    )

    def columns(self, X: Floats) -> Floats:
        """Evaluate the columns of the terms at X (N, d): (N, 2 k)."""
        X = np.where(np.isnan(X), self.at_gaps, X)
        if self.low is not None:
            X = np.clip(X, self.low, self.high)
        columns = np.empty((len(X), 2 * len(self.waves)))
        for j, wave in enumerate(self.waves):
            angle = TWO_PI * wave.cycles(X)
            columns[:, 2 * j], columns[:, 2 * j + 1] = np.cos(angle), np.sin(angle)
        return columns

    def rounded(self, digits: int) -> "WaveNumbers":
        """Keep so many significant digits of every number."""
        return replace(self, waves=tuple(wave.rounded(digits) for wave in self.waves))

    def html(self) -> str:
        """Write what a term is, and what its symbols mean."""
        said = (
            "<var>z</var><sub>j</sub> is a number of cycles, in the table of waves below, with the coefficients "
            "<var>A</var><sub>j</sub> and <var>B</var><sub>j</sub> of wave j."
        )
        if self.low is not None:
            said += " In the waves, an input beyond the range of the data counts as at its edge."
        return f"<p>{said}</p>"

    def narrowest(self) -> None:
        """Say nothing of widths along inputs."""

    def cells_of_inputs(self) -> None:
        """Add nothing to a table of inputs."""

    def for_page(self) -> list[tuple[Ints, PageTerms]]:
        """Give the waves to a page that evaluates them: a sine is a cosine a quarter of a cycle later."""
        columns = [
            [["wave", wave.inputs.tolist(), wave.frequencies.tolist(), wave.origins.tolist(), -QUARTER * part, 0.0]]
            for wave in self.waves
            for part in range(N_COLUMNS)
        ]
        pages = page_of_lines([[factor] for (factor,) in columns], self.low, self.high, self.at_gaps)
        return [(np.arange(len(columns)), pages)]

    def tables(
        self, input_names: Sequence[str], output_names: Sequence[str], coefficients: Floats, number: str
    ) -> list[Numbers]:
        """List the waves with their coefficients (c, 2 k)."""
        of_outputs = [(f"{letter} for {output}", number) for output in output_names for letter in "AB"]
        rows: list[tuple[str | int | float, ...]] = []
        for j, wave in enumerate(self.waves):
            own = coefficients[:, 2 * j : 2 * j + 2].ravel().tolist()
            rows.append((j + 1, wave.text(input_names, number), *own))
        return [
            Numbers("The waves, and their coefficients A and B.", [("j", "d"), ("cycles z", ""), *of_outputs], rows)
        ]
