"""How numba is made to compile kernels faster, by parts of it that are private.

`_jit` does without this module, and compiles by plain `njit`, where those parts are not as expected: kernels then take
longer to compile and an iteration takes longer, but everything works.
"""

import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder, PassManager
from numba.core.cpu import CPUTargetOptions
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

# Kernels allocate nothing, so `_nrt=False` drops the counting of references to their arrays: a third of the time of an
# iteration at N = 200.
OPTIONS: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}

# What is overridden or called, and its parameters.
EXPECTED: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (JITCodeLibrary, "__init__", ("self", "codegen", "name")),
    (JITCodeLibrary, "_optimize_final_module", ("self",)),
    (JITCodeLibrary, "_finalize_final_module", ("self",)),
    (JITCodeLibrary, "_finalize_dynamic_globals", ("self",)),
    (JITCodeLibrary, "_ensure_finalized", ("self",)),
    (JITCodeLibrary, "get_pointer_to_function", ("self", "name")),
    (CompilerBase, "define_pipelines", ("self",)),
    (Compiler, "compile_extra", ("self", "func")),
    (DefaultPassBuilder, "define_nopython_pipeline", ("state", "name")),
    (PassManager, "add_pass", ("self", "pss", "description")),
    (BaseFunction, "get_call_type", ("self", "context", "args", "kws")),
    (ConfigStack, "top_or_none", ()),
)

# Passes that look for what kernels do not have: closures, `with`, functions to inline, literals that choose an
# overload, exceptions made at run time, listings of types.
WITHOUT = frozenset(
    {
        "AnnotateTypes",
        "DumpParforDiagnostics",
        "FindLiterallyCalls",
        "InlineClosureLikes",
        "InlineInlinables",
        "InlineOverloads",
        "LiteralPropagationSubPipelinePass",
        "LiteralUnroll",
        "MakeFunctionToJitFunction",
        "NoPythonSupportedFeatureValidation",
        "RewriteDynamicRaises",
        "WithLifting",
    }
)


def check_numba() -> None:
    """Raise AttributeError or TypeError where numba is not as expected."""
    for owner, name, parameters in EXPECTED:
        found = tuple(inspect.signature(getattr(owner, name)).parameters)
        if found != parameters:
            raise TypeError(f"{owner.__name__}.{name} of numba takes {found}, not {parameters}.")
    for option in (*OPTIONS, "no_cpython_wrapper"):
        getattr(CPUTargetOptions, option)


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
    """Compiles a function that has no life of its own.

    Saves a sixth of the time to compile a fit, and a twentieth more by what it does not look for.
    """

    def define_pipelines(self) -> list[PassManager]:
        """List the one way to compile a kernel."""
        state = self.state
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        manager = PassManager("kernel")
        for one, description in DefaultPassBuilder.define_nopython_pipeline(state).passes:
            if one.__name__ not in WITHOUT:
                manager.add_pass(one, description)
        manager.finalize()
        return [manager]


class EntryPointCompiler(Compiler):  # type: ignore[misc]
    """Compiles a function and what it calls while no garbage is collected, which would take an eighth of the time."""

    def compile_extra(self, function: Callable[..., object]) -> object:
        """Compile a function."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            with remembered_types():
                return super().compile_extra(function)
        finally:
            if was_enabled:
                gc.enable()


@contextmanager
def remembered_types() -> Iterator[None]:
    """Let numba remember what a function of its own returns for arguments of some types, as long as this lasts.

    It asks up to a hundred templates each time it meets a + or an index: a tenth of the time to compile a fit. It holds
    its lock meanwhile, so that nobody else compiles.
    """
    find = BaseFunction.get_call_type
    known: dict[Any, Any] = {}

    def remember(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = ConfigStack.top_or_none()
        options = None if flags is None else frozenset((name, str(value)) for name, value in flags._values.items())
        key = (id(self), args, tuple(kws.items()), options)
        if key not in known:
            known[key] = find(self, context, args, kws), self
        return known[key][0]

    BaseFunction.get_call_type = remember  # type: ignore[method-assign]
    try:
        yield
    finally:
        BaseFunction.get_call_type = find  # type: ignore[method-assign]
