"""Kernels that have a name: a class each, and the list of them.

Whatever is known of such a kernel stands in its class, but for the formula, which is the core's
(`cpp/include/polymargin/kernel/functions.hpp`). The parameter of the estimator, model files, ONNX
graphs and the command line know those of `NAMED_KERNELS`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from scipy import sparse

from polymargin import core
from polymargin.fit import as_rows
from polymargin.kernel._functions import Kernel, Points, as_array, tidy

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

# From this share of stored entries on an array takes no more memory than CSR.
_DENSE = 0.5


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
    def of_rows(cls, X: Any, parameters: Mapping[str, Any], bias: bool) -> "Self":
        """The kernel on these rows, with what it needs of the parameters of an estimator."""

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
    has_centre: ClassVar[bool] = False  # whether it depends on differences of rows alone

    coef0: float = 0.0
    degree: int = 3
    dense: bool = True  # rows are read as arrays
    centre: "NDArray[Any] | None" = None  # subtracted from arrays where that changes nothing

    @classmethod
    def of_rows(cls, X: Any, parameters: Mapping[str, Any], bias: bool) -> "Self":
        dense = not sparse.issparse(X) or X.nnz >= _DENSE * X.shape[0] * X.shape[1]
        centre = None
        if cls.has_centre and dense:
            centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel().astype(X.dtype)
        return cls(**parameters, dense=dense, centre=centre, bias=bias)

    def prepare(self, X: Any) -> Points:
        X = as_array(X) if self.dense else sparse.csr_array(X)
        if self.centre is not None:
            X = X - self.centre
        X = tidy(X)
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

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        if self.centre is not None:
            rows = graph.add("Sub", rows, graph.constant(self.centre))
        return self._add_values(graph, rows, support)

    @abstractmethod
    def _add_values(self, graph: GraphNodes, rows: str, support: Points) -> str:
        """The nodes behind the centre."""

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

    def _add_values(self, graph: GraphNodes, rows: str, support: Points) -> str:
        return self._add_products(graph, rows, support, 1.0)


@dataclass(frozen=True)
class GaussianKernel(DotKernel):
    """exp(-gamma |x - z|^2)."""

    name: ClassVar[str] = "rbf"
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)
    has_centre: ClassVar[bool] = True

    @property
    def is_positive(self) -> bool:
        return True

    def _own_values(self, norms: "NDArray[Any]") -> "NDArray[Any]":
        return np.ones(len(norms))

    def _add_values(self, graph: GraphNodes, rows: str, support: Points) -> str:
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

    def _add_values(self, graph: GraphNodes, rows: str, support: Points) -> str:
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

    def _add_values(self, graph: GraphNodes, rows: str, support: Points) -> str:
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

    def _add_values(self, graph: GraphNodes, rows: str, support: Points) -> str:
        return graph.add("Tanh", self._add_inner(graph, rows, support))


@dataclass(frozen=True)
class LaplacianKernel(NamedKernel):
    """exp(-gamma |x - z|_1)."""

    name: ClassVar[str] = "laplacian"

    @property
    def formula(self) -> str:
        return "exponential"

    @classmethod
    def of_rows(cls, X: Any, parameters: Mapping[str, Any], bias: bool) -> "Self":
        return cls(parameters["gamma"], bias=bias)

    @property
    def is_positive(self) -> bool:
        return True

    def measure(self, left: Points, right: Points, out: "NDArray[Any]", n_threads: int) -> None:
        core.manhattan_distances(as_rows(left.X), as_rows(right.X), out, n_threads)

    def diagonal(self, points: Points) -> "NDArray[Any]":
        return np.full(len(points), 1 + self.bias, points.dtype)

    def cost(self, points: Points) -> float:
        return 1 + points.n_entries / (1 if sparse.issparse(points.X) else 8)

    def add_to_graph(self, graph: GraphNodes, rows: str, support: Points) -> str:
        between = graph.add("Unsqueeze", rows, graph.constant(np.array([1], np.int64)))
        vectors = graph.constant(as_array(support.X))
        differences = graph.add("Abs", graph.add("Sub", between, vectors))
        distances = graph.row_sums(differences, axis=2, keep=False)
        return graph.add("Exp", graph.scaled(distances, -self.gamma))


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
