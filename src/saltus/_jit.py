"""How kernels are compiled: to disk, without the interpreter's lock, and without a reference count.

Kernels allocate nothing, so `_nrt=False` drops the counting of references to their arrays: a third of the time
of an iteration at N = 200.
"""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., object])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def entry_point(function: F) -> F:
    """Compile a function that Python calls, and keep it on disk."""
    compiled: F = njit(cache=True, **_OPTIONS)(function)
    return compiled


def kernel(function: F) -> F:
    """Compile a function that other kernels call, in plain IEEE arithmetic. Python cannot call it."""
    compiled: F = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    return compiled


def reducing_kernel(function: F) -> F:
    """Compile a kernel whose sums may be taken in as many parts as a vector of the CPU has.

    The order is fixed for one kind of CPU, so that a chain has the same bits wherever its threads run.
    """
    compiled: F = njit(
        no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"reassoc", "nsz", "contract"}, **_OPTIONS
    )(function)
    return compiled


def glue(function: F) -> F:
    """Compile `function` into its callers: for short ones, which would cost more to compile than to write out."""
    compiled: F = njit(inline="always", **_OPTIONS)(function)
    return compiled


def source_digest() -> str:
    """Hash the sources of every kernel.

    numba's disk cache looks only at the file of the function it loads. An entry point that closes over this
    digest is compiled again when any kernel it calls has changed, as happens after an upgrade.
    """
    here = Path(__file__).parent
    sources = sorted([*here.glob("_jit.py"), *here.glob("engine/*.py"), *here.glob("bases/*.py")])
    digest = blake2b(digest_size=16)
    for source in sources:
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
