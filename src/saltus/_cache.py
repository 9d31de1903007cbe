"""Where compiled kernels are kept: where numba finds room, otherwise in a folder that lasts as long as the process.

Code is also taken from folders that can only be read, as in an image that somebody else built. What cannot be read is
compiled anew: no fit fails for its cache. `_compile` does without this module where numba is not as expected.
"""

import atexit
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from typing import Any

from numba import config
from numba.core import caching
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache

NOT_KEPT = "Compiled code could not be kept on disk"
REMEDY = "Set NUMBA_CACHE_DIR to a folder that can be written to."


def _locator(name: str) -> Any:
    """Find a locator of numba, which some versions call private."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


GIVEN, BESIDE, OF_USER = (_locator(f"{name}CacheLocator") for name in ("UserProvided", "InTree", "UserWide"))


class OfUserLocator(OF_USER):  # type: ignore[misc, valid-type]
    """The folder of a user who has one: without a home numba would take the one called ~ that lies where we stand."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Find the folder, if it can be written to."""
        return super().from_function(py_func, py_file) if os.path.isabs(OF_USER(py_func, py_file)._cache_path) else None


class TemporaryLocator(GIVEN):  # type: ignore[misc, valid-type]
    """A folder of this process, which is made when there is something to keep and removed at the end."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        self._cache_path = os.path.join(temporary_folder(), self.get_suitable_cache_subpath(py_file))

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        make_temporary_folder()
        os.makedirs(self._cache_path, exist_ok=True)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Take the folder whether or not it can be made."""
        return cls(py_func, py_file)


class KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    """What numba does to keep code, with the temporary folder as a last resort."""

    _locator_classes = (GIVEN, BESIDE, OfUserLocator, *CompileResultCacheImpl._locator_classes[3:], TemporaryLocator)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The code of one entry point on disk."""

    _impl_class = KernelCacheImpl

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load the code for a signature; None where there is none that can be read. What is damaged is deleted."""
        target_context.refresh()
        for file, name in self._find(signature, target_context.codegen()):
            try:
                return self._impl.rebuild(target_context, file._load_data(name))
            except OSError:
                continue
            except Exception:  # whatever unpickling raises
                _delete(file._data_path(name))
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep the code for a signature, or warn."""
        try:
            super().save_overload(signature, compiled)
        except OSError as error:
            _say_once(f"{NOT_KEPT} ({error}), so the next process compiles again. {REMEDY}")

    @property
    def is_temporary(self) -> bool:
        """Whether what it keeps is gone when this process ends."""
        return isinstance(self._impl.locator, TemporaryLocator)

    def shared_folder(self) -> str:
        """Say what NUMBA_CACHE_DIR is for a child that keeps code in the same folder; empty: as numba finds it."""
        if not self.is_temporary:
            return str(config.CACHE_DIR or "")
        make_temporary_folder()
        return temporary_folder()

    def holds(self, signature: Any, codegen: Any) -> bool:
        """Say whether there is code for a signature."""
        return any(True for _ in self._find(signature, codegen))

    def _find(self, signature: Any, codegen: Any) -> Iterator[tuple[Any, str]]:
        """Go through the folders that have code for a signature: each with the name of a file."""
        key = self._index_key(signature, codegen)
        for file in (self._cache_file, *self._only_read):
            try:
                name = file._load_index().get(key)
            except OSError:
                continue
            except Exception:  # whatever unpickling raises, of modules that are gone too
                _delete(file._index_path)
                continue
            if name is not None:
                yield file, name

    @cached_property
    def _only_read(self) -> list[Any]:
        """The other places where numba might have kept the code; none where somebody named a folder to be used."""
        own, of = self._impl.locator, (self._py_func, self._py_func.__code__.co_filename)
        if type(own) is GIVEN:
            return []
        places = [locator(*of).get_cache_path() for locator in ((GIVEN,) if config.CACHE_DIR else ())]
        places += [locator(*of).get_cache_path() for locator in (BESIDE, OF_USER)]
        stamp = own.get_source_stamp()
        return [
            IndexDataCacheFile(place, self._impl.filename_base, stamp)
            for place in places
            if os.path.isabs(place) and place != own.get_cache_path()
        ]


class LateCache:
    """A cache whose folder is found when it is first asked for something: no import asks for a folder."""

    def __init__(self, function: Any) -> None:
        self._function = function

    @cached_property
    def _found(self) -> Any:
        try:
            return KernelCache(self._function)
        except (OSError, RuntimeError) as error:  # the user's own NUMBA_CACHE_LOCATOR_CLASSES found none
            _say_once(f"{NOT_KEPT} ({error}), so the next process compiles again. {REMEDY}")
            return NullCache()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._found, name)


def _delete(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


@cache
def temporary_folder() -> str:
    """Name a folder of this process that nobody can foresee."""
    try:
        parent = tempfile.gettempdir()
    except FileNotFoundError:  # no folder at all can be written to; making one will say so
        parent = os.sep
    return os.path.join(parent, f"saltus-{secrets.token_hex(8)}")


@cache
def make_temporary_folder() -> None:
    """Make the folder, for nobody else to write to, and say so."""
    folder, process = temporary_folder(), os.getpid()
    os.mkdir(folder, 0o700)
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == process else None)
    _say_once(
        f"Compiled code cannot be kept beside saltus nor in a cache folder of yours, so it is kept in {folder} until "
        f"this process ends, and the next process compiles again. {REMEDY}"
    )


@cache
def _say_once(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=2)
