"""The formula of a model, as HTML: words, numbers and tables."""

from collections.abc import Sequence

import numpy as np

from saltus._typing import Floats
from saltus.estimators import NetworkRegressor
from saltus.estimators.notes import DataNotes
from saltus.inspection.document import Cell, TextTable, to_html
from saltus.inspection.formula import ROUNDING, Formula, digits_needed

# With more inputs than this, the linear term is left to its table.
MOST_TERMS = 12

SUM_OF_INPUTS = " + Σ<sub>i</sub> <var>b</var><sub>i</sub> <var>x</var><sub>i</sub>"


def formula_html(model: NetworkRegressor) -> str:
    """Write the network that describes the model as a formula, with tables of its numbers."""
    network, notes = model._single_network, model.data_notes_
    formula, digits = Formula.of(network), digits_needed(network)
    inputs = formula.names(notes.input_names)
    linear, number = f".{digits.linear}g", f".{digits.terms}g"
    said = (
        f"{model._which_network()} Numbers have as many digits as it takes to predict to {ROUNDING:g} standard "
        "deviations of the output."
    )
    paragraphs = [f"<p>{to_html(said)}</p>"]
    for i, output in enumerate(notes.output_names):
        terms = _linear_terms(inputs, formula.linear[i], linear)
        terms += formula.terms.sum_html * formula.has_terms
        constant = _signed(formula.intercept[i], linear)
        paragraphs.append(f'<p class="formula"><b>{to_html(output)}</b> ≈ {constant}{terms}</p>')
    has_inputs = bool(formula.linear.any()) or formula.terms.cells_of_inputs() is not None
    tables = [input_table(formula, inputs, notes, linear, number)] if has_inputs else []
    if formula.has_terms:
        paragraphs.append(formula.terms.html())
        of_terms = formula.terms.tables(inputs, notes.output_names, formula.coefficients, number)
        tables += [TextTable(*table) for table in of_terms]
    return "\n".join([*paragraphs, *(table.to_html() for table in tables)])


def input_table(formula: Formula, inputs: Sequence[str], notes: DataNotes, linear: str, number: str) -> TextTable:
    """List the linear coefficients and what the terms say of each input."""
    columns = [("input", ""), *((f"b for {output}", linear) for output in notes.output_names)]
    cells: list[Sequence[Cell]] = [inputs, *formula.linear.tolist()]
    caption = "The coefficients b of the linear term."
    of_terms = formula.terms.cells_of_inputs()
    rows: Sequence[int] = range(len(inputs))
    if of_terms is not None:
        also, name, values = of_terms
        columns.append((name, number))
        cells.append(values)
        caption = f"The coefficients b of the linear term{also}."
    else:
        rows = np.flatnonzero(formula.linear.any(axis=0)).tolist()  # others are 0
    lines = list(zip(*cells, strict=True))
    return TextTable(caption, columns, [lines[j] for j in rows])


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
