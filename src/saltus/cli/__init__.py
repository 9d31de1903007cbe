"""The command line. Nothing heavy is imported before a command needs it."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from saltus import __version__
from saltus.cli import compile as compile_command
from saltus.cli import demo, export, fit, inspect, predict, report
from saltus.cli.console import BAD_INPUT, run_command

COMMANDS = (fit, predict, inspect, report, export, demo, compile_command)

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
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    for each in commands.choices.values():
        each.add_argument("--debug", action="store_true", help="show where an error comes from")
        each.set_defaults(parser=each)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = build_parser()
    options, unknown = parser.parse_known_args(given)
    if options.command is None:
        parser.print_help(sys.stderr)
        return BAD_INPUT
    if unknown:
        _refuse(options.parser, unknown)
    options.command_line = shlex.join(["saltus", *given])
    return run_command(options.run, options)


def _refuse(parser: argparse.ArgumentParser, unknown: list[str]) -> NoReturn:
    """End with what a command does not know, and what may have been meant."""
    name = unknown[0].partition("=")[0]
    if not name.startswith("-"):
        parser.error(f"{shlex.quote(name)} is one argument too many. `{parser.prog} --help` has an example.")
    close = get_close_matches(name, parser._option_string_actions, n=1)
    meant = f"Did you mean {close[0]}?" if close else f"`{parser.prog} --help` has the options."
    parser.error(f"there is no option {name}. {meant}")
