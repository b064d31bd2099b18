"""Kernel values of all pairs of rows, computed once for several fits."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.kernel._functions import Kernel, Points, PrecomputedKernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 1024  # of a matrix that are computed at a time


@dataclass(frozen=True)
class GramKernel(PrecomputedKernel):
    """A shared matrix of kernel values; rows of X are the numbers of its rows, in one column."""

    positive: bool = False

    @property
    def is_positive(self) -> bool:
        return self.positive

    def prepare(self, X: Any) -> Points:
        return self.points(X[:, 0].astype(np.int64))

    def part(self, rows: "NDArray[np.int64]") -> "GramKernel":
        """The kernel of these rows alone, side by side."""
        matrix = self.matrix
        if sparse.issparse(matrix):
            return replace(self, matrix=matrix[rows][:, rows])
        values = np.empty((len(rows), len(rows)), matrix.dtype)
        core.gather(matrix, rows, rows, values)
        return replace(self, matrix=values)


def row_numbers(matrix: Any) -> "NDArray[Any]":
    """What `GramKernel` reads as the rows of this matrix."""
    return np.arange(matrix.shape[0], dtype=matrix.dtype)[:, None]


def share_values(kernel: Kernel, X: Any, room: int, n_threads: int) -> tuple[Kernel, Any, int]:
    """A kernel for several fits to parts of X, what it reads for X, and the room that is left.

    All values are computed if they take at most half of the `room`, in bytes; those of a
    precomputed kernel are there.
    """
    if isinstance(kernel, PrecomputedKernel):
        return GramKernel(kernel.matrix, bias=kernel.bias), row_numbers(kernel.matrix), room
    n_bytes = X.shape[0] ** 2 * X.dtype.itemsize
    if n_bytes > room // 2:
        return kernel, X, room
    points = kernel.prepare(X)
    values = np.empty((len(points), len(points)), points.dtype)
    for first in range(0, len(points), _ROWS):
        some = slice(first, first + _ROWS)
        kernel.evaluate(points[some], points, values[some], n_threads)
    np.fill_diagonal(values, kernel.diagonal(points))
    return GramKernel(values, positive=kernel.is_positive), row_numbers(values), room - n_bytes
