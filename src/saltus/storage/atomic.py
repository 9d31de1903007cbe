"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends well, and vanishes when it does not.

    It lies in the same folder until then, so that taking the place is one step of the file system, and its content is
    on the disk before that step. A link is followed: what it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Give the name of a file in it.")
    temporary = target.with_name(f".saltus-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
