"""Checkpoint files: a fit in the middle, in the zip of `saltus.storage.container`."""

import os
from collections.abc import Mapping
from typing import Any

from saltus.engine.drivers.checkpoints import Checkpoint, SavedChain, SavedRecord, SavedSampler
from saltus.engine.problem.design import Design
from saltus.families import FittedMixture
from saltus.families.terms import terms_as_value
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


def read_checkpoint(path: str | os.PathLike[str], design: Design, fingerprint: str, n_chains: int) -> Checkpoint:
    """Read a checkpoint of a fit of the same data with the same options. Raises FileError for any other."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no checkpoint {path} to resume from. Leave resume out to start anew.")
    checkpoint: Checkpoint = read(FORMAT, path, _build, families_in(design.mixture))
    if checkpoint.fingerprint != fingerprint or len(checkpoint.chains) != n_chains:
        raise FileError(
            f"{path} is a checkpoint of other data or other options. Give fit the same data and parameters, or start "
            f"anew without resume."
        )
    if not all(_fits(chain, design) for chain in checkpoint.chains):
        raise FileError(f"{path} is damaged: its terms do not fit the data. Start anew without resume.")
    return checkpoint


def _fits(chain: SavedChain | SavedSampler | None, design: Design) -> bool:
    """Say whether a chain could have come from a design: its terms from the variant that it names."""
    variant = getattr(chain, "variant", 0)
    if not 0 <= variant < len(design.variants):
        return False
    mixture, k_max = design.variants[variant].mixture, design.variants[variant].k_max
    for saved in (chain, getattr(chain, "halfway", None), *getattr(chain, "hotter", ())):
        if saved is None or saved.terms is None:
            continue
        if len(saved.terms) > k_max or not mixture.accepts(saved.terms):
            return False
        record = getattr(saved, "record", None)
        if record is not None and not _is_record_of(record, mixture, k_max):
            return False
    return True


def _is_record_of(record: SavedRecord, mixture: FittedMixture, k_max: int) -> bool:
    shapes = (record.best_choices.shape, record.best_parameters.shape, record.best_by_k.shape)
    if shapes != ((k_max, mixture.n_choices), (k_max, mixture.n_parameters), (k_max + 1,)):
        return False
    return mixture.accepts(terms_as_value(record.restore().best))


def _build(decoder: Decoder, document: Mapping[str, Any]) -> Checkpoint:
    found = decoder.decode(document["checkpoint"])
    if not isinstance(found, Checkpoint):
        raise TypeError(f"it holds no checkpoint but {type(found).__name__}")
    return found
