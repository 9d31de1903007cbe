"""The command line. Nothing heavy is imported before a command needs it."""

import argparse
from collections.abc import Sequence

from saltus import __version__
from saltus.cli import demo, export, fit, inspect, predict, report
from saltus.cli.console import run_command

COMMANDS = (fit, predict, inspect, report, export, demo)

EPILOG = """\
a first session:
  saltus fit data.csv --target y -o model.saltus --report report.html
  saltus predict model.saltus new.csv -o predictions.csv

exit codes: 0 done, 1 unexpected failure, 2 wrong usage or input, 130 interrupted by Ctrl-C
`saltus COMMAND --help` has the options and an example of each."""


def build_parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    parser = argparse.ArgumentParser(
        prog="saltus",
        description="Regression networks that choose their own size.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"saltus {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    options = build_parser().parse_args(arguments)
    return run_command(options.run, options)
