"""Files that are written whole or not at all."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time
from typing import BinaryIO

from saltus._paths import check_path

try:
    import fcntl
except ImportError:  # on Windows
    CAN_LOCK = False
else:
    CAN_LOCK = True

# Files that are being written are called so, and locked until they have their own name.
BEING_WRITTEN = ".saltus-{}.tmp"

# Where files cannot be locked, one that was begun so many seconds ago is taken for abandoned.
LONGEST_WRITE = 86_400.0


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends well, and vanishes when it does not.

    It lies in the same folder until then, so that taking the place is one step of the file system, and its content is
    on the disk before that step. A link is followed: what it points to is replaced, and its permissions stay. What
    writers that were killed have left in the folder is deleted.
    """
    target = Path(os.path.realpath(check_path(path, "path")))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Give the name of a file in it.")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        temporary, file = _open_beside(target, 0o666 if mode is None else 0o600)
    except OSError as error:  # which would name a file that nobody knows
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                with suppress(PermissionError):  # some file systems know none; the file is then its owner's alone
                    os.chmod(temporary, mode)
            if CAN_LOCK:
                os.replace(temporary, target)
        if not CAN_LOCK:  # nobody can rename an open file
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sweep(target.parent)


def sweep(folder: Path) -> None:
    """Delete what is left of files whose writers are gone."""
    for path in folder.glob(BEING_WRITTEN.format("*")):
        with suppress(OSError):
            if stat.S_ISREG(path.lstat().st_mode):
                _delete_if_abandoned(path)


def _open_beside(target: Path, mode: int) -> tuple[Path, BinaryIO]:
    """Open a new file beside another, locked as long as it is open."""
    while True:
        path = target.with_name(BEING_WRITTEN.format(secrets.token_hex(8)))
        file: BinaryIO = open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
        if CAN_LOCK:
            with suppress(OSError):  # some file systems know no locks, and then nobody can take it for abandoned
                fcntl.flock(file, fcntl.LOCK_EX)
        if path.exists():  # it was not swept before it was locked
            return path, file
        file.close()


def _delete_if_abandoned(path: Path) -> None:
    if not CAN_LOCK:
        if time() - path.stat().st_mtime > LONGEST_WRITE:
            path.unlink()
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where somebody writes
        path.unlink()
    finally:
        os.close(descriptor)
