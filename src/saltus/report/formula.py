"""The formula of a model, as HTML: words, numbers and tables."""

from collections.abc import Sequence

import numpy as np

from saltus._typing import Floats
from saltus.estimators import BayesianRegressor, Regressor
from saltus.estimators.notes import DataNotes
from saltus.families import Radial
from saltus.inspection.document import Cell, Table, count, to_html
from saltus.inspection.findings import single_network
from saltus.inspection.formula import ROUNDING, Formula, digits_needed

# With more inputs than this, the linear term is left to its table.
MOST_TERMS = 12

PROFILES = {
    "linear": "<var>r</var>",
    "cubic": "<var>r</var>³",
    "thin_plate": "<var>r</var>² ln <var>r</var>",
    "gaussian": "exp(&minus;<var>r</var>²/2)",
    "multiquadric": "√(1 + <var>r</var>²)",
    "inverse_multiquadric": "1 / √(1 + <var>r</var>²)",
}
SUM_OF_BASES = " + Σ<sub>j</sub> <var>c</var><sub>j</sub> φ(<var>r</var><sub>j</sub>)"
SUM_OF_INPUTS = " + Σ<sub>i</sub> <var>b</var><sub>i</sub> <var>x</var><sub>i</sub>"
OFFSET = "<var>x</var> &minus; <var>μ</var><sub>j</sub>"
OFFSET_ALONG = "<var>x</var><sub>i</sub> &minus; <var>μ</var><sub>ji</sub>"


def formula_html(model: Regressor) -> str:
    """Write the network that describes the model as a formula, with tables of its numbers."""
    network, notes = single_network(model), model.data_notes_
    formula, digits = Formula.of(network), digits_needed(network)
    linear, bases = f".{digits.linear}g", f".{digits.bases}g"
    said = (
        f"{which_network(model)} Numbers have as many digits as it takes to predict to {ROUNDING:g} standard "
        "deviations of the output."
    )
    paragraphs = [f"<p>{to_html(said)}</p>"]
    for i, output in enumerate(notes.output_names):
        terms = _linear_terms(notes.input_names, formula.linear[i], linear) + SUM_OF_BASES * (len(formula.centers) > 0)
        constant = _signed(formula.intercept[i], linear)
        paragraphs.append(f'<p class="formula"><b>{to_html(output)}</b> ≈ {constant}{terms}</p>')
    tables = [input_table(formula, notes, linear, bases)]
    if len(formula.centers) > 0:
        basis = network.basis
        paragraphs.append(
            _distance(formula, PROFILES[basis.name] if isinstance(basis, Radial) else to_html(repr(basis)))
        )
        tables += metric_tables(formula, notes, bases)
        tables.append(center_table(formula, notes, bases))
    return "\n".join([*paragraphs, *(table.to_html() for table in tables)])


def which_network(model: Regressor) -> str:
    """Say what the formula has to do with predictions."""
    if isinstance(model, BayesianRegressor):
        return (
            f"This is one network of {count(len(model._predictive.draws), 'draw')}: the one with the highest density, "
            "its coefficients at their posterior mean. Predictions average all of them."
        )
    if len(model.networks_) == 1:
        return "This is the whole model."
    return (
        f"This is the best network. Predictions average it, with weight {model.weights_.max():.2f}, and "
        f"{count(len(model.networks_) - 1, 'other')} that the search found; combine='best' predicts with it alone."
    )


def input_table(formula: Formula, notes: DataNotes, linear: str, bases: str) -> Table:
    """List the linear coefficients and, where the metric has them, the length scales."""
    columns = [("input", ""), *((f"b for {output}", linear) for output in notes.output_names)]
    cells: list[Sequence[Cell]] = [notes.input_names, *formula.linear.tolist()]
    caption = "The coefficients b of the linear term."
    if formula.matrix is None and len(formula.centers) > 0:
        columns.append(("length scale l", bases))
        cells.append([scale if np.isfinite(scale) else "off" for scale in formula.length_scales.tolist()])
        caption = "The coefficients b of the linear term, and the length scales l of the basis functions."
    return Table(caption, columns, list(zip(*cells, strict=True)))


def metric_tables(formula: Formula, notes: DataNotes, number: str) -> list[Table]:
    """List the matrix M of r^2 = (x - mu)' M (x - mu), where there is one."""
    if formula.matrix is None:
        return []
    columns = [("M", ""), *((name, number) for name in notes.input_names)]
    rows = [(name, *row) for name, row in zip(notes.input_names, formula.matrix.tolist(), strict=True)]
    return [Table("The matrix M of squared distances.", columns, rows)]


def center_table(formula: Formula, notes: DataNotes, number: str) -> Table:
    """List the centres, along the inputs that the basis functions use, and their coefficients."""
    used = formula.uses
    columns = [
        ("j", "d"),
        *((f"μ: {notes.input_names[i]}", number) for i in used),
        *([("width w", number)] * formula.has_widths),
        *((f"c for {output}", number) for output in notes.output_names),
    ]
    widths = formula.widths[:, None][:, : int(formula.has_widths)]
    numbers = np.hstack([formula.centers[:, used], widths, formula.coefficients.T]).tolist()
    rows = [(j, *row) for j, row in enumerate(numbers, start=1)]
    also = ", the widths w" * formula.has_widths
    return Table(f"The centres μ, in the units of the inputs{also}, and the coefficients c.", columns, rows)


def _signed(value: float, number: str) -> str:
    return format(value, number).replace("-", "&minus;")


def _linear_terms(names: Sequence[str], slopes: Floats, number: str) -> str:
    if len(names) > MOST_TERMS:
        return SUM_OF_INPUTS
    return "".join(
        f" {'&minus;' if slope < 0 else '+'} {_signed(abs(slope), number)}&nbsp;<i>{to_html(name)}</i>"
        for name, slope in zip(names, slopes, strict=True)
        if slope != 0
    )


def _distance(formula: Formula, profile: str) -> str:
    distance = f"Σ<sub>i</sub> (({OFFSET_ALONG}) / <var>l</var><sub>i</sub>)²"
    symbols = "<var>l</var><sub>i</sub> the length scale of input i, which drops out where it is off"
    if formula.matrix is not None:
        distance, symbols = f"({OFFSET})&prime; <var>M</var> ({OFFSET})", "<var>M</var> the matrix below"
    if formula.has_widths:
        distance = f"{distance} / <var>w</var><sub>j</sub>²"
        symbols = f"<var>w</var><sub>j</sub> its width, {symbols}"
    return (
        f'<p class="formula">φ(<var>r</var>) = {profile}, where <var>r</var><sub>j</sub>² = {distance}</p>\n'
        f"<p><var>μ</var><sub>j</sub> is centre j, <var>c</var><sub>j</sub> its coefficient, {symbols}.</p>"
    )
