"""The data and the making of a model, as text."""

import textwrap

from saltus.estimators import Regressor
from saltus.inspection.document import LINE_WIDTH, Cell, Section, Table, count
from saltus.report.recipe import recipe_caveats, recipe_code


def describe_data(model: Regressor) -> str:
    """Say where the values of each column lie."""
    notes = model.data_notes_
    columns = [("column", ""), ("role", "")] + [(name, ".4g") for name in ("least", "mean", "std. dev.", "most")]
    lines: list[tuple[Cell, ...]] = [
        (name, role, *map(float, values))
        for role, part in (("input", notes.inputs), ("output", notes.outputs))
        for name, *values in zip(part.names, part.min, part.mean, part.std, part.max, strict=True)
    ]
    said = (f"Fitted to {count(notes.n_rows, 'row')}, which are not in the file.",)
    return Section("Data", said, (Table("What the columns held.", columns, lines),)).to_text()


def describe_recipe(model: Regressor) -> str:
    """Write the code that makes the model again."""
    caveats = textwrap.fill(" ".join(recipe_caveats(model)), LINE_WIDTH - 2)
    return "Make it again\n" + textwrap.indent(f"{recipe_code(model)}\n\n{caveats}", "  ")
