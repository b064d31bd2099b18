"""The problem of a fit: rows of positive weight, numbered classes, bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from polymargin.fit._validation import (
    as_rows,
    check_bounds,
    check_features,
    check_finite_norms,
    check_square,
    check_symmetric,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import Rows


@dataclass(frozen=True)
class Problem:
    """The rows of positive weight, and where they were in what the user passed."""

    X: Any
    rows: "Rows"
    labels: "NDArray[np.int32]"
    upper: "NDArray[np.float64]"  # C_i; all of them infinite, or none
    classes: "NDArray[Any]"
    kept: "NDArray[np.int64] | None"  # None: all rows
    n_given: int

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_hard_margin(self) -> bool:
        """Whether C is infinite."""
        return bool(np.isinf(self.upper[:1]).any())

    def part(self, rows: "NDArray[np.int64]", X: Any = None) -> "Problem":
        """Some of the rows, in this order, or what stands for them in `X`; the classes stay.

        Where they were in what the user passed is forgotten.
        """
        X = self.X[rows] if X is None else X
        return replace(
            self,
            X=X,
            rows=as_rows(X),
            labels=self.labels[rows],
            upper=self.upper[rows],
            kept=None,
            n_given=len(rows),
        )


def join_problems(parts: Sequence[Problem]) -> Problem:
    """The rows of all of them, whose classes are the same, one after the other."""
    if len(parts) == 1:
        return parts[0]
    matrices = [part.X for part in parts]
    if any(sparse.issparse(X) for X in matrices):
        X = sparse.vstack([sparse.csr_array(X) for X in matrices], format="csr")
    else:
        X = np.concatenate(matrices)
    return replace(
        parts[0],
        X=X,
        rows=as_rows(X),
        labels=np.concatenate([part.labels for part in parts]),
        upper=np.concatenate([part.upper for part in parts]),
        kept=None,
        n_given=X.shape[0],
    )


def make_problem(
    X: Any,
    y: "NDArray[Any]",
    upper: "NDArray[np.float64]",
    *,
    classes: "NDArray[Any] | None" = None,
    pairwise: bool = False,
) -> Problem:
    """Drop the rows of weight zero, then number the classes that are left.

    A batch of a stream knows all its `classes`, and may have no row left. Where `X` is `pairwise`,
    a matrix of kernel values, its columns are rows as well.
    """
    n_given = X.shape[0]
    labels = None if classes is None else _numbers_among(classes, y)
    rows = as_rows(X)
    check_finite_norms(rows, X)
    if pairwise:
        check_square(X)
    kept: NDArray[np.int64] | None = None
    if not np.all(upper > 0):
        kept = np.flatnonzero(upper > 0)
        X = X[kept][:, kept] if pairwise else X[kept]
        rows, y, upper = as_rows(X), y[kept], upper[kept]
        labels = None if labels is None else labels[kept]
    if classes is None or labels is None:
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            among = "" if kept is None else " among the rows of positive weight"
            raise ValueError(
                f"The number of classes has to be at least two; got {len(classes)} class(es)"
                f"{among}."
            )
    if pairwise:
        check_symmetric(X)
    elif len(labels) > 0:
        check_features(rows, X, kept)
    if len(labels) > 0:
        check_bounds(upper, rows.dtype)
    return Problem(X, rows, labels.astype(np.int32), upper, classes, kept, n_given)


def _numbers_among(classes: "NDArray[Any]", y: "NDArray[Any]") -> "NDArray[np.intp]":
    """The labels as numbers of the classes; others are refused."""
    given = y.tolist() if y.dtype.kind in "OU" else [None]
    if set(map(type, given)) <= {str}:
        # Looked up in less time than strings are put in order.
        numbers = {label: c for c, label in enumerate(classes.tolist())}
        labels = np.array([numbers.get(label, -1) for label in given], dtype=np.intp)
        if np.all(labels >= 0):
            return labels
    _check_among(classes, y)
    return np.searchsorted(classes, y)


def _check_among(classes: "NDArray[Any]", y: "NDArray[Any]") -> None:
    """Refuse labels that are not among the classes."""
    # Not check_classification_targets, which warns of many classes: they have been announced.
    if (kind := type_of_target(y)) not in ("binary", "multiclass"):
        raise ValueError(f"Unknown label type: {kind}")
    foreign = np.setdiff1d(y, classes)
    if len(foreign):
        raise ValueError(f"y contains labels that are not in classes: {foreign.tolist()}")
