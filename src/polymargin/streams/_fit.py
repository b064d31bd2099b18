"""Linear machines on data that is larger than memory: batches are read, visited and forgotten."""

import time
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from polymargin import core
from polymargin._attempt import Attempt, unchanged_on_failure
from polymargin._sklearn import validate_parameters
from polymargin.errors import DataError
from polymargin.estimators import LinearSVM
from polymargin.fit import RECORD, Check, Problem, StreamEngine, draw_seed
from polymargin.streams._order import OrderMeter
from polymargin.streams._scratch import DualScratch
from polymargin.streams._shuffle import ShuffleBuffer

__all__ = ["SHUFFLE_SIZE", "Batches", "fit_stream"]

SHUFFLE_SIZE = 64.0  # MiB
_CALLER = 4  # of fit_stream, as _Run._read counts stack levels
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
    shuffle_size: float = SHUFFLE_SIZE,
) -> LinearSVM:
    """Fit a linear machine to batches of rows, of which few are in memory at a time.

    One pass visits each row once, solves its block exactly and forgets it. Several passes keep
    the dual variables from one to the next in a scratch file; without them each pass would count
    all rows anew, as if C were larger. Memory is that of the weights, of one batch and of a buffer
    in which rows are shuffled; the certificate takes that of the weights once more. Sparse weights,
    chosen as for `LinearSVM.partial_fit`, take memory for those that are not zero.

    A new stream starts with the first batch. Where that or a later one is refused, the model is
    left as it was before. After one pass, also an interrupted one, `partial_fit` goes on with it.
    After several it starts anew, as after `fit`: the weights belong to dual variables that are gone
    with the scratch file. An interrupt (Ctrl-C) keeps the rows visited so far, in any pass; before
    the first is visited, while the buffer fills, it leaves the model as it was.

    Parameters
    ----------
    model : LinearSVM
        Its parameters are used, all but `max_iter`, `stopping` and `solver`: a stream is read as
        often as `passes` says, and `tol` is only what `converged_` compares the gap to. Its
        attributes are set.
    batches : callable
        Called for each pass; gives pairs (X, y) in the same order each time. Rows that are sorted
        by class, over more than the buffer holds, make one pass almost worthless: shuffle them
        before. A `SortedStreamWarning` tells of rows in runs: after the buffer a label follows
        itself more often than its frequency predicts, by more than a tenth of what it could.
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
    shuffle_size : float, default=64
        Memory in MiB of the buffer in which rows are shuffled before they are visited. When it is
        full, about a sixteenth of its rows are drawn at random and visited. `random_state` decides
        on the order, which is the same in each pass. 0 visits rows in the order of the batches.

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
    if not isinstance(shuffle_size, Real) or not shuffle_size >= 0:
        raise ValueError(f"shuffle_size has to be a number of at least 0, not {shuffle_size!r}")
    validate_parameters(model)
    with unchanged_on_failure(model) as attempt:
        run = _Run(model, batches, classes, on_batch, shuffle_size, attempt)
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
        shuffle_size: float,
        attempt: Attempt,
    ) -> None:
        self._attempt = attempt
        self._buffer = ShuffleBuffer(shuffle_size * 2**20, draw_seed(model.random_state))
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
        """The batches of a pass, shuffled; `on_batch` hears of each when it has been used."""
        seen = 0
        order = OrderMeter(len(self.engine.classes)) if number == 0 else None
        for batch in self._buffer.mixed(self._read_in_order()):
            if order is not None:
                order.add(batch.labels, _CALLER)
            self._attempt.reached()
            yield batch
            seen += len(batch)
            if self._on_batch is not None:
                self._on_batch(number, seen)
        if seen == 0:
            raise DataError("there are no rows")
        if order is not None:
            order.look(_CALLER)

    def _read_in_order(self) -> Iterator[Problem]:
        for X, y in self._batches():
            batch = self.engine.prepare(X, y)
            self.engine.begin(batch)
            yield batch
