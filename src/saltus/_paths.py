"""Paths that a user gave."""

import os


def check_path(path: object, name: str) -> str:
    """Take the path of a file as text; raise TypeError or ValueError, which name the argument, for what is none."""
    if not isinstance(path, str | os.PathLike):  # open() would take 5 for a file that is open already
        raise TypeError(f"{name} must be the path of a file, as text or a pathlib.Path. Got {path!r}.")
    text = os.fsdecode(path)
    if "\0" in text or not text:
        what = "has a NUL character in it" if text else "is empty"
        raise ValueError(f"{name} must be the path of a file, and none {what}. Got {text!r}.")
    return text
