"""``saltus report``: a page that shows a model."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus.cli.console import DONE, note
from saltus.cli.options import add_command, add_output, add_reading, load_model, read
from saltus.cli.outputs import check_output, check_page, name_beside, still_free

if TYPE_CHECKING:
    from saltus.cli.options import Commands


def add(commands: "Commands") -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        "report",
        "MODEL [DATA] [-o PAGE]",
        summary="write a page that shows a model",
        description="Write one HTML file with the summary of a model, pictures, its formula, and its scores on the "
        "rows of DATA. A model does not keep the rows that it was fitted to: without DATA, the page has no scores and "
        "no pictures that need rows.",
        example="saltus report model.saltus data.csv -o report.html",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file that `saltus fit` wrote")
    parser.add_argument("data", type=Path, metavar="DATA", nargs="?", help="a CSV or Parquet file, with a header")
    add_output(parser, "PAGE", "file to write the page to (default: the name of MODEL, ending in .html)")
    parser.add_argument("--title", help="title of the page")
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Load, read, match, draw and write."""
    output = options.output or name_beside(options.model, ".html")
    inputs = (options.model,) if options.data is None else (options.model, options.data)
    check_page(output)
    check_output(output, force=options.force, inputs=inputs)
    from saltus.cli.matching import category_names, column_names, match_rows

    model = load_model(options.model)
    rows: dict[str, Any] = {}
    said: list[str] = []
    if options.data is not None:
        names = (*column_names(model), *model.data_notes_.output_names)
        table = read(options, wanted=names, as_text=category_names(model))
        rows, said = match_rows(table, model)
        said = [*table.notes, *said]
    for sentence in said:
        note(sentence)
    path = still_free(output, force=options.force)
    model.report(path, **rows, title=options.title, notes=said)
    note(f"The report: {path}")
    return DONE
