"""``saltus fit``: from a table to a model."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.console import DONE, INTERRUPTED, note
from saltus.cli.options import (
    add_command,
    add_output,
    add_reading,
    jobs,
    positive,
    read,
    seconds,
    seed,
    share,
    split_names,
)
from saltus.cli.outputs import check_input, check_output, check_page, name_beside, still_free
from saltus.families.options import DEFAULT_NAME, NAMES, OPTIONS

if TYPE_CHECKING:
    from saltus.cli.options import Commands
    from saltus.cli.rows import Rows
    from saltus.estimators import NetworkRegressor

CRITERIA = ("aic", "aicc", "bic", "ebic", "hqc", "mdl")


def add(commands: "Commands") -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        "fit",
        "DATA --target COLUMN [-o MODEL] [--report PAGE]",
        summary="fit a model to a table",
        description="Fit a model to the columns of a CSV or Parquet file. The model is an annealed network, or with "
        "--bayes an average over many networks, which also predicts intervals. The columns may hold numbers, text, "
        "categories and dates, and values may be missing. Columns without information, such as constants, and rows "
        "without a target are left out, and the command says which. Some rows are held out to test the model.",
        example="saltus fit data.csv --target y --time 30 -o model.saltus --report report.html",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="a CSV or Parquet file, with a header, or a folder of Parquet files, of any size",
    )
    parser.add_argument(
        "--target",
        action="extend",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="the column to predict, or several columns",
    )
    add_output(parser, "MODEL", "file to write the model to (default: the name of DATA, ending in .saltus)")
    parser.add_argument("--report", type=Path, metavar="PAGE", help="file to write a report to, as one HTML page")
    _add_columns(parser)
    _add_search(parser)
    add_reading(parser)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which columns and rows")
    group.add_argument(
        "--input",
        action="extend",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns to predict from (default: all others that hold information)",
    )
    group.add_argument(
        "--drop", action="extend", nargs="+", default=[], metavar="COLUMN", help="columns not to predict from"
    )
    group.add_argument(
        "--category",
        action="extend",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of numbers that are categories, such as codes (text is a category anyway)",
    )
    group.add_argument(
        "--test-size",
        type=share,
        default=0.2,
        metavar="SHARE",
        help="the share of rows that are held out to test the model; 0 for none (default: %(default)s)",
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to fit")
    group.add_argument(
        "--bayes",
        action="store_true",
        help="fit an average over the posterior of all networks, which also predicts intervals",
    )
    families = f"the family of terms: {', '.join(NAMES)} (default: {DEFAULT_NAME})"
    group.add_argument("--basis", choices=NAMES, metavar="NAME", help=families)
    for option in OPTIONS:
        default = f"{option.help} (default: {option.choices[0]})"
        group.add_argument(f"--{option.name}", choices=option.choices, metavar="NAME", help=default)
    group.add_argument(
        "--criterion",
        type=_criterion,
        metavar="NAME",
        help=f"criterion that sets the cost of a term: {', '.join(CRITERIA)}, or a number, the cost itself (default: "
        "aicc; not with --bayes)",
    )
    group.add_argument(
        "--time",
        type=seconds,
        metavar="SECONDS",
        help="end the fit after about this many seconds, or earlier if the search is finished",
    )
    group.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="seed of the random numbers; the same seed gives the same model (default: %(default)s)",
    )
    group.add_argument(
        "--jobs",
        type=jobs,
        default=-1,
        metavar="N",
        help="number of chains that run at the same time (default: one for each processor)",
    )
    group.add_argument(
        "--chains", type=positive, metavar="N", help="number of chains (default: 4, or up to 8 for small tables)"
    )
    group.add_argument(
        "--iterations",
        type=positive,
        metavar="N",
        help="iterations of each chain (default: until chains agree or stop improving; with --bayes 20000, or by the "
        "number of rows for terms that choose their inputs)",
    )


def _criterion(text: str) -> str | float:
    if text.lower() in CRITERIA:
        return text.lower()
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(CRITERIA)} or a number. Got {text!r}.")
    return value


def run(options: argparse.Namespace) -> int:
    """Read, choose, fit, tell and write."""
    output = options.output or name_beside(options.data, ".saltus")
    if options.bayes and options.criterion is not None:
        raise ValueError(
            "--bayes averages over networks of all sizes and takes no --criterion. Leave one of the two out."
        )
    check_input(options.data)
    if options.data.is_dir():
        return _run_folder(options, output)
    table = read(options, wanted=split_names(options.target), as_text=split_names(options.category))
    from saltus.cli.columns import choose_data, resolve_names
    from saltus.cli.rows import describe_split, split_rows
    from saltus.inspection.document import paragraphs

    chosen = [resolve_names(table, each) for each in (options.target, options.input, options.drop, options.category)]
    data = choose_data(table, chosen[0], inputs=chosen[1], without=chosen[2], categories=chosen[3])
    _check_outputs(options, output)
    train, test = split_rows(data, options.test_size, options.seed)
    told = [*table.notes, *data.describe(), describe_split(train, test, options.seed)]
    print(paragraphs([f"{options.data}: {table.n_rows} rows, {len(table.header)} columns.", *told]), flush=True)
    note("Fitting. Ctrl-C ends it with the best so far.")
    from saltus._compile import COMPILING, when_compiling
    from saltus.cli.modelling import fit_model
    from saltus.engine.drivers.stop import INTERRUPTED as BY_CTRL_C

    if options.report is not None:
        _require_pictures()
    with when_compiling(lambda: note(COMPILING)):
        model, ending = fit_model(options, train.X, train.y, targets=data.targets, categories=data.categories)
    _tell(model, train, test)
    told += [*filter(None, [ending]), f"Made by: {options.command_line}"]
    _write(model, train, test, output, options, told)
    return INTERRUPTED if ending.startswith(BY_CTRL_C) else DONE


def _run_folder(options: argparse.Namespace, output: Path) -> int:
    """Do the same for a folder of Parquet files, which need not fit in memory."""
    if options.bayes:
        raise ValueError("--bayes takes rows in memory, and a folder is read part by part. Leave it out.")
    from saltus.cli.folders import Folder, describe_left_out
    from saltus.inspection.document import paragraphs

    folder = Folder.read(options)
    _check_outputs(options, output)
    X, y, some, test = folder.split(options.test_size, options.seed)
    told = folder.describe(test, options.seed)
    print(paragraphs(told), flush=True)
    note("Fitting. Ctrl-C ends it with the best so far.")
    from saltus._compile import COMPILING, when_compiling
    from saltus.cli.modelling import fit_model
    from saltus.engine.drivers.stop import INTERRUPTED as BY_CTRL_C

    with when_compiling(lambda: note(COMPILING)):
        model, ending = fit_model(options, X, y, targets=folder.targets, categories=split_names(options.category))
    told += [*describe_left_out(model), *filter(None, [ending]), f"Made by: {options.command_line}"]
    _tell(model, some, test)
    _write(model, some, test, output, options, told)
    return INTERRUPTED if ending.startswith(BY_CTRL_C) else DONE


def _require_pictures() -> None:
    from saltus.plots import require_matplotlib

    require_matplotlib()


def _tell(model: "NetworkRegressor", train: "Rows", test: "Rows") -> None:
    from saltus.cli.verdict import describe_scores, in_words_of_commands

    print(f"\n{in_words_of_commands(model.summary())}\n\n{describe_scores(model, train, test)}\n")


def _write(
    model: "NetworkRegressor", train: "Rows", test: "Rows", output: Path, options: argparse.Namespace, told: list[str]
) -> None:
    path = still_free(output, force=options.force)
    model.save(path)
    print(f"The model, fitted to {model.data_notes_.n_rows} rows: {path}", flush=True)
    if options.report is not None:
        path = still_free(options.report, force=options.force)
        X_test, y_test = (test.X, test.y) if len(test) else (None, None)
        from saltus.cli.again import fitting_code

        code = fitting_code(options)
        model.report(path, train.X, train.y, X_test=X_test, y_test=y_test, notes=told, code=code)
        print(f"The report: {path}")


def _check_outputs(options: argparse.Namespace, output: Path) -> None:
    check_output(output, force=options.force, inputs=(options.data,))
    if options.report is not None:
        check_page(options.report)
        check_output(options.report, force=options.force, inputs=(options.data,), option="--report")
        if options.report.absolute() == output.absolute():
            raise ValueError(f"The model and the report cannot both go to {output}.")
