"""The data and the making of a model, as text."""

import textwrap

from saltus.estimators import NetworkRegressor
from saltus.inspection.document import LINE_WIDTH, Cell, Section, TextTable, count
from saltus.report.recipe import recipe_caveats, recipe_code


def describe_data(model: NetworkRegressor) -> str:
    """Say where the values of each column lie."""
    notes = model.data_notes_
    columns = [("column", ""), ("role", "")] + [(name, ".4g") for name in ("lowest", "mean", "std. dev.", "highest")]
    lines: list[tuple[Cell, ...]] = [
        (name, role, *map(float, values))
        for role, part in (("input", notes.inputs), ("output", notes.outputs))
        for name, *values in zip(part.names, part.min, part.mean, part.std, part.max, strict=True)
    ]
    said = (f"Fitted to {count(notes.n_rows, 'row')}; the file does not hold the rows.",)
    return Section("Data", said, (TextTable("The values of each column.", columns, lines),)).to_text()


def describe_recipe(model: NetworkRegressor) -> str:
    """Write the code that makes the model again."""
    caveats = textwrap.fill(" ".join(recipe_caveats(model)), LINE_WIDTH - 2)
    return "Make it again\n" + textwrap.indent(f"{recipe_code(model)}\n\n{caveats}", "  ")
