"""How a command ends: exit codes, and errors and warnings as plain sentences on standard error."""

import argparse
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# Errors that the user can do something about; their messages say what.
BAD_INPUTS = (
    ValueError,
    ImportError,
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


def note(sentence: str) -> None:
    """Say something beside the result, on standard error."""
    print(sentence, file=sys.stderr, flush=True)


def run_command(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a command, and turn what goes wrong into a sentence and an exit code."""
    write_what_can_be_written(sys.stdout, sys.stderr)
    try:
        with plain_warnings(debug=options.debug):
            code = run(options)
            sys.stdout.flush()
            return code
    except KeyboardInterrupt as interrupt:
        note(f"\nsaltus: interrupted. {interrupt}".rstrip())
        _leave_what_is_being_compiled()
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; without this, Python would complain of it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        note(f"saltus: {_sentence(error)}")
        return BAD_INPUT if isinstance(error, BAD_INPUTS) else FAILED


def write_what_can_be_written(*streams: TextIO) -> None:
    """Let no name and no minus sign end a command where the console or the system has another encoding than UTF-8.

    A console gets a question mark for what it cannot show. A file or a pipe gets UTF-8, as files with `-o` do, unless
    PYTHONIOENCODING asks for another.
    """
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            is_for_eyes = stream.isatty() or "PYTHONIOENCODING" in os.environ
            stream.reconfigure(encoding=None if is_for_eyes else "utf-8", errors="replace")


def _leave_what_is_being_compiled() -> None:
    """End the process at once if a compilation is under way, which would keep it for seconds."""
    compiling = sys.modules.get("saltus._compile")
    if compiling is not None and compiling.is_compiling():
        sys.stdout.flush()
        os._exit(INTERRUPTED)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, BAD_INPUTS):
        return str(error)
    return f"unexpected failure: {type(error).__name__}: {error}. Run again with --debug to see where it came from."


@contextmanager
def plain_warnings(*, debug: bool = False) -> Iterator[None]:
    """Show the library's warnings as sentences, each once; those of other libraries, for programmers, with `debug`.

    matplotlib logs what it has to say of fonts.
    """
    shown: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, UserWarning):
            if str(message) not in shown:
                note(f"Warning: {message}")
            shown.add(str(message))
        else:
            note(warnings.formatwarning(message, category, filename, lineno).rstrip())

    logging.getLogger("matplotlib").setLevel(logging.NOTSET if debug else logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("default" if debug else "ignore")
        warnings.simplefilter("always", UserWarning)
        # Columns are matched by name when a table is read, and handed on without.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.showwarning = show
        yield
