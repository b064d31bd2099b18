"""Kernels between the rows of a graph and the support vectors."""

from typing import TYPE_CHECKING, Any

import numpy as np

from polymargin.estimators import KernelSVM
from polymargin.files._onnx_graph import Graph
from polymargin.kernel import DotKernel, LaplacianKernel, as_array

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kernel_values(graph: Graph, model: KernelSVM, rows: str) -> str:
    """(n, n_sv) values without the constant part, which `intercept_` holds."""
    kernel, support = model._scoring_kernel(None)
    vectors = as_array(support.X)
    if isinstance(kernel, LaplacianKernel):
        return _laplacian(graph, rows, vectors, kernel.gamma)
    if not isinstance(kernel, DotKernel):
        raise ValueError(f"{type(kernel).__name__} has no form in ONNX")
    if kernel.centre is not None:
        rows = graph.add("Sub", rows, graph.constant(kernel.centre))
    # Factors are part of the matrix: runtimes that join them to the product round them to single.
    factor = {"linear": 1.0, "rbf": 2.0}.get(kernel.name, kernel.gamma)
    inner = graph.add("MatMul", rows, graph.constant(factor * vectors.T))
    if kernel.name not in ("linear", "rbf") and kernel.coef0 != 0:
        inner = graph.add("Add", inner, graph.constant(kernel.coef0))
    match kernel.name:
        case "linear":
            return inner
        case "rbf":
            return _gaussian(graph, rows, inner, support.norms, kernel.gamma)
        case "poly":
            return graph.add("Pow", inner, graph.constant(float(kernel.degree)))
        case "sigmoid":
            return graph.add("Tanh", inner)
        case _:
            return _normalized(graph, rows, inner, support.norms, kernel)


def _norms(graph: Graph, rows: str) -> str:
    return graph.row_sums(graph.add("Mul", rows, rows))


def _gaussian(graph: Graph, rows: str, twice: str, norms: "NDArray[Any]", gamma: float) -> str:
    both = graph.add("Add", _norms(graph, rows), graph.constant(norms))
    distance = graph.add("Sub", both, twice)
    # What rounding can leave of equal rows is no distance.
    least = graph.scaled(both, 8 * float(np.finfo(graph.dtype).eps))
    is_distance = graph.add("Greater", distance, least)
    distance = graph.add("Where", is_distance, distance, graph.constant(0.0))
    return graph.add("Exp", graph.scaled(distance, -gamma))


def _normalized(
    graph: Graph,
    rows: str,
    inner: str,
    norms: "NDArray[Any]",
    kernel: DotKernel,
) -> str:
    """The power of the cosine; 0 where a row has none."""
    own = graph.scaled(_norms(graph, rows), kernel.gamma, kernel.coef0)
    is_positive = graph.add("Greater", own, graph.constant(0.0))
    root = graph.add("Sqrt", graph.add("Where", is_positive, own, graph.constant(1.0)))
    other = kernel.gamma * norms.astype(np.float64) + kernel.coef0
    inverse = np.where(other > 0, 1 / np.sqrt(np.where(other > 0, other, 1.0)), 0.0)
    cosine = graph.stretched(graph.add("Div", inner, root), inverse)
    cosine = graph.add("Where", is_positive, cosine, graph.constant(0.0))
    return graph.add("Pow", cosine, graph.constant(float(kernel.degree)))


def _laplacian(graph: Graph, rows: str, vectors: "NDArray[Any]", gamma: float) -> str:
    between = graph.add("Unsqueeze", rows, graph.constant(np.array([1], np.int64)))
    differences = graph.add("Abs", graph.add("Sub", between, graph.constant(vectors)))
    return graph.add("Exp", graph.scaled(graph.row_sums(differences, axis=2, keep=False), -gamma))
