"""How kernels are compiled: to disk, without the interpreter's lock, in plain IEEE arithmetic."""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` with numba.

    No fast-math: sums keep the order in which they are written, so that a chain is the same on every CPU.
    """
    compiled: F = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return compiled


def glue(function: F) -> F:
    compiled: F = njit(inline="always", nogil=True, error_model="numpy", _nrt=False)(function)
    return compiled


def source_digest() -> str:
    """Hash the sources of every kernel.

    numba's disk cache looks only at the file of the function it loads. An entry point that closes over this
    digest is compiled again when any kernel it calls has changed, as happens after an upgrade.
    """
    here = Path(__file__).parent
    sources = sorted([*here.glob("engine/*.py"), *here.glob("bases/*.py")])
    digest = blake2b(digest_size=16)
    for source in sources:
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
