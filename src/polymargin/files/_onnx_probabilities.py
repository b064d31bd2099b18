"""Probabilities behind the scores of a graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

from polymargin.calibration import Calibrator, Isotonic, Sigmoid, Temperature
from polymargin.files._onnx_graph import Graph


def add_probabilities(graph: Graph, calibrator: Calibrator, scores: str, k: int) -> None:
    """Nodes that end in the output ``probabilities`` (n, k)."""
    _MAKERS[type(calibrator)](graph, calibrator, scores, k)


def _temperature(graph: Graph, calibrator: Temperature, scores: str, k: int) -> None:
    below = graph.add("Sub", scores, graph.add("ReduceMax", scores, axes=[1], keepdims=1))
    exponents = graph.add("Div", below, graph.constant(calibrator.T))
    graph.add("Softmax", exponents, axis=1, output="probabilities")


def _sigmoid(graph: Graph, calibrator: Sigmoid, scores: str, k: int) -> None:
    """The softmax of log q_c = -log(1 + exp(-z_c)), which no large score can divide by zero."""
    s = _against_the_rest(graph, scores, k)
    z = graph.add("Mul", s, graph.constant(calibrator.slope))
    z = graph.add("Add", z, graph.constant(calibrator.offset))
    # log(1 + exp(-z)) = max(-z, 0) + log(1 + exp(-|z|)): the runtimes' Softplus is of single alone.
    tail = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
    tail = graph.add("Log", graph.add("Add", tail, graph.constant(1.0)))
    head = graph.add("Relu", graph.add("Neg", z))
    logs = graph.add("Neg", graph.add("Add", head, tail))
    graph.add("Softmax", logs, axis=1, output="probabilities")


def _isotonic(graph: Graph, calibrator: Isotonic, scores: str, k: int) -> None:
    """Each curve is its first value and the parts of its rises that a score has passed."""
    own: list[int] = []  # the class of each rise
    starts: list[float] = []
    steepness: list[float] = []
    heights: list[float] = []
    for c, (at, values) in enumerate(calibrator.curves):
        rises = np.flatnonzero(values[1:] > values[:-1])
        with np.errstate(over="ignore"):
            inverse = np.minimum(1 / np.diff(at)[rises], np.finfo(graph.dtype).max)
        own += [c] * len(rises)
        starts += at[rises].tolist()
        steepness += inverse.tolist()
        heights += np.diff(values)[rises].tolist()
    sums = np.zeros((len(own), k))
    sums[np.arange(len(own)), own] = heights
    s = _against_the_rest(graph, scores, k)
    behind = graph.add("Gather", s, graph.constant(np.array(own, np.int64)), axis=1)
    behind = graph.add("Sub", behind, graph.constant(np.array(starts)))
    part = graph.add("Mul", behind, graph.constant(np.array(steepness)))
    part = graph.add("Clip", part, graph.constant(0.0), graph.constant(1.0))
    first = graph.constant(np.array([values[0] for _, values in calibrator.curves]))
    q = graph.add("Add", graph.add("MatMul", part, graph.constant(sums)), first)
    total = graph.row_sums(q)
    is_positive = graph.add("Greater", total, graph.constant(0.0))
    p = graph.add("Div", q, graph.add("Where", is_positive, total, graph.constant(1.0)))
    graph.add("Where", is_positive, p, graph.constant(1 / k), output="probabilities")


def _against_the_rest(graph: Graph, scores: str, k: int) -> str:
    """The scores, of two classes their difference, seen from each."""
    if k > 2:
        return scores
    return graph.add("MatMul", scores, graph.constant(np.array([[1.0, -1.0], [-1.0, 1.0]])))


_MAKERS: dict[type[Calibrator], Callable[[Graph, Any, str, int], None]] = {
    Temperature: _temperature,
    Sigmoid: _sigmoid,
    Isotonic: _isotonic,
}
