"""How kernels are compiled: to disk, without the interpreter's lock, and without a reference count.

Kernels allocate nothing, so `_nrt=False` drops the counting of references to their arrays: a third of the time
of an iteration at N = 200.
"""

import gc
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder, PassManager

F = TypeVar("F", bound=Callable[..., object])

# The folders with kernels in them. What lies elsewhere can be edited without compiling anything again.
COMPILED = ("families", "engine/kernels", "engine/search")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code to link into an entry point, where it is optimised and becomes machine code, once."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Say that there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "KernelLibrary":
        """Whom to tell the environment of the code."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Forget the environment: kernels have no use for the interpreter."""


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles a function that has no life of its own. Saves a sixth of the time to compile a fit."""

    def define_pipelines(self) -> list[PassManager]:
        """List the one way to compile a kernel."""
        state = self.state
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class EntryPointCompiler(Compiler):  # type: ignore[misc]
    """Compiles a function and what it calls while no garbage is collected, which would take an eighth of the time."""

    def compile_extra(self, function: Callable[..., object]) -> object:
        """Compile a function."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if was_enabled:
                gc.enable()


def entry_point(function: F) -> F:
    """Compile a function that Python calls, and keep it on disk."""
    compiled: F = njit(cache=True, pipeline_class=EntryPointCompiler, **_OPTIONS)(function)
    return compiled


def kernel(function: F) -> F:
    """Compile a function that other kernels call, in plain IEEE arithmetic. Python cannot call it."""
    compiled: F = njit(no_cpython_wrapper=True, pipeline_class=KernelCompiler, **_OPTIONS)(function)
    return compiled


def reducing_kernel(function: F) -> F:
    """Compile a kernel whose sums may be taken in as many parts as a vector of the CPU has.

    The order is fixed for one kind of CPU, so that a chain has the same bits wherever its threads run.
    """
    compiled: F = njit(
        no_cpython_wrapper=True,
        pipeline_class=KernelCompiler,
        fastmath={"reassoc", "nsz", "contract"},
        **_OPTIONS,
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
    sources = [here / "_jit.py", *(path for part in COMPILED for path in here.glob(f"{part}/**/*.py"))]
    digest = blake2b(digest_size=16)
    for source in sorted(sources):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
