"""Errors of Python code that a kernel calls: kept until the kernel returns, as nothing can be raised through it."""

from threading import local

_kept = local()


def keep_error(error: BaseException) -> None:
    """Keep an error of this thread, unless an earlier one is kept."""
    if not has_error():
        _kept.error = error


def has_error() -> bool:
    """Say whether an error of this thread is kept."""
    return getattr(_kept, "error", None) is not None


def raise_kept_error() -> None:
    """Raise the error that is kept, if there is one, and forget it. Called whenever a kernel returns to Python."""
    error: BaseException | None = getattr(_kept, "error", None)
    if error is not None:
        _kept.error = None
        raise error
