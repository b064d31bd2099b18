"""Models as ONNX graphs of plain operators."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from polymargin._atomic import replacing
from polymargin._versions import own_version
from polymargin.errors import require
from polymargin.estimators import KernelSVM, LinearSVM
from polymargin.files._affine import exported_steps
from polymargin.files._onnx_graph import Graph
from polymargin.files._onnx_probabilities import add_probabilities
from polymargin.files._onnx_steps import STEPS, add_step
from polymargin.kernel import NamedKernel, PrecomputedKernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OPSET, _IR_VERSION = 17, 8
_MOST_BYTES = 2**31 - 2**20  # of a protobuf message, less some room for the graph


def save_onnx(model: LinearSVM | KernelSVM | Pipeline, path: str | os.PathLike[str]) -> None:
    """Write a model as an ONNX graph, for runtimes without Python.

    The graph takes ``X`` of shape (n, d) in the precision of the model. It gives ``label`` of
    shape (n,), int64 or text, and ``scores`` of shape (n, k), the `class_scores`; of a model with
    `predict_proba` also ``probabilities`` of shape (n, k), which are those. Steps of a pipeline can
    be scalers and `Normalizer`. The Laplacian kernel, and the radial one of rows whose distances
    are taken in double, take memory for n times the entries of all support vectors: pass few rows
    at a time.

    Parameters
    ----------
    model : LinearSVM, KernelSVM or Pipeline
        With labels that are integers, booleans or text.
    path : path-like
        The file.

    Raises
    ------
    MissingPackageError
        The package onnx is not installed.

    Examples
    --------
    >>> import os, tempfile
    >>> from polymargin import KernelSVM
    >>> from polymargin.files import save_onnx
    >>> model = KernelSVM(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_onnx(model, os.path.join(folder, "model.onnx"))
    """
    onnx = require("onnx", extra="onnx", purpose="ONNX files")
    steps = exported_steps(model)
    estimator = steps[-1][1]
    _check(estimator, steps)
    coef: Any = estimator.coef_ if isinstance(estimator, LinearSVM) else estimator.dual_coef_
    graph = Graph(onnx, coef.dtype)
    rows = "X"
    for _, step in steps[:-1]:
        rows = add_step(graph, step, rows)
    values = rows
    if isinstance(estimator, KernelSVM):
        values = _kernel_values(graph, estimator, rows)
    weights = coef.toarray() if sparse.issparse(coef) else np.asarray(coef)
    products = graph.add("MatMul", values, graph.constant(weights.T))
    scores = graph.add("Add", products, graph.constant(estimator.intercept_), output="scores")
    best = graph.add("ArgMax", scores, axis=1, keepdims=0)
    labels = _labels(estimator.classes_)
    graph.add("Gather", graph.constant(labels), best, axis=0, output="label")
    outputs = ["scores"]
    if estimator.calibration is not None:
        add_probabilities(graph, estimator._find_calibrator(), scores, len(labels))
        outputs.append("probabilities")
    n_features = steps[0][1].n_features_in_
    if graph.n_bytes > _MOST_BYTES:
        raise ValueError(f"the model takes {graph.n_bytes} bytes; an ONNX file holds 2 GiB at most")
    helper, types = onnx.helper, onnx.TensorProto
    real = types.FLOAT if coef.dtype == np.float32 else types.DOUBLE
    word = types.STRING if labels.dtype == object else types.INT64
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "polymargin",
            [helper.make_tensor_value_info("X", real, ["n", n_features])],
            [
                helper.make_tensor_value_info("label", word, ["n"]),
                *(
                    helper.make_tensor_value_info(name, real, ["n", len(labels)])
                    for name in outputs
                ),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="polymargin",
        producer_version=own_version(),
    )
    onnx.checker.check_model(made)
    content = made.SerializeToString(deterministic=True)
    with replacing(path) as file:
        file.write(content)


def _check(estimator: Any, steps: list[tuple[str, Any]]) -> None:
    """Refuse what plain operators on numbers cannot do."""
    if not isinstance(estimator, (LinearSVM, KernelSVM)):
        raise ValueError(
            "a model is a LinearSVM, a KernelSVM or a pipeline that ends in one, not "
            f"{type(estimator).__name__}"
        )
    for name, step in steps[:-1]:
        if type(step) not in STEPS:
            known = ", ".join(kind.__name__ for kind in STEPS)
            raise ValueError(
                f"step {name!r} is a {type(step).__name__}, which an ONNX graph of numbers cannot "
                f"do; it can do {known}. Export the steps after it, model[i:], and apply the "
                "others yourself"
            )
        check_is_fitted(step)
    check_is_fitted(estimator)


def _kernel_values(graph: Graph, model: KernelSVM, rows: str) -> str:
    """(n, n_sv) values without the constant part, which `intercept_` holds."""
    if not isinstance(model._kernel, NamedKernel):
        kind = "precomputed" if isinstance(model._kernel, PrecomputedKernel) else "a function"
        raise ValueError(
            f"the kernel is {kind}, which an ONNX graph cannot compute; named kernels can be "
            "exported"
        )
    kernel, support = model._scoring_kernel(None)
    assert isinstance(kernel, NamedKernel)
    return kernel.add_to_graph(graph, rows, support)


def _labels(classes: "NDArray[Any]") -> "NDArray[Any]":
    """As int64 or as objects of str."""
    if classes.dtype.kind == "U":
        return classes.astype(object)
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        return classes
    if classes.dtype.kind in "biuf":
        whole = classes.astype(np.int64)
        if np.array_equal(whole, classes):
            return whole
    raise ValueError(
        f"ONNX labels are integers or text, not {classes[:3].tolist()!r:.80}; number the classes "
        "before fit"
    )
