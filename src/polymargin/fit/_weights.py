"""Which store holds the weights of a linear machine during the fit."""

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.core import MachineInfo
    from polymargin.fit._problem import Problem

DENSE_UP_TO = 256 * 2**20  # bytes
_LISTED = 40.0  # classes of an example with positive dual variables
_FULL_FROM = 0.15  # part of the classes in which a feature counts, for a row of all
_ENTRY = 5  # bytes of a class in a list, beside its weight; lists have some room to grow


def choose_weights(
    wanted: str, problem: "Problem", machine: "MachineInfo", fit_intercept: bool
) -> str:
    """ "dense" or "sparse": what was asked for, else what takes fewer bytes.

    A small matrix stays dense, and so do the weights of zero-sum machines, which centre them over
    the classes. The same data give the same answer on every machine.
    """
    return _choose(wanted, problem, machine, fit_intercept, _rows_with)


def choose_stream_weights(
    wanted: str, first: "Problem", machine: "MachineInfo", fit_intercept: bool
) -> str:
    """The same for a stream that begins with this batch, whatever follows and however it is cut.

    Sparse rows are counted as if each feature came once, which the frequent ones do not: they take
    a row of all classes in either store. Dense rows have every feature.
    """

    def rows_with(X: Any) -> "NDArray[np.int64]":
        n_rows = 1 if sparse.issparse(X) else len(first.classes)
        return np.full(X.shape[1], n_rows, dtype=np.int64)

    return _choose(wanted, first, machine, fit_intercept, rows_with)


def _choose(
    wanted: str,
    problem: "Problem",
    machine: "MachineInfo",
    fit_intercept: bool,
    rows_with: "Callable[[Any], NDArray[np.int64]]",
) -> str:
    if wanted != "auto":
        return wanted
    d, k = problem.rows.n_features + fit_intercept, len(problem.classes)
    itemsize = problem.rows.dtype.itemsize
    dense = d * k * itemsize
    if dense <= DENSE_UP_TO or machine.zero_sum:
        return "dense"
    return "sparse" if sparse_bytes(rows_with(problem.X), k, itemsize) < dense else "dense"


def sparse_bytes(
    rows_with: "NDArray[np.int64]", k: int, itemsize: int, listed: float = _LISTED
) -> float:
    """Of the sparse store, with this many rows for each feature and listed classes for each row."""
    classes = np.minimum(k, listed * rows_with)
    is_full = classes > _FULL_FROM * k
    in_lists = float(classes[~is_full].sum()) * (itemsize + _ENTRY)
    return in_lists + float(np.count_nonzero(is_full)) * k * itemsize


def _rows_with(X: Any) -> "NDArray[np.int64]":
    """The number of rows in which each feature is stored."""
    n, d = X.shape
    if sparse.issparse(X):
        return np.bincount(X.indices, minlength=d)
    return np.full(d, n, dtype=np.int64)


def total_memory() -> float:
    """Bytes that this machine has; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf
