"""Checkpoint files: a fit in the middle, in the zip of `saltus.storage.container`."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from saltus.engine.drivers.checkpoints import Checkpoint
from saltus.engine.problem.design import Design
from saltus.storage.atomic import replacing
from saltus.storage.container import FileError, pack, read
from saltus.storage.encoding import Decoder, Encoder
from saltus.storage.user_families import families_in

FORMAT = "saltus checkpoint"


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all."""
    encoder = Encoder()
    content = pack(FORMAT, {"checkpoint": encoder.encode(checkpoint)}, encoder)
    with replacing(path) as file:
        file.write(content)


def read_checkpoint(
    path: str | os.PathLike[str], design: Design, fingerprint: str, n_chains: int, check: Callable[[Checkpoint], None]
) -> Checkpoint:
    """Read a checkpoint of a fit of the same data with the same options. Raises FileError for any other.

    `check` raises ValueError where the fit could not have left it: see `saltus.engine.drivers.plausible`.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no checkpoint {path} to resume from. Leave resume out to start anew.")
    checkpoint: Checkpoint = read(FORMAT, path, _build, families_in(design.mixture))
    if checkpoint.fingerprint != fingerprint or len(checkpoint.chains) != n_chains:
        raise FileError(
            f"{path} is a checkpoint of other data or other options. Give fit the same data and parameters, or start "
            f"anew without resume."
        )
    try:
        check(checkpoint)
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise FileError(f"{path} is damaged: {error}. Start anew without resume.") from error
    return checkpoint


def _build(decoder: Decoder, document: Mapping[str, Any]) -> Checkpoint:
    found = decoder.decode(document["checkpoint"])
    if not isinstance(found, Checkpoint):
        raise TypeError(f"it holds no checkpoint but {type(found).__name__}")
    return found
