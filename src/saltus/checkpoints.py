"""Checkpoint files: a fit in the middle, in the zip of `saltus.container`."""

import os
from collections.abc import Mapping
from typing import Any

from saltus.atomic import replacing
from saltus.container import FileError, pack, read
from saltus.encoding import Decoder, Encoder
from saltus.engine.design import Design
from saltus.engine.logbook import Checkpoint

FORMAT = "saltus checkpoint"


def write_checkpoint(path: str | os.PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all."""
    encoder = Encoder()
    content = pack(FORMAT, {"checkpoint": encoder.encode(checkpoint)}, encoder)
    with replacing(path) as file:
        file.write(content)


def read_checkpoint(path: str | os.PathLike[str], design: Design, fingerprint: str, n_chains: int) -> Checkpoint:
    """Read a checkpoint of a fit of the same data with the same options. Raises FileError for any other."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no checkpoint {path} to resume from. Leave resume out to start anew.")
    checkpoint: Checkpoint = read(FORMAT, path, _build)
    if checkpoint.fingerprint != fingerprint or len(checkpoint.chains) != n_chains:
        raise FileError(
            f"{path} is a checkpoint of other data or other options. Give fit the same data and parameters, or start "
            f"anew without resume."
        )
    q, n_coordinates = len(design.target.to_metric), {kind.target.to_metric.shape[1] for kind in design.kinds}
    for chain in checkpoint.chains:
        for place in (chain, getattr(chain, "halfway", None)):
            if place is None or place.centers is None or place.relevance is None:
                continue
            fits = place.centers.ndim == 2 and place.centers.shape[1] in n_coordinates
            if not fits or place.relevance.shape != (q,) or len(place.centers) > design.k_max:
                raise FileError(f"{path} is damaged: its centres do not fit the data. Start anew without resume.")
    return checkpoint


def _build(decoder: Decoder, document: Mapping[str, Any]) -> Checkpoint:
    found = decoder.decode(document["checkpoint"])
    if not isinstance(found, Checkpoint):
        raise TypeError(f"it holds no checkpoint but {type(found).__name__}")
    return found
