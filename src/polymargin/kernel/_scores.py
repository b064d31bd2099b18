"""Scores from kernel values, in bounded memory."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polymargin.kernel._functions import Kernel, Points

_BLOCK_BYTES = 8 << 20  # of kernel values at a time
_FEW_CLASSES = 16


def kernel_scores(
    kernel: "Kernel",
    rows: slice,
    take: Callable[[slice], "Points"],
    support: "Points",
    coef: "NDArray[Any]",
    n_threads: int,
) -> "NDArray[Any]":
    """(n, k) = K(rows, support) @ coef.T, of n rows that `take` gives some at a time."""
    width = max(1, _BLOCK_BYTES // (max(1, len(support)) * coef.itemsize))
    n = rows.stop - rows.start
    scores = np.empty((n, len(coef)), coef.dtype)
    block = np.empty((min(width, n), len(support)), coef.dtype)
    for first in range(0, n, width):
        part = slice(first, min(first + width, n))
        left = take(slice(rows.start + part.start, rows.start + part.stop))
        values = block[: len(left)]
        kernel.evaluate(left, support, values, n_threads)
        scores[part] = _multiply(values, coef)
    return scores


def _multiply(values: "NDArray[Any]", coef: "NDArray[Any]") -> "NDArray[Any]":
    """values @ coef.T; where classes are few row by row, which costs little.

    A product of matrices rounds a row according to what comes with it, and then an exact tie of two
    classes, as at a support vector, is broken in one way in a batch and in another alone.
    """
    if len(coef) > _FEW_CLASSES:
        product: NDArray[Any] = values @ coef.T
        return product
    rows: NDArray[Any] = (values[:, None, :] @ coef.T)[:, 0]
    return rows


def wide_scores(
    kernel: "Kernel", points: "Points", alphas: Any, n_threads: int
) -> "Iterator[tuple[slice, NDArray[np.float64]]]":
    """K(points, points) @ alphas summed in double, some rows at a time; `alphas` are CSR."""
    support = np.flatnonzero(np.diff(alphas.indptr))
    coef = alphas[support].toarray().astype(np.float64)
    right = points[support]
    width = max(1, _BLOCK_BYTES // (8 * max(1, len(support), coef.shape[1])))
    for first in range(0, len(points), width):
        part = slice(first, min(first + width, len(points)))
        values = np.empty((part.stop - part.start, len(support)), points.dtype)
        kernel.evaluate(points[part], right, values, n_threads)
        yield part, values.astype(np.float64, copy=False) @ coef
