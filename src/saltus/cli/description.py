"""The data and the making of a model, as text."""

import textwrap

from saltus.estimators import NetworkRegressor
from saltus.inspection.columns import column_tables
from saltus.inspection.document import LINE_WIDTH, Section, count
from saltus.report.recipe import recipe_caveats, recipe_code


def describe_data(model: NetworkRegressor) -> str:
    """Say where the values of each column lie."""
    notes = model.data_notes_
    said = (f"Fitted to {count(notes.n_rows, 'row')}; the file does not hold the rows.",)
    return Section("Data", said, tuple(column_tables(notes))).to_text()


def describe_recipe(model: NetworkRegressor) -> str:
    """Write the code that makes the model again."""
    caveats = textwrap.fill(" ".join(recipe_caveats(model)), LINE_WIDTH - 2)
    return "Make it again\n" + textwrap.indent(f"{recipe_code(model)}\n\n{caveats}", "  ")
