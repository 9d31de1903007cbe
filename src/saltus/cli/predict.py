"""``saltus predict``: from a model and a table to predictions."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.console import DONE, note
from saltus.cli.options import add_command, add_output, add_reading, load_model, probability, read
from saltus.cli.outputs import check_output, still_free

if TYPE_CHECKING:
    from saltus.cli.options import Commands


def add(commands: "Commands") -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        "predict",
        "MODEL DATA [-o CSV] [--interval P]",
        summary="predict the rows of a table",
        description="Predict every row of a CSV or Parquet file, also rows with missing values. Columns are matched by "
        "name, in any order. The predictions are CSV, with the separator and the decimal point of DATA.",
        example="saltus predict model.saltus new.csv --interval 0.9 -o predictions.csv",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file that `saltus fit` wrote")
    parser.add_argument("data", type=Path, metavar="DATA", help="a CSV or Parquet file, with a header")
    add_output(parser, "CSV", "file to write the predictions to (default: standard output)")
    parser.add_argument(
        "--interval",
        type=probability,
        metavar="P",
        help="add the ends of the interval that holds a new value with this probability; for models of fit --bayes",
    )
    parser.add_argument("--keep", action="store_true", help="write the columns of DATA before the predictions")
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Load, read, match, predict and write."""
    if options.output is not None:
        check_output(options.output, force=options.force, inputs=(options.data, options.model))
        if options.output.suffix.lower() == ".parquet":
            raise ValueError(
                f"Predictions are written as CSV, and {options.output} has the name of a Parquet file. Give a name "
                f"that ends in .csv."
            )
    from saltus.cli.matching import category_names, column_names, describe_inputs, match_inputs
    from saltus.cli.predictions import check_interval, predict_columns, write_csv
    from saltus.storage.atomic import replacing

    model = load_model(options.model)
    check_interval(model, options.interval)
    table = read(options, wanted=column_names(model), as_text=category_names(model), keep_rows=options.keep)
    X = match_inputs(table, model)
    for sentence in (*table.notes, *describe_inputs(table, X, model)):
        note(sentence)
    columns = predict_columns(model, X, options.interval)
    content = write_csv(table, columns, keep=options.keep)
    if options.output is None:
        sys.stdout.write(content)
        return DONE
    path = still_free(options.output, force=options.force)
    with replacing(path) as file:
        file.write(content.encode())
    note(f"The predictions of {table.n_rows} rows: {path}")
    return DONE
