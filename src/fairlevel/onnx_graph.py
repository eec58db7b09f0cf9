"""An ONNX graph under construction. Its values take NumPy's operators, so that a member's own formula writes it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

_OPERATIONS: dict[Any, str] = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.divide: "Div",
    np.matmul: "MatMul",
    np.cos: "Cos",
    np.tanh: "Tanh",
}


class OnnxGraph:
    """Nodes and constants in the order in which they were added; values are known by name."""

    def __init__(self, prefix: str = "") -> None:
        from onnx import helper, numpy_helper

        self._prefix = prefix
        self._node, self._tensor = helper.make_node, numpy_helper.from_array
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def tensor(self, value: Any, name: str | None = None) -> Any:
        """An array as an attribute of an operation, or under a name."""
        return self._tensor(np.ascontiguousarray(value), name)

    def apply(self, operation: str, *inputs: Any, name: str | None = None, **attributes: Any) -> OnnxValue:
        """Add an operation on values or arrays; its result may be given a name."""
        name = name or f"{self._prefix}v{len(self.nodes)}"
        self.nodes.append(self._node(operation, [self._name_of(value) for value in inputs], [name], **attributes))
        return OnnxValue(self, name)

    def _name_of(self, value: Any) -> str:
        if isinstance(value, OnnxValue):
            return value.name
        name = f"{self._prefix}c{len(self.constants)}"
        self.constants.append(self.tensor(value, name))
        return name


class OnnxValue(NDArrayOperatorsMixin):
    """A value of a graph, in 64 bits. NumPy's operators on it, with arrays of numbers, become operations of ONNX."""

    dtype = np.dtype(np.float64)

    def __init__(self, graph: OnnxGraph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, out: Any = None) -> OnnxValue:
        """What would be written into ``out`` is a new value."""
        return self.graph.apply(_OPERATIONS[function], *inputs)
