"""Nodes and constants of an ONNX graph in the making."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Graph:
    """Adds nodes one after the other; values are known by their names."""

    def __init__(self, onnx: Any, dtype: "np.dtype[Any]") -> None:
        self._onnx = onnx
        self.dtype = dtype  # of all numbers that are not counts
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.n_bytes = 0

    def add(self, operator: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        """A node; the name of what it gives."""
        name = output or f"value{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **options))
        return name

    def constant(self, value: Any) -> str:
        """Numbers in the precision of the graph, or integers and text as they are."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        name = f"constant{len(self.constants)}"
        tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        if array.ndim == 0:
            tensor = self._onnx.numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        self.n_bytes += array.nbytes
        return name

    def stretched(self, rows: str, factor: "NDArray[Any]") -> str:
        """Each feature times its factor.

        A single factor is a matrix: runtimes that join it to a later product of double numbers
        round it to single if they see a scalar.
        """
        constant = self.constant(np.reshape(factor, (1, -1)))
        return self.add("Mul" if np.size(factor) > 1 else "MatMul", rows, constant)

    def row_sums(self, values: str, axis: int = 1, keep: bool = True) -> str:
        """Sums along an axis."""
        axes = self.constant(np.array([axis], np.int64))
        return self.add("ReduceSum", values, axes, keepdims=int(keep))

    def scaled(self, values: str, factor: float, shift: float = 0.0) -> str:
        """factor values + shift."""
        product = self.add("Mul", values, self.constant(factor))
        return self.add("Add", product, self.constant(shift)) if shift else product
