"""Where results go: checked before the work begins, written whole, and never over what is there."""

import os
from itertools import count
from pathlib import Path

from saltus.cli.console import note


def check_input(path: Path) -> None:
    """Raise if a file is not there."""
    if not path.exists():
        raise ValueError(f"There is no file {path}.")


def check_output(path: Path, *, force: bool, inputs: tuple[Path, ...] = (), option: str = "-o") -> None:
    """Raise if a file cannot or must not be written, or an input is not there; the option is the one that names it."""
    for other in inputs:
        check_input(other)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: you may not write into {folder}. Give another with {option}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Give the name of a file in it.")
    if any(other.exists() and path.exists() and path.samefile(other) for other in inputs):
        raise ValueError(f"{path} is to be read, and cannot be written as well. Give another name with {option}.")
    if is_there(path) and not force:
        raise ValueError(f"{path} exists. Give another name with {option}, or replace it with --force.")


def check_page(path: Path) -> None:
    """Raise if a name promises something other than a page."""
    if path.suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(f"A report is HTML, and {path} would be taken for something else. Name it {path.stem}.html.")


def name_beside(path: Path, suffix: str) -> Path:
    """Name an output as its input, with another suffix."""
    return path.with_suffix(suffix) if path.name else path  # a folder, which is refused where it is to be written


def is_there(path: Path) -> bool:
    """Say whether a name is taken, be it by a link that leads nowhere."""
    return path.exists() or path.is_symlink()


def free_name(path: Path) -> Path:
    """Find a name that is not taken: this one, or with a number."""
    numbered = (path.with_stem(f"{path.stem}-{n}") for n in count(2))
    return path if not is_there(path) else next(other for other in numbered if not is_there(other))


def still_free(path: Path, *, force: bool) -> Path:
    """Give another name if this one, which was free when the work began, has been taken since."""
    name = path if force else free_name(path)
    if name != path:
        note(f"{path} was written by someone else meanwhile, and stays.")
    return name
