"""scikit-learn's own callbacks, where that version has them (1.9 and later)."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from saltus.engine.drivers.events import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing, where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Call a method, where scikit-learn has no callbacks: with as many frames between, for warnings."""

        @wraps(method)
        def plain(*arguments: Any, **options: Any) -> Any:
            return method(*arguments, **options)

        return plain


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]

N_TASKS = 100


class FitTasks:
    """Tells scikit-learn's callbacks of a fit as a sequence of tasks.

    There are a hundred of them where the length of the fit is known, and one for each report where it is not. A
    callback that returns something true at the end of a task stops the fit.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, n_iter: int | None) -> None:
        self._context: Any = None
        if not getattr(estimator, "_skl_callbacks", ()):
            return
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._n_iter = n_iter
        self._done: list[int] = []
        self._n_told = 0
        self._context = estimator._init_callback_context(max_subtasks=None if n_iter is None else N_TASKS)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def __call__(self, progress: Progress) -> bool:
        """Begin and end the tasks that are done. Returns whether to stop."""
        if self._context is None:
            return False
        self._done[progress.chain] = progress.iteration
        if self._n_iter is None:
            return self._tell(self._n_told + 1)
        return self._tell(N_TASKS * sum(self._done) // (self._n_iter * len(self._done)))

    def expect(self, n_chains: int) -> None:
        """Say how many chains there will be."""
        self._done = [0] * n_chains

    def close(self) -> None:
        """End the fit, with the tasks that are left."""
        if self._context is not None:
            if self._n_iter is not None:
                self._tell(N_TASKS)
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._data, reconstruction_attributes={})

    def _tell(self, n_due: int) -> bool:
        stop = False
        while self._n_told < n_due:
            self._n_told += 1
            task = self._context.subcontext(task_name="iterations")
            task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            stop = bool(task.call_on_fit_task_end(estimator=self._estimator, **self._data)) or stop
        return stop
