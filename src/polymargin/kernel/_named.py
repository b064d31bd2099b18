"""Kernels that have a name: a class each, and the list of them.

Whatever is known of such a kernel stands in its class, but for the formula, which is the core's
(`cpp/include/polymargin/kernel/functions.hpp`). The parameter of the estimator, model files, ONNX
graphs and the command line know those of `NAMED_KERNELS`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.fit import as_rows
from polymargin.kernel._digits import LOST, Extent, epsilon, or_wider, warn_lost
from polymargin.kernel._functions import Kernel, Points, as_array, tidy

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

# From this share of stored entries on an array takes no more memory than CSR.
_DENSE = 0.5
_WIDE_VALUES = 1 << 17  # distances in double at a time
_SAMPLE, _OTHERS = 16, 1 << 12  # rows by which it is seen whether values are exact
_CALLER = 6  # of `fit`, counted from the warning


class GraphNodes(Protocol):
    """A graph of computations in the making; values are known by their names."""

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Of all numbers that are not counts."""

    def add(self, operator: str, *inputs: str) -> str:
        """A node; the name of what it gives."""

    def constant(self, value: Any) -> str:
        """Numbers in the precision of the graph, or integers as they are."""

    def stretched(self, rows: str, factor: "NDArray[Any]") -> str:
        """Each column times its factor."""

    def row_sums(self, values: str, axis: int = 1, keep: bool = True) -> str:
        """Sums along an axis."""

    def scaled(self, values: str, factor: float, shift: float = 0.0) -> str:
        """factor values + shift."""


@dataclass(frozen=True)
class NamedKernel(Kernel):
    """A function, elementwise, of what is measured between two rows."""

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)  # of the estimator that it depends on

    gamma: float = 1.0

    @property
    def formula(self) -> str:
        """Its name in the core."""
        return self.name

    @classmethod
    @abstractmethod
    def of_rows(
        cls, X: Any, parameters: Mapping[str, Any], bias: bool, any_gamma: bool = False
    ) -> "Self":
        """The kernel on these rows, with what it needs of the parameters of an estimator.

        With `any_gamma` it serves for every gamma in place of its own.
        """

    @abstractmethod
    def measure(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        """Fill `out` with what the formula is applied to, which does not depend on gamma."""

    def apply(
        self,
        measured: "NDArray[Any]",
        row_norms: "NDArray[Any]",
        column_norms: "NDArray[Any]",
        n_threads: int,
    ) -> None:
        """Turn what was measured into kernel values, in place."""
        core.apply_kernel(
            measured,
            row_norms,
            column_norms,
            self.formula,
            self.gamma,
            getattr(self, "coef0", 0.0),
            getattr(self, "degree", 1),
            self.bias,
            n_threads,
        )

    def evaluate(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        self.measure(left, right, out, n_threads)
        self.apply(out, left.norms, right.norms, n_threads)

    @abstractmethod
    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        """Nodes for the values of all pairs of rows and support, without the constant part."""


@dataclass(frozen=True)
class DotKernel(NamedKernel):
    """A function of the inner product and the squared norms."""

    parameters: ClassVar[tuple[str, ...]] = ("gamma", "coef0")
    remedy: ClassVar[str] = "Rescale the features, lower gamma, coef0 or degree"

    coef0: float = 0.0
    degree: int = 3
    dense: bool = True  # rows are read as arrays

    @classmethod
    def of_rows(
        cls, X: Any, parameters: Mapping[str, Any], bias: bool, any_gamma: bool = False
    ) -> "Self":
        if not any_gamma:
            cls._check_digits(X)
        return cls(**parameters, dense=_is_dense(X), bias=bias)

    @classmethod
    def _check_digits(cls, X: Any) -> None:
        """Warn of rows whose products hardly depend on what differs between them."""
        extent = Extent.of(X, from_mean=False)
        if epsilon(X.dtype) * extent.mean > LOST * extent.spread > 0:
            what = (
                f"The rows are far from the origin: their mean squared norm is {extent.mean:.3g}, "
                f"their mean squared distance {extent.spread:.3g}, and products in {X.dtype} lose "
                "the digits in which they differ."
            )
            remedy = "Subtract the mean of each feature, as Scaler and StandardScaler do"
            warn_lost(what, f"{remedy}{or_wider(X.dtype)}.", _CALLER)

    def prepare(self, X: Any) -> Points:
        X = tidy(as_array(X) if self.dense else sparse.csr_array(X))
        return Points(X, as_rows(X).squared_norms().astype(X.dtype))

    def measure(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        if self.dense:
            np.matmul(left.X, right.X.T, out=out)
        else:
            core.inner_products(as_rows(left.X), as_rows(right.X), out, n_threads)

    def diagonal(self, points: Points) -> "NDArray[Any]":
        return (self._own_values(points.norms) + self.bias).astype(points.dtype)

    @abstractmethod
    def _own_values(self, norms: "NDArray[Any]") -> "NDArray[Any]":
        """K(x, x) without bias, not what rounding makes of |x|^2 + |x|^2 - 2 |x|^2 and the like."""

    def cost(self, points: Points) -> float:
        return 1 + points.n_entries / (25 if self.dense else 2)

    def _add_products(self, graph: GraphNodes, rows: str, support: Points, factor: float) -> str:
        # The factor is part of the matrix: runtimes that join it to the product round it to single.
        return graph.add("MatMul", rows, graph.constant(factor * as_array(support.X).T))

    def _add_inner(self, graph: GraphNodes, rows: str, support: Points) -> str:
        """gamma x^T z + coef0."""
        inner = self._add_products(graph, rows, support, self.gamma)
        return graph.add("Add", inner, graph.constant(self.coef0)) if self.coef0 else inner


@dataclass(frozen=True)
class LinearKernel(DotKernel):
    """x^T z."""

    name: ClassVar[str] = "linear"
    parameters: ClassVar[tuple[str, ...]] = ()

    @property
    def is_positive(self) -> bool:
        return True

    def _own_values(self, norms: "NDArray[Any]") -> "NDArray[Any]":
        return norms

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        return self._add_products(graph, rows, support, 1.0)


@dataclass(frozen=True)
class GaussianKernel(DotKernel):
    """exp(-gamma |x - z|^2)."""

    name: ClassVar[str] = "rbf"
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)

    centre: "NDArray[Any] | None" = None  # subtracted from arrays, which changes nothing
    in_double: bool = False  # distances between float32 rows, whose norms are far larger

    @property
    def formula(self) -> str:
        return "exponential" if self.in_double else self.name

    @classmethod
    def of_rows(
        cls, X: Any, parameters: Mapping[str, Any], bias: bool, any_gamma: bool = False
    ) -> "Self":
        dense = _is_dense(X)
        centre = None
        if dense:
            centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel().astype(X.dtype)
        kernel = cls(**parameters, dense=dense, centre=centre, bias=bias)
        in_double = X.dtype == np.float32 if any_gamma else kernel._needs_double(X)
        return replace(kernel, in_double=True) if in_double else kernel

    def _needs_double(self, X: Any) -> bool:
        """Whether distances have to be in double; a warning where not even that is enough."""
        gamma, dtype, extent = self.gamma, X.dtype, Extent.of(X, from_mean=self.dense)
        signal = min(1.0, gamma * extent.spread)
        error = gamma * extent.largest  # times the rounding error, at most
        in_double = (
            dtype == np.float32
            and error * epsilon(dtype) > LOST * signal > 0
            and self._largest_error(X) > LOST * signal
        )
        if error * epsilon(np.float64) > LOST * signal > 0:
            what = (
                "Rows are too far away for distances in double: the largest squared norm is "
                f"{extent.largest:.3g}, and gamma {gamma:.3g}."
            )
            remedy = "Scale the features" if self.dense else "Subtract the mean of each feature"
            warn_lost(what, f"{remedy}.", _CALLER)
        elif epsilon(dtype) > LOST * signal > 0:
            what = (
                f"All kernel values are next to 1, and {dtype} hardly tells them apart: gamma "
                f"{gamma:.3g} times the mean squared distance {extent.spread:.3g}."
            )
            warn_lost(what, f"Raise gamma{or_wider(dtype)}.", _CALLER)
        return in_double

    def _largest_error(self, X: Any) -> float:
        """Of values in single precision, between some rows, half of them the longest, and others.

        Long rows alone do no harm: where they are far from each other, all values are 0.
        """
        random = np.random.default_rng(0)
        others = random.permutation(X.shape[0])[:_OTHERS]
        rows = X[np.sort(others)]
        points = self.prepare(rows)
        some = np.argsort(points.norms)[-_SAMPLE:]
        some = np.concatenate([some, random.permutation(len(points))[:_SAMPLE]])
        values = np.empty((2, len(some), len(points)), points.dtype)
        self.evaluate(points[some], points, values[0], 1)
        wide = replace(self, in_double=True)
        points = wide.prepare(rows)
        wide.evaluate(points[some], points, values[1], 1)
        values[:, np.arange(len(some)), some] = 1.0  # K(x, x) is known
        return float(np.abs(values[0] - values[1]).max())

    @property
    def is_positive(self) -> bool:
        return True

    def prepare(self, X: Any) -> Points:
        X = as_array(X) if self.dense else sparse.csr_array(X)
        dtype = X.dtype
        if self.in_double:
            X = X.astype(np.float64)
        if self.centre is not None:
            X = X - self.centre
        X = tidy(X)
        norms = as_rows(X).squared_norms()
        return Points(X, norms.astype(dtype), norms if self.in_double else None)

    def measure(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        if not self.in_double:
            super().measure(left, right, out, n_threads)
            return
        assert right.wide_norms is not None
        for part, rows, distances in _wide_blocks(left, right):
            assert rows.wide_norms is not None
            super().measure(rows, right, distances, n_threads)
            distances *= -2
            distances += rows.wide_norms[:, None]
            distances += right.wide_norms
            out[part] = np.maximum(distances, 0, out=distances)

    def cost(self, points: Points) -> float:
        return super().cost(points) * (2 if self.in_double else 1)

    def _own_values(self, norms: "NDArray[Any]") -> "NDArray[Any]":
        return np.ones(len(norms))

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        if self.in_double:
            vectors = as_array(support.X) + (0 if self.centre is None else self.centre)
            differences = _add_differences(graph, rows, vectors)
            distance = graph.row_sums(graph.add("Mul", differences, differences), 2, keep=False)
            return graph.add("Exp", graph.scaled(distance, -self.gamma))
        if self.centre is not None:
            rows = graph.add("Sub", rows, graph.constant(self.centre))
        twice = self._add_products(graph, rows, support, 2.0)
        both = graph.add("Add", _add_norms(graph, rows), graph.constant(support.norms))
        distance = graph.add("Sub", both, twice)
        # What rounding can leave of equal rows is no distance.
        least = graph.scaled(both, 8 * float(np.finfo(graph.dtype).eps))
        is_distance = graph.add("Greater", distance, least)
        distance = graph.add("Where", is_distance, distance, graph.constant(0.0))
        return graph.add("Exp", graph.scaled(distance, -self.gamma))


@dataclass(frozen=True)
class PolynomialKernel(DotKernel):
    """(gamma x^T z + coef0)^degree."""

    name: ClassVar[str] = "poly"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "coef0", "degree")

    @property
    def is_positive(self) -> bool:
        return self.coef0 >= 0

    def _own_values(self, norms: "NDArray[Any]") -> "NDArray[Any]":
        values: NDArray[Any] = (self.gamma * norms + self.coef0) ** self.degree
        return values

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        inner = self._add_inner(graph, rows, support)
        return graph.add("Pow", inner, graph.constant(float(self.degree)))


@dataclass(frozen=True)
class NormalizedPolynomialKernel(DotKernel):
    """K(x, z) / sqrt(K(x, x) K(z, z)) with the polynomial kernel."""

    name: ClassVar[str] = "normalized-poly"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "coef0", "degree")

    @property
    def is_positive(self) -> bool:
        return self.coef0 >= 0

    def _own_values(self, norms: "NDArray[Any]") -> "NDArray[Any]":
        return np.where(self.gamma * norms + self.coef0 != 0, 1.0, 0.0)

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        """The power of the cosine; 0 where a row has none."""
        inner = self._add_inner(graph, rows, support)
        own = graph.scaled(_add_norms(graph, rows), self.gamma, self.coef0)
        is_positive = graph.add("Greater", own, graph.constant(0.0))
        root = graph.add("Sqrt", graph.add("Where", is_positive, own, graph.constant(1.0)))
        other = self.gamma * support.norms.astype(np.float64) + self.coef0
        inverse = np.where(other > 0, 1 / np.sqrt(np.where(other > 0, other, 1.0)), 0.0)
        cosine = graph.stretched(graph.add("Div", inner, root), inverse)
        cosine = graph.add("Where", is_positive, cosine, graph.constant(0.0))
        return graph.add("Pow", cosine, graph.constant(float(self.degree)))


@dataclass(frozen=True)
class SigmoidKernel(DotKernel):
    """tanh(gamma x^T z + coef0)."""

    name: ClassVar[str] = "sigmoid"

    def _own_values(self, norms: "NDArray[Any]") -> "NDArray[Any]":
        values: NDArray[Any] = np.tanh(self.gamma * norms + self.coef0)
        return values

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        return graph.add("Tanh", self._add_inner(graph, rows, support))


@dataclass(frozen=True)
class LaplacianKernel(NamedKernel):
    """exp(-gamma |x - z|_1)."""

    name: ClassVar[str] = "laplacian"

    in_double: bool = False  # distances between sparse float32 rows far from the origin

    @property
    def formula(self) -> str:
        return "exponential"

    @classmethod
    def of_rows(
        cls, X: Any, parameters: Mapping[str, Any], bias: bool, any_gamma: bool = False
    ) -> "Self":
        gamma = parameters["gamma"]
        if not sparse.issparse(X):  # whose differences are taken one by one
            return cls(gamma, bias=bias)
        is_single = X.dtype == np.float32
        if any_gamma:
            return cls(gamma, bias=bias, in_double=is_single)
        largest = float(abs(X).sum(axis=1, dtype=np.float64).max())
        in_double = is_single and gamma * largest * epsilon(X.dtype) > LOST
        if gamma * largest * epsilon(np.float64) > LOST:
            what = (
                f"Rows are too far from the origin for distances in double: the largest sum of "
                f"absolute values is {largest:.3g}, and gamma {gamma:.3g}."
            )
            warn_lost(what, "Subtract the mean of each feature.", _CALLER - 1)
        return cls(gamma, bias=bias, in_double=in_double)

    @property
    def is_positive(self) -> bool:
        return True

    def prepare(self, X: Any) -> Points:
        norms = np.zeros(X.shape[0], X.dtype)
        return Points(tidy(X.astype(np.float64) if self.in_double else X), norms)

    def measure(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        if not self.in_double:
            core.manhattan_distances(as_rows(left.X), as_rows(right.X), out, n_threads)
            return
        for part, rows, distances in _wide_blocks(left, right):
            core.manhattan_distances(as_rows(rows.X), as_rows(right.X), distances, n_threads)
            out[part] = distances

    def diagonal(self, points: Points) -> "NDArray[Any]":
        return np.full(len(points), 1 + self.bias, points.dtype)

    def cost(self, points: Points) -> float:
        entries = points.n_entries * (2 if self.in_double else 1)
        return 1 + entries / (1 if sparse.issparse(points.X) else 8)

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        differences = graph.add("Abs", _add_differences(graph, rows, as_array(support.X)))
        distances = graph.row_sums(differences, axis=2, keep=False)
        return graph.add("Exp", graph.scaled(distances, -self.gamma))


def _is_dense(X: Any) -> bool:
    return not sparse.issparse(X) or X.nnz >= _DENSE * X.shape[0] * X.shape[1]


def _wide_blocks(
    left: Points, right: Points
) -> "Iterator[tuple[slice, Points, NDArray[np.float64]]]":
    """Some rows of `left` at a time, with room for their distances from all of `right`."""
    height = max(1, _WIDE_VALUES // max(1, len(right)))
    for first in range(0, len(left), height):
        part = slice(first, min(first + height, len(left)))
        yield part, left[part], np.empty((part.stop - part.start, len(right)))


def _add_differences(graph: GraphNodes, rows: str, vectors: "NDArray[Any]") -> str:
    """x - z of all pairs, (n, s, d)."""
    between = graph.add("Unsqueeze", rows, graph.constant(np.array([1], np.int64)))
    return graph.add("Sub", between, graph.constant(vectors))


def _add_norms(graph: GraphNodes, rows: str) -> str:
    return graph.row_sums(graph.add("Mul", rows, rows))


NAMED_KERNELS: dict[str, type[NamedKernel]] = {
    cls.name: cls
    for cls in (
        LinearKernel,
        GaussianKernel,
        PolynomialKernel,
        NormalizedPolynomialKernel,
        SigmoidKernel,
        LaplacianKernel,
    )
}
