"""When entry points are compiled, and where: beside the fit, in a process of their own, if they will be needed.

A first fit needs two entry points. It calls one of them at once and the other some seconds later, so that the other is
best compiled meanwhile, by a child process that leaves it in numba's cache on disk. Whatever goes wrong with the
child, the entry point is compiled here when it is called.
"""

import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import update_wrapper
from importlib import import_module
from threading import Event, Lock, Thread, current_thread, main_thread
from time import monotonic
from typing import Any

from numba import typeof

from saltus._pending import raise_kept_error

# Makes what keeps the code of a function; None where numba is not as expected, and keeps it as it does by itself.
make_cache: Callable[[Any], Any] | None = None
try:
    from saltus import _cache
except (ImportError, AttributeError):
    pass
else:
    make_cache = _cache.LateCache

try:
    from numba.core.event import Listener, install_listener
except ImportError:  # then only children are heard of
    Listener, install_listener = object, lambda *_: nullcontext()

# Set in a child, which has none of its own.
CHILD = "SALTUS_COMPILES_FOR_ANOTHER"

# A child that takes longer than this is not waited for.
LONGEST_WAIT = 120.0

# The main thread hears of Ctrl-C so often while it waits, where the system does not wake it.
SECONDS_BETWEEN_LOOKS = 0.1

# What a child runs: on the parent's path, which may not be the one it would have.
PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from saltus._compile import compile_for_parent
compile_for_parent()
"""

COMPILING = "Compiling, which takes some seconds. Later fits on this machine start at once."

_listeners: list[Callable[[], object]] = []

# What compiles for the main thread.
_helpers: set[Thread] = set()
_waits: list[bool] = []  # one for each time that the main thread waits
_stops: list[Callable[[], bool]] = []  # asked while it waits: whether it should not, with nothing to show yet

NO_MODEL = "There is no model yet: this fit was still being compiled."

# All there are, in modules that have been imported.
ENTRY_POINTS: list["EntryPoint"] = []


@contextmanager
def when_compiling(tell: Callable[[], object]) -> Iterator[None]:
    """Call `tell` when an entry point begins to be compiled, at most once; not where it is being told already."""
    if _listeners:
        yield
        return
    has_told = Lock()

    def tell_once() -> None:
        if has_told.acquire(blocking=False):
            tell()

    _listeners.append(tell_once)
    try:
        with install_listener("numba:compile", _Listener()):
            yield
    finally:
        _listeners.remove(tell_once)


def main_thread_waits() -> bool:
    """Say whether the main thread waits until something is compiled."""
    return bool(_waits)


def is_compiling() -> bool:
    """Say whether something is being compiled that the main thread waited for, even if it does no longer."""
    return any(helper.is_alive() for helper in _helpers)


@contextmanager
def heeding_stops(should_stop: Callable[[], bool]) -> Iterator[None]:
    """Let the main thread wait for nothing that is compiled once somebody asked to stop, and there is no model yet."""
    _stops.append(should_stop)
    try:
        yield
    finally:
        _stops.remove(should_stop)


def _raise_if_stopped() -> None:
    if current_thread() is main_thread() and any(should_stop() for should_stop in _stops):
        raise KeyboardInterrupt(NO_MODEL)


@contextmanager
def _waiting() -> Iterator[None]:
    is_main = current_thread() is main_thread()
    if is_main:
        _waits.append(True)
    try:
        yield
    finally:
        if is_main:
            _waits.pop()


def beside_main_thread(compile_it: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that compiles run on another thread if the main one calls it, which can then hear Ctrl-C.

    On the main thread Ctrl-C would be heard when LLVM is done, after seconds. A compilation that nobody waits for any
    more runs to its end, and is on disk for the next fit.
    """

    def compile_beside(*arguments: Any) -> Any:
        if current_thread() is not main_thread():
            return compile_it(*arguments)
        found: dict[str, Any] = {}
        is_done = Event()

        def run() -> None:
            try:
                found["made"] = compile_it(*arguments)
            except BaseException as error:
                found["error"] = error
            finally:
                is_done.set()

        helper = Thread(target=run, name="saltus compiles")
        _helpers.difference_update([old for old in _helpers if not old.is_alive()])
        _helpers.add(helper)
        with _waiting():
            helper.start()
            while not is_done.wait(SECONDS_BETWEEN_LOOKS):
                _raise_if_stopped()
        if "error" in found:
            raise found["error"]
        return found["made"]

    return compile_beside


class _Listener(Listener):  # type: ignore[misc]
    """Hears of what numba compiles in this process."""

    def on_start(self, event: Any) -> None:
        """Tell if it is an entry point."""
        if any(event.data["dispatcher"] is entry_point.dispatcher for entry_point in ENTRY_POINTS):
            _tell()

    def on_end(self, event: Any) -> None:
        """Say nothing."""


class EntryPoint:
    """A compiled function that Python calls. Mutable: it knows whether it is there yet, and who is compiling it."""

    def __init__(self, dispatcher: Any) -> None:
        update_wrapper(self, dispatcher.py_func)
        self.dispatcher = dispatcher
        dispatcher.compile = beside_main_thread(dispatcher.compile)
        keep_on_disk(dispatcher)
        self._lock = Lock()
        self._prepared: set[tuple[Any, ...]] = set()
        self._children: list[subprocess.Popen[bytes]] = []
        ENTRY_POINTS.append(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (import_module(self.__module__), self._name())

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, once it is compiled."""
        if self._children:
            self._wait()
        try:
            return self.dispatcher(*arguments)
        finally:
            raise_kept_error()

    def prepare(self, *arguments: Any) -> None:
        """Begin to compile the function for such arguments, if need be: it will be called soon."""
        signature = tuple(typeof(argument) for argument in arguments)
        with self._lock:
            if signature in self._prepared or self.is_cached(signature):
                return
            self._prepared.add(signature)
            try:
                folder = self.dispatcher._cache.shared_folder()
            except OSError:  # there is none, and the code is kept in memory alone
                return
            child = start_child(self.__module__, self._name(), signature, folder)
            if child is not None:
                self._children.append(child)
                _tell()

    def is_cached(self, signature: tuple[Any, ...]) -> bool:
        """Say whether the function has been compiled for such types, here or on disk; True where unknown."""
        if signature in self.dispatcher.overloads:
            return True
        try:
            return bool(self.dispatcher._cache.holds(signature, self.dispatcher.targetctx.codegen()))
        except Exception:  # private parts of numba
            return True

    @property
    def is_kept(self) -> bool:
        """Whether what is compiled is there for the next process."""
        is_temporary = getattr(self.dispatcher._cache, "is_temporary", False)
        return self.dispatcher.stats.cache_path is not None and not is_temporary

    @property
    def folder(self) -> str:
        """Where numba keeps it."""
        return str(self.dispatcher.stats.cache_path)

    def _wait(self) -> None:
        with self._lock, _waiting():
            while self._children:
                until = monotonic() + LONGEST_WAIT
                while self._children[-1].poll() is None and monotonic() < until:
                    _raise_if_stopped()
                    with suppress(subprocess.TimeoutExpired):
                        self._children[-1].wait(SECONDS_BETWEEN_LOOKS)
                self._children.pop()

    def _name(self) -> str:
        """Find the name under which the module has it: several may be made by one function."""
        return next(name for name, value in vars(import_module(self.__module__)).items() if value is self)


def keep_on_disk(dispatcher: Any) -> None:
    """Let numba keep what it compiles."""
    if make_cache is not None:
        dispatcher._cache = make_cache(dispatcher.py_func)
    else:
        with suppress(RuntimeError):  # there is no folder to write to
            dispatcher.enable_caching()


def prepare(function: Callable[..., object], *arguments: Any) -> None:
    """Begin to compile an entry point that will be called soon; with the JIT off there is nothing to do."""
    if isinstance(function, EntryPoint):
        function.prepare(*arguments)


def start_child(module: str, name: str, signature: tuple[Any, ...], folder: str) -> "subprocess.Popen[bytes] | None":
    """Start a process that compiles an entry point into a folder; None where there cannot or should not be one."""
    if not _can_have_child():
        return None
    environment = {**os.environ, CHILD: "1", **({"NUMBA_CACHE_DIR": folder} if folder else {})}
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert child.stdin is not None
        with child.stdin as pipe:
            pipe.write(pickle.dumps(sys.path) + pickle.dumps((module, name, signature)))
    except (OSError, pickle.PicklingError):
        return None
    return child


def _can_have_child() -> bool:
    """Say whether a process more is of use, and would be Python."""
    return (
        CHILD not in os.environ
        and multiprocessing.current_process().name == "MainProcess"
        and "python" in os.path.basename(sys.executable or "").lower()
        and not getattr(sys, "frozen", False)
        and n_processors() > 1
    )


def n_processors() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def compile_for_parent() -> None:
    """Compile what the parent asks for, in a child."""
    module, name, signature = pickle.load(sys.stdin.buffer)
    getattr(import_module(module), name).dispatcher.compile(signature)


def _tell() -> None:
    for listener in tuple(_listeners):
        listener()
