"""``saltus inspect``: what a model file holds."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.cli.console import DONE
from saltus.cli.options import add_command, load_model

if TYPE_CHECKING:
    from saltus.cli.options import Commands


def add(commands: "Commands") -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        "inspect",
        "MODEL",
        summary="print what a model file holds",
        description="Print the summary of a model, the ranges of the data that it was fitted to, and code that fits "
        "the model again.",
        example="saltus inspect model.saltus",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file that `saltus fit` wrote")


def run(options: argparse.Namespace) -> int:
    """Load and print."""
    from saltus.cli.description import describe_data, describe_recipe

    model = load_model(options.model)
    print(f"{model.summary()}\n\n{describe_data(model)}\n\n{describe_recipe(model)}")
    return DONE
