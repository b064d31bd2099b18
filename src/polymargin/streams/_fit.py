"""Linear machines on data that is larger than memory: batches are read, visited and forgotten."""

import time
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from polymargin import core
from polymargin._sklearn import validate_parameters
from polymargin.errors import DataError
from polymargin.estimators import LinearSVM
from polymargin.fit import RECORD, Check, Problem, StreamEngine
from polymargin.streams._scratch import DualScratch

__all__ = ["Batches", "fit_stream"]

Batches = Callable[[], Iterable[tuple[Any, Any]]]


def fit_stream(
    model: LinearSVM,
    batches: Batches,
    classes: Any,
    *,
    passes: int = 1,
    certify: bool = True,
    scratch: str | Path | None = None,
    on_batch: Callable[[int, int], None] | None = None,
    keep_stream: bool = True,
) -> LinearSVM:
    """Fit a linear machine to batches of rows, of which one is in memory at a time.

    One pass visits each row once, solves its block exactly and forgets it. Several passes keep
    the dual variables from one to the next in a scratch file; without them each pass would count
    all rows anew, as if C were larger. Memory is that of the weights and of one batch; the
    certificate takes that of the weights once more.

    A new stream starts with the first batch; where that is refused, the model keeps the weights it
    had. After one pass, also an interrupted one, `partial_fit` goes on with it. After several it
    starts anew, as after `fit`: the weights belong to dual variables that are gone with the scratch
    file. An interrupt (Ctrl-C) keeps the rows visited so far, in any pass.

    Parameters
    ----------
    model : LinearSVM
        Its parameters are used, all but `max_iter`, `stopping` and `solver`: a stream is read as
        often as `passes` says, and `tol` is only what `converged_` compares the gap to. Its
        attributes are set.
    batches : callable
        Called for each pass; gives pairs (X, y) in the same order each time. Rows that are sorted
        by class make one pass almost worthless: shuffle them before.
    classes : array-like of shape (k,)
        All labels that occur.
    passes : int, default=1
        How often the batches are read.
    certify : bool, default=True
        Whether several passes are followed by one more that computes both objectives: the primal
        one of the weights, the dual one of the weights rebuilt from the dual variables. A single
        pass keeps no dual variables and can certify nothing.
    scratch : path, default=None
        Folder of the scratch file; that of temporary files where None. The file has no name and
        is gone when the process ends, however it ends.
    on_batch : callable, default=None
        Called with the pass, counted from 0, and the rows it has seen so far. The pass that
        certifies has the number `passes`.
    keep_stream : bool, default=True
        Whether `partial_fit` can go on after one pass, which takes the memory of the weights once
        more, also in a file of the model.

    Returns
    -------
    model : LinearSVM
        Fitted. After several passes with a certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import LinearSVM
    >>> from polymargin.streams import fit_stream
    >>> X, y = load_iris(return_X_y=True)
    >>> def batches():
    ...     for first in range(10):
    ...         yield X[first::10], y[first::10]
    >>> model = fit_stream(LinearSVM(C=0.1), batches, [0, 1, 2], passes=20)
    >>> bool(model.dual_objective_ <= model.primal_objective_)
    True
    """
    if not isinstance(model, LinearSVM):
        raise TypeError(f"only a LinearSVM can be fitted to a stream, not a {type(model).__name__}")
    if not isinstance(passes, Integral) or passes < 1:
        raise ValueError(f"passes has to be a whole number of at least 1, not {passes!r}")
    validate_parameters(model)
    run = _Run(model, batches, classes, on_batch)
    if passes == 1:
        try:
            run.visit_once()
        finally:
            if not keep_stream:
                run.engine.close()
        return model
    with DualScratch(len(run.engine.classes), np.dtype(np.float64), scratch) as kept:
        try:
            run.visit_often(passes, kept)
            if certify:
                run.certify(passes, kept)
        finally:
            run.engine.close()
    return model


class _Run:
    """The passes of one fit."""

    def __init__(
        self,
        model: LinearSVM,
        batches: Batches,
        classes: Any,
        on_batch: Callable[[int, int], None] | None,
    ) -> None:
        self.engine = StreamEngine(model, classes, anew=True, dtypes=(np.float64,))
        self._model = model
        self._batches = batches
        self._on_batch = on_batch
        self._start = time.perf_counter()

    def visit_once(self) -> None:
        """One pass that keeps no dual variables."""
        for batch in self._read(0):
            self.engine.visit(batch)

    def visit_often(self, passes: int, kept: DualScratch) -> None:
        """Each pass goes on from the dual variables of the last one."""
        for number in range(passes):
            for batch in self._read(number):
                duals = kept.read(len(batch))
                self.engine.visit(batch, duals)
                kept.write(duals)
            kept.end_pass()
            self._model.n_iter_ = number + 1

    def certify(self, passes: int, kept: DualScratch) -> None:
        """Both objectives, from one more pass."""
        certificate = self.engine.begin_certificate()
        seen = 0
        for batch in self._read(passes):
            certificate.add(batch.rows, batch.labels, batch.upper, kept.read(len(batch)))
            seen += len(batch)
        kept.end_reading()
        primal, dual, violation = certificate.objectives()
        gap = core.relative_gap(primal, dual)
        model = self._model
        model.primal_objective_, model.dual_objective_, model.dual_gap_ = primal, dual, gap
        model.converged_ = gap <= model.tol
        seconds = time.perf_counter() - self._start
        check = Check(float(passes), seconds, primal, dual, gap, violation, active=seen)
        model.history_ = np.array([check], RECORD)

    def _read(self, number: int) -> Iterator[Problem]:
        """The batches of a pass; `on_batch` hears of each when it has been used."""
        seen = 0
        for X, y in self._batches():
            batch = self.engine.prepare(X, y)
            yield batch
            seen += len(batch)
            if self._on_batch is not None:
                self._on_batch(number, seen)
        if seen == 0:
            raise DataError("there are no rows")
