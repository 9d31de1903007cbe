"""What the options of commands have in common."""

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from saltus.cli.tables import Table
    from saltus.estimators import NetworkRegressor

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

LINE_WIDTH = 78

# How a model file begins, as every zip does.
ZIP = b"PK\x03\x04"


def add_command(
    commands: "Commands", name: str, arguments: str, *, summary: str, description: str, example: str
) -> argparse.ArgumentParser:
    """Add a command with a description and an example."""
    return commands.add_parser(
        name,
        usage=f"saltus {name} {arguments} [options]",
        help=summary,
        description="\n".join(textwrap.fill(line, LINE_WIDTH) for line in description.splitlines()),
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_output(parser: argparse.ArgumentParser, metavar: str, what: str) -> None:
    """Add the options of a command that writes a file."""
    parser.add_argument("-o", "--output", type=Path, metavar=metavar, help=what)
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a table is written."""
    group = parser.add_argument_group("format of the table; detected if not given")
    group.add_argument("--separator", metavar="CHARACTER", help="character between columns: , ; | tab or space")
    group.add_argument("--decimal", choices=[".", ","], metavar="CHARACTER", help="decimal point of numbers: . or ,")
    group.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="TEXT",
        help="text that stands for a missing value, besides an empty cell and NA; may be given several times",
    )


def read(
    options: argparse.Namespace,
    wanted: "Collection[str]",
    *,
    as_text: "Collection[str]" = (),
    keep_rows: bool = False,
) -> "Table":
    """Read the table that a command was given."""
    from saltus.cli.tables import read_table

    return read_table(
        options.data,
        wanted=wanted,
        as_text=as_text,
        separator=options.separator,
        decimal=options.decimal,
        missing=options.missing,
        keep_rows=keep_rows,
    )


def load_model(path: Path) -> "NetworkRegressor":
    """Load a model; of a file that is none, such as a table, say what was to be given."""
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(ZIP)) != ZIP:
                raise ValueError(
                    f"{path} is no model file, such as `saltus fit` writes. Where a table is given, too, the model "
                    f"comes first."
                )
    from saltus.storage.files import load

    return load(path)


def positive(text: str) -> int:
    """Read a whole number that is 1 or more."""
    try:
        value = int(text.replace("_", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more. Got {text!r}.")
    return value


def jobs(text: str) -> int:
    """Read how many chains run at once; -1 is one a processor."""
    return -1 if text == "-1" else positive(text)


def seed(text: str) -> int:
    """Read a seed."""
    if not text.isdecimal() or not int(text) < 2**32:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {2**32 - 1}. Got {text!r}.")
    return int(text)


def seconds(text: str) -> float:
    """Read a time."""
    value = _number(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds. Got {text!r}.")
    return value


def share(text: str) -> float:
    """Read a share of the rows."""
    value = _number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be a share of the rows, from 0 to less than 1. Got {text!r}.")
    return value


def probability(text: str) -> float:
    """Read a probability that is neither 0 nor 1."""
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, such as 0.9. Got {text!r}.")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def split_names(given: "Sequence[str]") -> list[str]:
    """List all names that may be meant, before there is a table to say whether one with commas is several."""
    return [*given, *(part.strip() for name in given for part in name.split(",") if "," in name)]
