"""Kernels, evaluated block by block: what all share, and those whose values others compute."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from polymargin import core

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Points:
    """Rows as a kernel reads them, with what it needs to know of each."""

    X: Any  # C-contiguous array or canonical CSR
    norms: "NDArray[Any]"  # |x|^2, where the kernel asks for it, in the precision of its values
    wide_norms: "NDArray[np.float64] | None" = None  # in double, where X is and values are not

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> "np.dtype[Any]":
        return self.norms.dtype

    @property
    def n_entries(self) -> float:
        """Stored entries of a row on average."""
        return float(self.X.nnz if sparse.issparse(self.X) else self.X.size) / max(len(self), 1)

    def __getitem__(self, rows: Any) -> "Points":
        wide = None if self.wide_norms is None else self.wide_norms[rows]
        return Points(self.X[rows], self.norms[rows], wide)


@dataclass(frozen=True, kw_only=True)
class Kernel(ABC):
    """A kernel with its parameters."""

    bias: bool = False  # adds 1
    remedy: ClassVar[str] = "Rescale the features"  # where values leave the range of the type

    @property
    def is_positive(self) -> bool:
        """Whether it is known to be positive semi-definite."""
        return False

    def stored(self, points: Points) -> "NDArray[Any] | None":
        """The matrix of all pairs of these points, where it is there already."""
        return None

    @abstractmethod
    def cost(self, points: Points) -> float:
        """About what a value takes to compute, where 1 is to add a multiple of it to scores."""

    def prepare(self, X: Any) -> Points:
        """Validated rows as this kernel reads them."""
        return Points(tidy(X), np.zeros(X.shape[0], X.dtype))

    @abstractmethod
    def evaluate(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        """Fill `out` (len(left), len(right)), whose rows are contiguous."""

    @abstractmethod
    def diagonal(self, points: Points) -> "NDArray[Any]":
        """K(x, x) of each point."""


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A function of two arrays of rows that returns the matrix of all pairs."""

    function: Callable[[Any, Any], Any]
    remedy: ClassVar[str] = "Rescale the values of the kernel function"

    def evaluate(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        if len(left) == 0 or len(right) == 0:
            return
        values = self.function(left.X, right.X)
        values = values.toarray() if sparse.issparse(values) else np.asarray(values)
        if values.shape != out.shape:
            raise ValueError(
                f"The kernel function returned an array of shape {values.shape} for {len(left)} "
                f"and {len(right)} rows; it has to be {out.shape}."
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"The kernel function returned values of type {values.dtype}, not real numbers."
            )
        with np.errstate(over="ignore"):
            out[...] = values
        if not np.all(np.isfinite(out)):
            raise ValueError(
                "The kernel function returned NaN, infinity or a value beyond the range of "
                f"{out.dtype}."
            )
        if self.bias:
            out += 1

    def diagonal(self, points: Points) -> "NDArray[Any]":
        width = 64  # of the blocks of which only the diagonal is used
        values = np.empty(len(points), points.dtype)
        for first in range(0, len(points), width):
            part = points[first : first + width]
            block = np.empty((len(part), len(part)), points.dtype)
            self.evaluate(part, part, block, 1)
            values[first : first + width] = block.diagonal()
        return values

    def cost(self, points: Points) -> float:
        return 100  # of Python code: it is not known


@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """A matrix of kernel values; points are numbers of its rows or columns."""

    matrix: Any
    remedy: ClassVar[str] = "Rescale the matrix"

    def points(self, index: "NDArray[np.int64]") -> Points:
        """The rows or columns of these numbers."""
        return Points(index, np.zeros(len(index), self.matrix.dtype))

    def prepare(self, X: Any) -> Points:
        return self.points(np.arange(X.shape[0]))

    def evaluate(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        if sparse.issparse(self.matrix):
            out[...] = self.matrix[left.X][:, right.X].toarray()
        else:
            core.gather(self.matrix, left.X, right.X, out)
        if self.bias:
            out += 1

    def diagonal(self, points: Points) -> "NDArray[Any]":
        diagonal: NDArray[Any] = self.matrix.diagonal()[points.X] + self.matrix.dtype.type(
            self.bias
        )
        return diagonal

    def stored(self, points: Points) -> "NDArray[Any] | None":
        matrix = self.matrix
        if self.bias or sparse.issparse(matrix) or not matrix.flags.c_contiguous:
            return None
        is_whole = np.array_equal(points.X, np.arange(matrix.shape[1]))
        return matrix if is_whole else None

    def cost(self, points: Points) -> float:
        return 1


def as_array(X: Any) -> Any:
    """Dense rows."""
    return X.toarray() if sparse.issparse(X) else X


def tidy(X: Any) -> Any:
    """Contiguous rows, or CSR without repeated entries; a copy where `X` is neither."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
