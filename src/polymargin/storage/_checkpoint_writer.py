"""Dual variables written to a file while a fit runs, so that another process can go on from it."""

import math
import os
import time
import warnings
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymargin.storage._arrays import put_labels
from polymargin.storage._fits import write_fit
from polymargin.storage._parameters import encode_parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.fit import DualState, Problem


@dataclass(frozen=True)
class Checkpoint:
    """Where, and how often, a fit writes what it has reached.

    The file is complete or absent at any moment. When the fit ends, whether it has converged, met
    `max_iter` or was interrupted, it is written once more and stays.

    Parameters
    ----------
    path : path-like
        The file; what is there is replaced.
    every : float, default=120.0
        Seconds between two of them; 0 writes one after each check of the gap.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import Checkpoint, LinearSVM, resume
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Checkpoint(os.path.join(folder, "fit.ckpt"), every=10.0)
    ...     model = LinearSVM(checkpoint=kept, random_state=0).fit(X, y)
    ...     again = resume(kept, X, y)
    >>> again.converged_
    True
    """

    path: str | os.PathLike[str]
    every: float = 120.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise ValueError(f"Checkpoint: path must be a path, got {self.path!r}")
        is_number = isinstance(self.every, Real) and not isinstance(self.every, bool)
        if not (is_number and 0 <= self.every < math.inf):
            raise ValueError(
                f"Checkpoint: every must be a number of seconds, 0 or more, got {self.every!r}"
            )


def as_checkpoint(given: str | os.PathLike[str] | Checkpoint) -> Checkpoint:
    """The options that a path alone stands for."""
    return given if isinstance(given, Checkpoint) else Checkpoint(given)


class CheckpointWriter:
    """Writes what the fit of an estimator has reached; a disk that is full does not end the fit."""

    def __init__(
        self, options: Checkpoint, estimator: Any, problem: "Problem", digest: str, spent: float
    ) -> None:
        """What cannot be written is refused here.

        `digest` is that of the rows, `spent` are the seconds of fits before.
        """
        self._path = Path(options.path)
        if self._path.is_dir() or not self._path.absolute().parent.is_dir():
            raise ValueError(f"checkpoint: {self._path} is no place for a file")
        self._every = options.every
        self._estimator = type(estimator).__name__
        self._parameters = estimator.get_params(deep=False)
        encode_parameters(self._estimator, self._parameters)
        put_labels(problem.classes)
        self._data_hash = digest
        self._spent = spent
        self._start = self._written = time.monotonic()

    def is_due(self) -> bool:
        """Whether the last one is old enough; asked after each check."""
        return time.monotonic() - self._written >= self._every

    def keep(self, state: "DualState", history: "NDArray[Any]") -> None:
        """Write dual variables and all checks so far."""
        now = time.monotonic()
        try:
            write_fit(
                self._path,
                estimator=self._estimator,
                parameters=self._parameters,
                state=state,
                seconds=self._spent + now - self._start,
                epochs=float(history["epoch"][-1]) if len(history) else 0.0,
                history=history,
                data_hash=self._data_hash,
            )
        except OSError as error:
            warnings.warn(
                f"no checkpoint was written to {self._path}: {error.strerror or error}",
                RuntimeWarning,
                stacklevel=2,
            )
        self._written = time.monotonic()
