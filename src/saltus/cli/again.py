"""The code that does again what a command did, for a page."""

import argparse

from saltus.report.source import in_lines

# What a repetition does without: it writes one model, and no page.
LEFT_OUT = {"help", "output", "report", "force", "debug"}


def fitting_code(options: argparse.Namespace) -> str:
    """Write the code that runs ``saltus fit`` with the same options, and loads the model."""
    path = f"{options.data.stem}-again.saltus"
    arguments = ["fit", str(options.data), *_changed(options), "-o", path, "--force"]
    lines = [
        f"# The command reads {str(options.data)!r} again, holds out the same rows,",
        "# and fits the same model. Run this code where the file is.",
        "import saltus",
        "from saltus.cli import main",
        "",
        f"main({in_lines(arguments)})",
        f"model = saltus.load({path!r})",
    ]
    return "\n".join(lines)


def _changed(options: argparse.Namespace) -> list[str]:
    """List the options that differ from their default, as they are given to a command."""
    given: list[str] = []
    for action in options.parser._actions:
        value = getattr(options, action.dest, action.default)
        if not action.option_strings or action.dest in LEFT_OUT or value == action.default:
            continue
        name = action.option_strings[-1]
        if value is True:
            given.append(name)
        else:
            given += [f"{name}={each}" for each in (value if isinstance(value, list) else [value])]
    return given
