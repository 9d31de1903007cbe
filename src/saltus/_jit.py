"""How kernels are compiled: to disk, without the interpreter's lock, and without a reference count.

With NUMBA_DISABLE_JIT=1 they are not, and run as the Python they are written in.
"""

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from numba import config, njit

from saltus._compile import EntryPoint
from saltus._pending import raise_kept_error

F = TypeVar("F", bound=Callable[..., object])
C = TypeVar("C", bound=type)

# The folders with kernels in them. What lies elsewhere can be edited without compiling anything again.
COMPILED = ("families", "engine/kernels", "engine/search")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_OF_KERNELS: dict[str, Any] = {}
_OF_ENTRY_POINTS: dict[str, Any] = {}

# Whether kernels are compiled by plain `njit`, since numba is not as `_pipeline` and `_reference` expect it.
IS_PLAIN = False
try:
    from saltus import _pipeline, _reference

    _pipeline.check_numba()
except (ImportError, AttributeError, TypeError):
    IS_PLAIN = True
else:
    _OPTIONS |= _pipeline.OPTIONS
    _OF_KERNELS = {"no_cpython_wrapper": True, "pipeline_class": _pipeline.KernelCompiler}
    _OF_ENTRY_POINTS = {"pipeline_class": _pipeline.EntryPointCompiler}


def entry_point(function: F) -> F:
    """Compile a function that Python calls when it is first called, and keep it on disk."""
    if config.DISABLE_JIT:
        return _interpreted(function)
    compiled: F = EntryPoint(njit(**_OF_ENTRY_POINTS, **_OPTIONS)(function))  # type: ignore[assignment]
    return compiled


def _interpreted(function: F) -> F:
    """Do what an `EntryPoint` does about errors of Python code that it called."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        finally:
            raise_kept_error()

    return call  # type: ignore[return-value]


def kernel(function: F) -> F:
    """Compile a function that other kernels call, in plain IEEE arithmetic. Python cannot call it."""
    compiled: F = njit(**_OF_KERNELS, **_OPTIONS)(function)
    return compiled


def reducing_kernel(function: F) -> F:
    """Compile a kernel whose sums may be taken in as many parts as a vector of the CPU has.

    The order is fixed for one kind of CPU, so that a chain has the same bits wherever its threads run.
    """
    compiled: F = njit(fastmath={"reassoc", "nsz", "contract"}, **_OF_KERNELS, **_OPTIONS)(function)
    return compiled


def glue(function: F) -> F:
    """Compile a short kernel, which LLVM writes out in its callers where that pays.

    Handing it to its callers before types are known, as numba does with `inline="always"`, took a fifth longer.
    """
    return kernel(function)


def by_reference(named_tuple: C) -> C:
    """Let kernels take a class of named tuples by reference: see `_reference`."""
    return named_tuple if IS_PLAIN else _reference.by_reference(named_tuple)


def source_digest() -> str:
    """Hash the sources of every kernel.

    numba's disk cache looks only at the file of the function it loads. An entry point that closes over this
    digest is compiled again when any kernel it calls has changed, as happens after an upgrade.
    """
    here = Path(__file__).parent
    sources = [here / name for name in ("_jit.py", "_pipeline.py", "_reference.py", "_tiles.py", "_vectors.py")]
    sources += [path for part in COMPILED for path in here.glob(f"{part}/**/*.py")]
    digest = blake2b(digest_size=16)
    for source in sorted(sources):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
