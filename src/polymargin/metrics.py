"""How good predictions are, where the best classes of each row count and not only the first.

Labels may be of any type, and some of `y_true` may be of classes that no model knows.
"""

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import metrics

from polymargin._sklearn import check_weights
from polymargin._wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["f1_score", "precision_at_m_score", "top_k_accuracy_score"]

_AVERAGES = ("micro", "macro", "weighted")


def top_k_accuracy_score(
    y_true: Any, y_top: Any, *, m: int | None = None, sample_weight: Any = None
) -> float:
    """Share of the rows whose label is among the best classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The labels.
    y_top : array-like of shape (n, m or more)
        The best classes of each row, best first, from `predict_topk`.
    m : int, default=None
        How many of them count; None is all.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    share : float
        From 0 to 1.

    Examples
    --------
    >>> from polymargin.metrics import top_k_accuracy_score
    >>> best = [["ash", "oak"], ["oak", "elm"], ["elm", "ash"]]
    >>> top_k_accuracy_score(["oak", "oak", "fir"], best)
    0.666...
    >>> top_k_accuracy_score(["oak", "oak", "fir"], best, m=1)
    0.333...
    """
    found: NDArray[np.bool_] = np.any(_is_found(y_true, y_top, m), axis=1)
    return float(np.average(found, weights=_weights(sample_weight, found)))


def precision_at_m_score(
    y_true: Any, y_top: Any, *, m: int | None = None, sample_weight: Any = None
) -> float:
    """Share of right ones among the m best classes, also known as P@m.

    A row has one label, so that this is at most 1 / m: `top_k_accuracy_score` divided by m.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The labels.
    y_top : array-like of shape (n, m or more)
        The best classes of each row, best first, from `predict_topk`.
    m : int, default=None
        How many of them count; None is all.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    precision : float
        From 0 to 1 / m.

    Examples
    --------
    >>> from polymargin.metrics import precision_at_m_score
    >>> precision_at_m_score([3, 1], [[3, 2], [2, 1]], m=2)
    0.5
    """
    found = _is_found(y_true, y_top, m).mean(axis=1)
    return float(np.average(found, weights=_weights(sample_weight, found)))


def f1_score(
    y_true: Any, y_pred: Any, *, average: str = "macro", sample_weight: Any = None
) -> float:
    """F1, the harmonic mean of precision and recall, over all labels given or predicted.

    That of scikit-learn, for labels of different types, too: a label that no model knows may be
    text among numbers. The F1 of a label that is never right is 0.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The labels.
    y_pred : array-like of shape (n,)
        Predicted labels.
    average : {"macro", "micro", "weighted"}, default="macro"
        The mean over the labels, the F1 of all rows together (which is the accuracy), or the mean
        over the labels weighted by how often each is given.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    f1 : float
        From 0 to 1.

    Examples
    --------
    >>> from polymargin.metrics import f1_score
    >>> f1_score([1, 2, 2, "fir"], [1, 2, 1, 2], average="micro")
    0.5
    """
    if average not in _AVERAGES:
        raise ValueError(f"average is one of {', '.join(_AVERAGES)}, not {average!r}")
    given, predicted = _labels(y_true, 1, "y_true"), _labels(y_pred, 1, "y_pred")
    _check_lengths(given, predicted, "y_pred")
    numbers: dict[Any, int] = {}
    given, predicted = (
        np.array([numbers.setdefault(label, len(numbers)) for label in labels.tolist()], np.int64)
        for labels in (given, predicted)
    )
    f1 = metrics.f1_score(
        given, predicted, average=average, sample_weight=sample_weight, zero_division=0
    )
    return float(f1)


def _is_found(y_true: Any, y_top: Any, m: int | None) -> "NDArray[np.bool_]":
    """(n, m): which of the best classes of a row is its label."""
    given, best = _labels(y_true, 1, "y_true"), _labels(y_top, 2, "y_top")
    _check_lengths(given, best, "y_top")
    width = best.shape[1]
    if m is not None and (not isinstance(m, Integral) or isinstance(m, bool) or m < 1):
        raise ValueError(f"m has to be a positive integer or None, got {m!r}")
    if m is not None and m > width:
        raise ValueError(
            f"m={m}, but y_top has {counted(width, 'label')} of each row: ask predict_topk for more"
        )
    best = best[:, :m]
    if _kind(given) != _kind(best):
        given, best = given.astype(object), best.astype(object)
    return np.asarray(best == given[:, None], dtype=bool)


def _labels(y: Any, n_dimensions: int, name: str) -> "NDArray[Any]":
    """An array; a list becomes one of objects, for NumPy would turn numbers beside text to text."""
    labels = np.asarray(y) if hasattr(y, "dtype") else np.array(y, dtype=object)
    if labels.ndim != n_dimensions:
        raise ValueError(f"{name} has to have {counted(n_dimensions, 'dimension')}: {labels.shape}")
    if labels.size == 0:
        raise ValueError(f"{name} is empty: {labels.shape}")
    return labels


def _check_lengths(given: "NDArray[Any]", others: "NDArray[Any]", name: str) -> None:
    if len(given) != len(others):
        rows = counted(len(given), "row")
        raise ValueError(f"y_true has {rows}, {name} has {counted(len(others), 'row')}")


def _kind(labels: "NDArray[Any]") -> str:
    """Labels of one kind can be compared as arrays."""
    return "number" if labels.dtype.kind in "biuf" else labels.dtype.kind


def _weights(sample_weight: Any, rows: "NDArray[Any]") -> "NDArray[np.float64]":
    weights: NDArray[np.float64] = check_weights(sample_weight, rows[:, None], dtype=np.float64)
    return weights
