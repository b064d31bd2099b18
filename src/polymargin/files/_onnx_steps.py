"""Scaling in front of the estimator of a graph."""

from collections.abc import Callable
from typing import Any

from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from polymargin.files._onnx_graph import Graph
from polymargin.preprocessing import Scaler


def add_step(graph: Graph, step: Any, rows: str) -> str:
    """The rows after a step."""
    return STEPS[type(step)](graph, step, rows)


def _scaler(graph: Graph, step: Scaler, rows: str) -> str:
    shifted = graph.add("Sub", rows, graph.constant(step.offset_))
    return graph.stretched(shifted, step.factor_)


def _minmax(graph: Graph, step: MinMaxScaler, rows: str) -> str:
    rows = graph.stretched(rows, step.scale_)
    rows = graph.add("Add", rows, graph.constant(step.min_))
    return _cut(graph, rows, *step.feature_range) if step.clip else rows


def _standard(graph: Graph, step: StandardScaler, rows: str) -> str:
    if step.with_mean:
        rows = graph.add("Sub", rows, graph.constant(step.mean_))
    return graph.stretched(rows, 1 / step.scale_) if step.with_std else rows


def _maxabs(graph: Graph, step: MaxAbsScaler, rows: str) -> str:
    rows = graph.stretched(rows, 1 / step.scale_)
    return _cut(graph, rows, -1.0, 1.0) if getattr(step, "clip", False) else rows


def _cut(graph: Graph, rows: str, low: float, high: float) -> str:
    return graph.add("Clip", rows, graph.constant(float(low)), graph.constant(float(high)))


def _normalizer(graph: Graph, step: Normalizer, rows: str) -> str:
    if step.norm == "l2":
        norms = graph.add("Sqrt", graph.row_sums(graph.add("Mul", rows, rows)))
    elif step.norm == "l1":
        norms = graph.row_sums(graph.add("Abs", rows))
    else:
        norms = graph.add("ReduceMax", graph.add("Abs", rows), axes=[1], keepdims=1)
    is_positive = graph.add("Greater", norms, graph.constant(0.0))
    norms = graph.add("Where", is_positive, norms, graph.constant(1.0))
    return graph.add("Div", rows, norms)


STEPS: dict[type[Any], Callable[[Graph, Any, str], str]] = {
    Scaler: _scaler,
    MinMaxScaler: _minmax,
    StandardScaler: _standard,
    MaxAbsScaler: _maxabs,
    Normalizer: _normalizer,
}
