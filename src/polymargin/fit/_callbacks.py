"""The callbacks of scikit-learn (1.9 or later); older versions have none."""

from typing import Any

__all__ = ["CallbackSupportMixin", "FitTask"]

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn knows no callbacks: nothing can be set."""


class FitTask:
    """The task "fit" of an estimator, of which every check of the gap is a subtask.

    Does nothing where the estimator has no callbacks.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator = estimator
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._context = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    @property
    def is_watched(self) -> bool:
        return self._context is not None and bool(getattr(self._estimator, "_skl_callbacks", []))

    def check_done(self) -> bool:
        """Tell the callbacks that a check was made; whether one of them wants to stop."""
        if self._context is None:
            return False
        task = self._context.subcontext(task_name="check")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **self._data))

    def end(self) -> None:
        """Tell the callbacks that the estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes={}, **self._data
            )
