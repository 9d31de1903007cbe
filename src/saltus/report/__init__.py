"""One HTML file that shows a model to a colleague: no script, nothing from the network."""

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

import numpy as np
from numpy.typing import ArrayLike

import saltus
from saltus.estimators import NetworkRegressor
from saltus.estimators.notes import ColumnNotes
from saltus.inspection.document import Cell, TextTable, count, join_names, percent, to_html
from saltus.inspection.metrics import check_rows, score_rows
from saltus.report.formula import formula_html
from saltus.report.pictures import MOST_INPUTS, MOST_OUTPUTS, choose_pictures
from saltus.report.recipe import option_table, recipe_caveats, recipe_code
from saltus.storage.atomic import replacing

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


def write_report(
    model: NetworkRegressor,
    path: str | os.PathLike[str],
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write the report of a fitted model, whole or not at all; see :meth:`AnnealedRegressor.report`."""
    page = render_report(model, X, y, X_test=X_test, y_test=y_test, title=title, notes=notes)
    with replacing(path) as file:
        file.write(page.encode())


def render_report(
    model: NetworkRegressor,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Make the page of a report."""
    if y is not None and X is None:
        raise ValueError("y was given without X. Pass both, or X alone.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test belong together. Pass both or none.")
    if isinstance(notes, str):
        raise ValueError(f"notes must be a list of sentences. Got one: pass [{notes!r}].")
    summary = model.summary()
    test = None if X_test is None or y_test is None else (X_test, y_test)
    rows = None if X is None or y is None else (X, y)
    called = "rows given" if rows is None else name_rows(model, *rows)
    bodies = {
        "Summary": _in_columns("summary", (section.to_html() for section in summary.sections)),
        "Scores": _scores(model, {"held-out rows": test, called: rows}),
        "Pictures": what_is_drawn(model)
        + _in_columns("pictures", (picture.to_html() for picture in choose_pictures(model, X, rows, test, called))),
        "Formula": formula_html(model),
        "Data": _data(model, notes),
        "Options": option_table(model).to_html(),
        "Make it again": _recipe(model),
    }
    sections = [(name, name.lower().replace(" ", "-"), body) for name, body in bodies.items() if body]
    package = files("saltus.report")
    heading = f"A model of {join_names(model.data_notes_.output_names)}" if title is None else title
    return Template(package.joinpath("page.html").read_text("utf-8")).substitute(
        title=to_html(heading),
        headline=to_html(summary.headline),
        style=package.joinpath("page.css").read_text("utf-8"),
        contents="\n".join(f'<li><a href="#{anchor}">{name}</a></li>' for name, anchor, _ in sections),
        sections="\n".join(
            f'<section id="{anchor}">\n<h2>{name}</h2>\n{body}\n</section>' for name, anchor, body in sections
        ),
        version=escape(saltus.__version__),
        date=datetime.now(UTC).date().isoformat(),
    )


def name_rows(model: NetworkRegressor, X: ArrayLike, y: ArrayLike) -> str:
    """Tell the rows that a model was fitted to, by their number and ranges, from others."""
    notes, rows = model.data_notes_, check_rows(model, X, y)
    is_fit = len(rows[0]) == notes.n_rows and all(
        np.array_equal(part.min, each.min) and np.array_equal(part.max, each.max)
        for part, values in zip((notes.inputs, notes.outputs), rows, strict=True)
        for each in [ColumnNotes.of(part.names, values, np.ones(len(values)), part.levels)]
    )
    return "rows of the fit" if is_fit else "rows given"


def _in_columns(kind: str, parts: Iterable[str]) -> str:
    """Set parts beside each other where there is room."""
    return f'<div class="columns {kind}">\n' + "\n".join(f"<div>{part}</div>" for part in parts) + "\n</div>"


def what_is_drawn(model: NetworkRegressor) -> str:
    """Say what is left out of the pictures, if anything is."""
    n_outputs, n_inputs = len(model.data_notes_.output_names), len(model.data_notes_.input_names)
    said = []
    if n_outputs > MOST_OUTPUTS:
        said.append(f"the first {MOST_OUTPUTS} of {n_outputs} outputs")
    if n_inputs > MOST_INPUTS:
        said.append(f"the {MOST_INPUTS} of {n_inputs} inputs with the largest effect")
    return f"<p>Pictures are of {' and '.join(said)}.</p>" if said else ""


def _scores(model: NetworkRegressor, rows_by_name: dict[str, tuple[ArrayLike, ArrayLike] | None]) -> str:
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


def _data(model: NetworkRegressor, notes: Sequence[str]) -> str:
    data = model.data_notes_
    said = [f"Fitted to {count(data.n_rows, 'row')}."]
    if data.total_weight != data.n_rows:
        said.append(f"Their weights add up to {data.total_weight:.6g}; ranges below count rows by their weight.")
    columns = [("column", ""), ("role", "")] + [(name, ".4g") for name in ("lowest", "mean", "std. dev.", "highest")]
    lines: list[tuple[Cell, ...]] = [
        (name, role, *map(float, values))
        for role, part in (("input", data.inputs), ("output", data.outputs))
        for name, *values in zip(part.names, part.min, part.mean, part.std, part.max, strict=True)
    ]
    items = "".join(f"<li>{to_html(note)}</li>\n" for note in notes)
    listed = f"<ul>\n{items}</ul>\n" if notes else ""
    return (
        f"<p>{to_html(' '.join(said))}</p>\n{listed}"
        + TextTable("The values of each column.", columns, lines).to_html()
    )


def _recipe(model: NetworkRegressor) -> str:
    versions = [("saltus", saltus.__version__), ("Python", platform.python_version())]
    versions += [(name, version(name)) for name in LIBRARIES]
    versions.append(("machine", f"{platform.system()} {platform.machine()}"))
    table = TextTable("The software that made this page.", [("part", ""), ("version", "")], versions)
    code = f'<pre tabindex="0"><code>{escape(recipe_code(model))}</code></pre>'
    return f"{code}\n<p>{to_html(' '.join(recipe_caveats(model)))}</p>\n{table.to_html()}"
