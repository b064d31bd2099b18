"""Linear machines on data that is larger than memory: batches are read, visited and forgotten."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import unique_labels

from polymargin._fit import make_options
from polymargin._linear import LinearSVM, labels_among
from polymargin._machines import find_machine
from polymargin._progress import RECORD, Check
from polymargin._scratch import DualScratch
from polymargin._simd import core
from polymargin._validation import (
    as_rows,
    check_bounds,
    check_features,
    check_finite_norms,
    check_X,
)
from polymargin.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin._core import LinearStream, Rows

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
) -> LinearSVM:
    """Fit a linear machine to batches of rows, of which one is in memory at a time.

    One pass visits each row once, solves its block exactly and forgets it. Several passes keep
    the dual variables from one to the next in a scratch file; without them each pass would count
    all rows anew, as if C were larger. Memory is that of the weights and of one batch.

    Parameters
    ----------
    model : LinearSVM
        Its parameters are used, all but `tol`, `max_iter`, `stopping` and `solver`: a stream is
        read as often as `passes` says. Its attributes are set.
    batches : callable
        Called for each pass; gives pairs (X, y) in the same order each time. Rows that are sorted
        by class make one pass almost worthless: shuffle them before.
    classes : array-like of shape (k,)
        All labels that occur.
    passes : int, default=1
        How often the batches are read.
    certify : bool, default=True
        Whether several passes are followed by one more that computes both objectives. A single
        pass keeps no dual variables and can certify nothing.
    scratch : path, default=None
        Folder of the scratch file; that of temporary files where None. The file has no name and
        is gone when the process ends, however it ends.
    on_batch : callable, default=None
        Called with the pass, counted from 0, and the rows it has seen so far. The pass that
        certifies has the number `passes`.

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
    if passes < 1:
        raise ValueError(f"passes={passes}: at least one is needed")
    model._validate_params()
    if model.class_weight == "balanced":
        raise ValueError(
            'class_weight="balanced" needs all labels at once; for a stream pass the weights as '
            "a dict"
        )
    known = unique_labels(classes)
    if len(known) < 2:
        raise ValueError(f"The number of classes has to be at least two; got {len(known)}.")
    run = _Run(model, known, on_batch or _ignore)
    if passes == 1:
        run.visit_once(batches)
        return model
    with DualScratch(len(known), np.dtype(np.float64), scratch) as kept:
        run.visit_often(batches, passes, kept, certify)
    return model


def _ignore(number: int, seen: int) -> None:
    pass


class _Run:
    """The passes of one fit."""

    def __init__(
        self, model: LinearSVM, classes: "NDArray[Any]", on_batch: Callable[[int, int], None]
    ) -> None:
        self._model = model
        self._classes = classes
        self._on_batch = on_batch
        self._stream: LinearStream | None = None
        self._start = time.perf_counter()

    def visit_once(self, batches: Batches) -> None:
        try:
            seen = 0
            for X, y in batches():
                rows, labels, upper = self._prepare(X, y)
                self._opened(rows).visit(rows, labels, upper)
                seen += len(labels)
                self._on_batch(0, seen)
        finally:
            self._store()
        if self._stream is None:
            raise DataError("there are no rows")
        self._model._stream = self._stream

    def visit_often(self, batches: Batches, passes: int, kept: DualScratch, certify: bool) -> None:
        try:
            for number in range(passes):
                seen = 0
                for X, y in batches():
                    rows, labels, upper = self._prepare(X, y)
                    duals = kept.read(len(labels))
                    self._opened(rows).visit(rows, labels, upper, duals)
                    kept.write(duals)
                    seen += len(labels)
                    self._on_batch(number, seen)
                if seen == 0:
                    raise DataError("there are no rows")
                kept.end_pass()
                self._model.n_iter_ = number + 1
        finally:
            self._store()
        if certify:
            self._certify(batches, passes, kept)

    def _certify(self, batches: Batches, passes: int, kept: DualScratch) -> None:
        """P and D at the weights as they are, from sums over all rows."""
        assert self._stream is not None
        half = 0.5 * self._stream.squared_norm
        primal, dual, violation = half, -half, 0.0
        seen = 0
        for X, y in batches():
            rows, labels, upper = self._prepare(X, y)
            loss, margins, worst = self._stream.check(rows, labels, upper, kept.read(len(labels)))
            primal, dual, violation = primal + loss, dual + margins, max(violation, worst)
            seen += len(labels)
            self._on_batch(passes, seen)
        kept.rewind()
        model = self._model
        model.primal_objective_, model.dual_objective_ = primal, dual
        model.dual_gap_ = max(0.0, primal - dual) / primal if primal > 0 else 0.0
        model.converged_ = model.dual_gap_ <= model.tol
        check = Check(
            epoch=float(passes),
            seconds=time.perf_counter() - self._start,
            primal=primal,
            dual=dual,
            gap=model.dual_gap_,
            violation=violation,
            active=seen,
        )
        model.history_ = np.array([check], RECORD)

    def _prepare(self, X: Any, y: Any) -> "tuple[Rows, NDArray[np.int32], NDArray[np.float64]]":
        """The rows of a batch, positions of their labels, and their bounds."""
        X, y = check_X(self._model, X, y, reset=self._stream is None, dtype=np.float64)
        labels = labels_among(self._classes, y)
        rows = as_rows(X)
        check_finite_norms(rows, X)
        check_features(rows, X)
        upper = self._model._upper(X, y, None, self._classes)
        if not np.all(upper > 0):
            raise ValueError("every class of a stream needs a positive weight")
        check_bounds(upper, rows.dtype)
        return rows, labels, upper

    def _opened(self, rows: "Rows") -> "LinearStream":
        if self._stream is None:
            machine = find_machine(self._model.machine)
            self._stream = core.LinearStream(
                rows.n_features,
                len(self._classes),
                machine.name,
                make_options(self._model, machine),
                rows.dtype,
            )
            self._model._forget_fit()
            self._model.classes_ = self._classes
        return self._stream

    def _store(self) -> None:
        """Set the attributes to what was reached, also after an interrupt."""
        if self._stream is None:
            return
        model = self._model
        model.coef_, model.intercept_ = self._stream.coef, self._stream.intercept
        model.n_samples_seen_ = self._stream.n_seen
        if model.weights == "sparse":
            model.sparsify()
