"""Parts of a report that are words and tables: scores, data, the code that makes the model again."""

import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version

from numpy.typing import ArrayLike

import saltus
from saltus.estimators import NetworkRegressor
from saltus.inspection.columns import column_tables
from saltus.inspection.document import Cell, TextTable, count, percent, to_html
from saltus.inspection.metrics import check_rows, score_rows
from saltus.report.pictures import MOST_INPUTS, MOST_OUTPUTS
from saltus.report.recipe import recipe_caveats, recipe_code

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


def in_columns(kind: str, parts: Iterable[str]) -> str:
    """Set parts beside each other where there is room."""
    return f'<div class="columns {kind}">\n' + "\n".join(f"<div>{part}</div>" for part in parts) + "\n</div>"


def what_is_drawn(model: NetworkRegressor, n_inputs: int) -> str:
    """Say what is left out of the pictures, if anything is, where so many inputs matter."""
    n_outputs = len(model.data_notes_.output_names)
    said = []
    if n_outputs > MOST_OUTPUTS:
        said.append(f"the first {MOST_OUTPUTS} of {n_outputs} outputs")
    if n_inputs > MOST_INPUTS:
        said.append(f"the {MOST_INPUTS} of {n_inputs} inputs that matter, the most important ones")
    return f"<p>Pictures are of {' and '.join(said)}.</p>" if said else ""


def score_table(model: NetworkRegressor, rows_by_name: dict[str, tuple[ArrayLike, ArrayLike] | None]) -> str:
    """Score the outputs on rows of several sorts, by their names."""
    lines: list[tuple[Cell, ...]] = []
    for name, rows in rows_by_name.items():
        if rows is not None:
            inputs, observed = check_rows(model, *rows)
            lines += [
                (f"{name} ({len(inputs)})", score.output, score.r_squared, score.rmse, score.mae, percent(score.inside))
                for score in score_rows(model, inputs, observed)
            ]
    columns = [("rows", ""), ("output", ""), ("R²", ".4f"), ("RMSE", ".4g"), ("MAE", ".4g"), ("in 90 % band", ".1f")]
    if not model._gives_intervals:
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    caption = (
        "R²: the share of the variance of the output that is predicted; RMSE and MAE: root mean square and mean "
        "absolute error, in the units of the output. Scores on training rows are too good; judge the model by the "
        "held-out rows."
    )
    return TextTable(caption, columns, lines).to_html() if lines else ""


def data_section(model: NetworkRegressor, notes: Sequence[str]) -> str:
    """List the columns of the fit, and what else is noted of its rows."""
    data = model.data_notes_
    said = [f"Fitted to {count(data.n_rows, 'row')}."]
    if data.total_weight != data.n_rows:
        said.append(f"Their weights add up to {data.total_weight:.6g}; ranges below count rows by their weight.")
    items = "".join(f"<li>{to_html(note)}</li>\n" for note in notes)
    listed = f"<ul>\n{items}</ul>\n" if notes else ""
    return f"<p>{to_html(' '.join(said))}</p>\n{listed}" + "".join(table.to_html() for table in column_tables(data))


def recipe_section(model: NetworkRegressor, given: str | None) -> str:
    """Write the code that makes the model again, as given or as the model knows it, and the software of the page."""
    versions = [("saltus", saltus.__version__), ("Python", platform.python_version())]
    versions += [(name, version(name)) for name in LIBRARIES]
    versions.append(("machine", f"{platform.system()} {platform.machine()}"))
    table = TextTable("The software that made this page.", [("part", ""), ("version", "")], versions)
    code = f'<pre tabindex="0"><code>{escape(recipe_code(model) if given is None else given)}</code></pre>'
    return f"{code}\n<p>{to_html(' '.join(recipe_caveats(model)))}</p>\n{table.to_html()}"
