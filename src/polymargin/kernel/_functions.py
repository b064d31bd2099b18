"""Kernel functions, evaluated block by block."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.fit import as_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Kernels of an inner product, by the name of the parameter `kernel`.
DOT_KERNELS = ("linear", "rbf", "poly", "normalized-poly", "sigmoid")
KERNELS = (*DOT_KERNELS, "laplacian", "precomputed")

# From this share of stored entries on an array takes no more memory than CSR.
_DENSE = 0.5


@dataclass(frozen=True)
class Points:
    """Rows as a kernel reads them, with what it needs to know of each."""

    X: Any  # C-contiguous array or canonical CSR
    norms: "NDArray[Any]"  # |x|^2, where the kernel asks for it

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
        return Points(self.X[rows], self.norms[rows])


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
        return Points(_tidy(X), np.zeros(X.shape[0], X.dtype))

    @abstractmethod
    def evaluate(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        """Fill `out` (len(left), len(right)), whose rows are contiguous."""

    @abstractmethod
    def diagonal(self, points: Points) -> "NDArray[Any]":
        """K(x, x) of each point."""


@dataclass(frozen=True)
class DotKernel(Kernel):
    """A function of the inner product and the squared norms."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    dense: bool = True  # rows are read as arrays
    centre: "NDArray[Any] | None" = None  # subtracted from arrays where that changes nothing
    remedy: ClassVar[str] = "Rescale the features, lower gamma, coef0 or degree"

    @property
    def is_positive(self) -> bool:
        return self.name in ("linear", "rbf") or (self.name != "sigmoid" and self.coef0 >= 0)

    def prepare(self, X: Any) -> Points:
        X = as_array(X) if self.dense else sparse.csr_array(X)
        if self.centre is not None:
            X = X - self.centre
        X = _tidy(X)
        return Points(X, as_rows(X).squared_norms().astype(X.dtype))

    def evaluate(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        if self.dense:
            np.matmul(left.X, right.X.T, out=out)
        else:
            core.inner_products(as_rows(left.X), as_rows(right.X), out, n_threads)
        self._apply(out, left.norms, right.norms, n_threads)

    def diagonal(self, points: Points) -> "NDArray[Any]":
        # Not what rounding makes of |x|^2 + |x|^2 - 2 |x|^2 and the like.
        inner = self.gamma * points.norms + self.coef0
        values: NDArray[Any]
        match self.name:
            case "linear":
                values = points.norms
            case "rbf":
                values = np.ones(len(points))
            case "poly":
                values = inner**self.degree
            case "normalized-poly":
                values = np.where(inner != 0, 1.0, 0.0)
            case "sigmoid":
                values = np.tanh(inner)
        return (values + self.bias).astype(points.dtype)

    def cost(self, points: Points) -> float:
        return 1 + points.n_entries / (25 if self.dense else 2)

    def _apply(
        self,
        products: "NDArray[Any]",
        row_norms: "NDArray[Any]",
        column_norms: "NDArray[Any]",
        n_threads: int,
    ) -> None:
        core.apply_kernel(
            products,
            row_norms,
            column_norms,
            self.name,
            self.gamma,
            self.coef0,
            self.degree,
            self.bias,
            n_threads,
        )


@dataclass(frozen=True)
class LaplacianKernel(Kernel):
    """exp(-gamma |x - z|_1)."""

    gamma: float

    @property
    def is_positive(self) -> bool:
        return True

    def evaluate(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        core.manhattan_distances(as_rows(left.X), as_rows(right.X), out, n_threads)
        core.apply_kernel(
            out,
            left.norms,
            right.norms,
            "exponential",
            self.gamma,
            0.0,
            1,
            self.bias,
            n_threads,
        )

    def diagonal(self, points: Points) -> "NDArray[Any]":
        return np.full(len(points), 1 + self.bias, points.dtype)

    def cost(self, points: Points) -> float:
        return 1 + points.n_entries / (1 if sparse.issparse(points.X) else 8)


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


def make_kernel(
    name: Any,
    X: Any,
    weight: "NDArray[np.float64]",
    *,
    gamma: Any,
    degree: int,
    coef0: float,
    bias: bool,
) -> Kernel:
    """The kernel meant by the parameters of an estimator on these weighted rows."""
    if callable(name):
        return CallableKernel(name, bias=bias)
    if name == "precomputed":
        return PrecomputedKernel(X, bias=bias)
    width = find_gamma(gamma, X, weight) if name != "linear" else 1.0
    for parameter, value in {"gamma": width, "coef0": float(coef0)}.items():
        if abs(value) > float(np.finfo(X.dtype).max):
            raise ValueError(f"{parameter}={value:g} is beyond the range of {X.dtype}.")
    if name == "laplacian":
        return LaplacianKernel(width, bias=bias)
    dense = not sparse.issparse(X) or X.nnz >= _DENSE * X.shape[0] * X.shape[1]
    centre = None
    if name == "rbf" and dense:
        centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel().astype(X.dtype)
    return DotKernel(name, width, float(coef0), int(degree), dense, centre, bias=bias)


def find_gamma(gamma: Any, X: Any, weight: "NDArray[np.float64]") -> float:
    """The number meant by `gamma`, as in scikit-learn; a row of weight two counts twice."""
    if gamma == "auto":
        return 1.0 / float(X.shape[1])
    if gamma != "scale":
        return float(gamma)
    variance = _variance(X, weight)
    return 1.0 / (float(X.shape[1]) * variance) if variance > 0 else 1.0


def _variance(X: Any, weight: "NDArray[np.float64]") -> float:
    """Of all entries, in double and in little memory."""
    count = float(weight.sum()) * X.shape[1]
    if sparse.issparse(X):
        values = X.data.astype(np.float64)
        each = np.repeat(weight, np.diff(X.indptr))
        mean = each @ values / count
        n_zeros = count - each.sum()
        return float((each @ (values - mean) ** 2 + n_zeros * mean**2) / count)
    parts = [slice(first, first + 1024) for first in range(0, X.shape[0], 1024)]
    mean = sum(weight[part] @ X[part].sum(axis=1, dtype=np.float64) for part in parts) / count
    squares = [weight[part] @ ((X[part] - mean) ** 2).sum(axis=1) for part in parts]
    return float(sum(squares) / count)


def as_array(X: Any) -> Any:
    """Dense rows."""
    return X.toarray() if sparse.issparse(X) else X


def _tidy(X: Any) -> Any:
    """Contiguous rows, or CSR without repeated entries; a copy where `X` is neither."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
