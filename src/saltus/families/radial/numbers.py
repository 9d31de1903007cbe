"""Radial terms in the user's units: as attributes of a model, as the numbers of a formula, and in words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.profiles import Profile
from saltus.families.radial.distances import squared_distances
from saltus.families.words import Numbers, PageTerms, finite_or_none, round_digits

if TYPE_CHECKING:
    from saltus.families.radial.family import FittedRadial

OFFSET = "<var>x</var> &minus; <var>μ</var><sub>j</sub>"
OFFSET_ALONG = "<var>x</var><sub>i</sub> &minus; <var>μ</var><sub>ji</sub>"


def metric_matrix(family: "FittedRadial", shared: Floats, box_width: Floats, varies: Bools) -> Floats:
    """Find the matrix M (d, d) of r^2 = (x - mu)' M (x - mu) in the user's units, before division by the width."""
    factor = np.zeros((len(family.to_metric), len(box_width)))
    factor[:, varies] = shared[:, None] * family.to_metric / box_width[varies]
    factor *= family.metric_scale * family.radial.width
    return factor.T @ factor


@dataclass(frozen=True)
class RadialNumbers:
    """k radial terms phi(r_j) in the user's units.

    (r_j width_j)^2 is the sum over inputs of ((x - center_j) / length_scales)^2, where an infinite length scale means
    off; or, where there is a matrix, (x - center_j)' matrix (x - center_j).
    """

    profile: Profile
    centers: Floats  # (k, d)
    widths: Floats  # (k,), 1 where all share one
    length_scales: Floats  # (d,)
    matrix: Floats | None  # (d, d)

    # How the sum of the terms is written, after the linear term.
    sum_html = " + Σ<sub>j</sub> <var>c</var><sub>j</sub> φ(<var>r</var><sub>j</sub>)"

    @classmethod
    def of(cls, family: "FittedRadial", centers: Floats, sharpness: Floats, metric: Floats) -> "RadialNumbers":
        """Take centres (k, d) and the metric (d, d) in the user's units, and sharpnesses (k,)."""
        matrix = metric / family.radial.width**2
        slopes = np.sqrt(np.diag(matrix))
        return cls(
            profile=family.radial.profile,
            centers=centers,
            widths=1.0 / sharpness,
            length_scales=np.divide(1.0, slopes, out=np.full(slopes.shape, np.inf), where=slopes > 0),
            matrix=matrix if (matrix - np.diag(np.diag(matrix))).any() else None,
        )

    @property
    def uses(self) -> list[int]:
        """The inputs that the terms use."""
        return np.flatnonzero(np.isfinite(self.length_scales)).tolist()

    @property
    def has_widths(self) -> bool:
        """Whether terms differ in width."""
        return bool((self.widths != 1).any())

    def columns(self, X: Floats) -> Floats:
        """Evaluate the terms at X (N, d): (N, k). Inputs that are missing are left out of distances."""
        if self.matrix is None:
            used = self.uses
            squared = squared_distances(
                X[:, used] / self.length_scales[used], self.centers[:, used] / self.length_scales[used]
            )
        else:
            offsets = X[:, None, :] - self.centers
            squared = np.maximum(np.einsum("nki,ij,nkj->nk", offsets, self.matrix, offsets), 0.0)
        return self.profile.value(squared / self.widths**2)

    def rounded(self, digits: int) -> "RadialNumbers":
        """Keep so many significant digits of every number."""
        return replace(
            self,
            centers=round_digits(self.centers, digits),
            widths=round_digits(self.widths, digits),
            length_scales=round_digits(self.length_scales, digits),
            matrix=None if self.matrix is None else round_digits(self.matrix, digits),
        )

    def html(self) -> str:
        """Write what a term is, and what its symbols mean."""
        distance = f"Σ<sub>i</sub> (({OFFSET_ALONG}) / <var>l</var><sub>i</sub>)²"
        symbols = "<var>l</var><sub>i</sub> the length scale of input i, which drops out where it is off"
        if self.matrix is not None:
            distance, symbols = f"({OFFSET})&prime; <var>M</var> ({OFFSET})", "<var>M</var> the matrix below"
        if self.has_widths:
            distance = f"{distance} / <var>w</var><sub>j</sub>²"
            symbols = f"<var>w</var><sub>j</sub> its width, {symbols}"
        return (
            f'<p class="formula">φ(<var>r</var>) = {self.profile.html}, where <var>r</var><sub>j</sub>² = {distance}'
            f"</p>\n<p><var>μ</var><sub>j</sub> is centre j, <var>c</var><sub>j</sub> its coefficient, {symbols}.</p>"
        )

    def narrowest(self) -> Floats | None:
        """Find how narrow the narrowest term is along each input (d,), in its unit."""
        return self.length_scales * self.widths.min() if len(self.widths) and self.profile.has_width else None

    def cells_of_inputs(self) -> tuple[str, str, list[str | float]] | None:
        """Say what there is to add to a table of inputs: a caption, the name of a column, and its cells (d,)."""
        if self.matrix is not None or len(self.centers) == 0:
            return None
        cells: list[str | float] = [scale if np.isfinite(scale) else "off" for scale in self.length_scales.tolist()]
        return ", and the length scales l of the terms", "length scale l", cells

    def for_page(self) -> list[tuple[Ints, PageTerms]]:
        """Give the terms to a page that evaluates them: a centre and a width each."""
        heading = {
            "kind": "radial",
            "profile": self.profile.script,
            "scales": finite_or_none(self.length_scales),
            "matrix": None if self.matrix is None else self.matrix.tolist(),
        }
        columns = [[center, width] for center, width in zip(self.centers.tolist(), self.widths.tolist(), strict=True)]
        profiles = {self.profile.script: f"s => {self.profile.script}"}
        return [(np.arange(len(columns)), PageTerms(heading, columns, profiles))]

    def tables(
        self, input_names: Sequence[str], output_names: Sequence[str], coefficients: Floats, number: str
    ) -> list[Numbers]:
        """List the matrix of distances, where there is one, and the terms with their coefficients (c, k)."""
        tables = []
        if self.matrix is not None:
            columns = [("M", ""), *((name, number) for name in input_names)]
            rows = [(name, *row) for name, row in zip(input_names, self.matrix.tolist(), strict=True)]
            tables.append(Numbers("The matrix M of squared distances.", columns, rows))
        columns = [
            ("j", "d"),
            *((f"μ: {input_names[i]}", number) for i in self.uses),
            *([("width w", number)] * self.has_widths),
            *((f"c for {output}", number) for output in output_names),
        ]
        widths = self.widths[:, None][:, : int(self.has_widths)]
        numbers = np.hstack([self.centers[:, self.uses], widths, coefficients.T]).tolist()
        also = ", the widths w" * self.has_widths
        caption = f"The centres μ, in the units of the inputs{also}, and the coefficients c."
        tables.append(Numbers(caption, columns, [(j, *row) for j, row in enumerate(numbers, start=1)]))
        return tables
