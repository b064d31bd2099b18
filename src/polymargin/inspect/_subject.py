"""The model that is looked at, and its data as the model reads them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from polymargin._machines import find_machine
from polymargin._wording import counted
from polymargin.estimators import BaseSVM, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import MachineInfo


@dataclass(frozen=True)
class Subject:
    """A fitted estimator, alone or at the end of a pipeline."""

    svm: Any  # LinearSVM or KernelSVM
    steps: Pipeline | None  # what comes before it

    @property
    def machine(self) -> "MachineInfo":
        return find_machine(self.svm.machine)

    @property
    def classes(self) -> "NDArray[Any]":
        classes: NDArray[Any] = self.svm.classes_
        return classes

    @property
    def is_linear(self) -> bool:
        return hasattr(self.svm, "coef_")

    @property
    def is_precomputed(self) -> bool:
        return getattr(self.svm, "kernel", None) == "precomputed"

    @property
    def has_duals(self) -> bool:
        return hasattr(self.svm, "duals_")

    def rows(self, X: Any) -> Any:
        """`X` as the estimator takes it; what has no shape becomes an array."""
        if self.steps is not None:
            return self.steps.transform(X)
        return X if hasattr(X, "shape") else np.asarray(X)


def find_subject(model: Any) -> Subject:
    """The estimator in `model`; TypeError where there is none."""
    if isinstance(model, Pipeline):
        svm, steps = model.steps[-1][1], model[:-1] if len(model.steps) > 1 else None
    else:
        svm, steps = model, None
    if not isinstance(svm, BaseSVM):
        raise TypeError(
            "polymargin.inspect needs a fitted LinearSVM or KernelSVM, or a Pipeline that ends in "
            f"one; got {type(svm).__name__}"
        )
    check_is_fitted(svm, "classes_")
    check_whole(svm)
    return Subject(svm, steps)


def label_indices(classes: "NDArray[Any]", y: Any) -> "NDArray[np.int64]":
    """Position of each label in the sorted `classes`, -1 where it is not among them."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y has to have one dimension, not {y.ndim}")
    if len(y) == 0:
        return np.zeros(0, np.int64)
    labels, inverse = np.unique(y, return_inverse=True)
    position = {label: c for c, label in enumerate(classes.tolist())}
    found = np.array([position.get(label, -1) for label in labels.tolist()], np.int64)
    indices: NDArray[np.int64] = found[inverse]
    return indices


@dataclass(frozen=True)
class Scored:
    """What the scores say of each row; classes are positions in `classes`."""

    own: "NDArray[np.int64]"  # -1: a label that the model does not know
    predicted: "NDArray[np.int64]"
    rival: "NDArray[np.int64]"  # of the largest score but for the own class
    margin: "NDArray[np.float64]"  # f_y - f_rival; NaN for a label that is not known

    @property
    def error(self) -> "NDArray[np.bool_]":
        wrong: NDArray[np.bool_] = self.predicted != self.own
        return wrong


def score_rows(
    subject: Subject,
    rows: Any,
    y: Any,
    *watches: "Callable[[slice, NDArray[Any]], None]",
) -> Scored:
    """Predictions and margins, from blocks of scores, which all `watches` may look at."""
    own = label_indices(subject.classes, y)
    n = rows.shape[0]
    if len(own) != n:
        raise ValueError(f"X has {counted(n, 'row')}, y has {counted(len(own), 'label')}")
    predicted, rival = np.empty(n, np.int64), np.empty(n, np.int64)
    margin = np.full(n, np.nan)
    for part, scores in blocks_of_scores(subject, rows):
        for watch in watches:
            watch(part, scores)
        predicted[part] = scores.argmax(axis=1)
        known = np.flatnonzero(own[part] >= 0)
        labels = own[part][known]
        own_scores = scores[known, labels].astype(np.float64)
        scores[known, labels] = -np.inf
        rival[part] = scores.argmax(axis=1)
        margin[part.start + known] = own_scores - scores[known, rival[part][known]]
    return Scored(own, predicted, rival, margin)


def blocks_of_scores(subject: Subject, rows: Any) -> "Iterator[tuple[slice, NDArray[Any]]]":
    """Consecutive rows and their (rows, k) scores, which the reader may overwrite."""
    blocks: Iterator[tuple[slice, NDArray[Any]]] = subject.svm._score_blocks(rows)
    return blocks


def take_row(rows: Any, i: int) -> "NDArray[Any]":
    """Row i of an array, a frame or sparse rows as a dense vector."""
    if hasattr(rows, "tocsr"):
        return np.asarray(rows.tocsr()[[i]].toarray()).ravel()
    return np.asarray(rows.iloc[i] if hasattr(rows, "iloc") else rows[i]).ravel()


def as_texts(X: Any) -> list[str] | None:
    """The rows as a list where they are strings, else None."""
    one_dimensional = isinstance(X, Sequence) or getattr(X, "ndim", 0) == 1
    if not one_dimensional or len(X) == 0:
        return None
    texts = list(X)
    return texts if isinstance(texts[0], str) else None


def is_columns(X: Any) -> bool:
    """Whether the rows are named columns as the readers of files make them."""
    return isinstance(getattr(X, "names", None), tuple) and isinstance(
        getattr(X, "values", None), tuple
    )
