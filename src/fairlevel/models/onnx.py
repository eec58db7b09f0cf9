"""Models for other runtimes: the weighted sum of members as an ONNX graph in double precision."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import FairLevelError
from fairlevel.models.model import Model
from fairlevel.trees.onnx import DOMAIN, DOMAIN_VERSION

OPSET = 17


class OnnxMissing(FairLevelError, ImportError):
    """ONNX was asked for and is not installed."""


class Graph:
    """Nodes and constants in the order in which they were added."""

    def __init__(self, prefix: str = "") -> None:
        from onnx import helper, numpy_helper

        self._prefix = prefix
        self._node, self._tensor = helper.make_node, numpy_helper.from_array
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Array) -> str:
        name = f"{self._prefix}c{len(self.constants)}"
        self.constants.append(self._tensor(np.ascontiguousarray(value), name))
        return name

    def tensor(self, value: Array) -> Any:
        return self._tensor(np.ascontiguousarray(value))

    def apply(self, operation: str, *inputs: str, **attributes: Any) -> str:
        return self.named(f"{self._prefix}v{len(self.nodes)}", operation, *inputs, **attributes)

    def named(self, name: str, operation: str, *inputs: str, **attributes: Any) -> str:
        """The same with a chosen name for the result."""
        self.nodes.append(self._node(operation, list(inputs), [name], **attributes))
        return name


def write_onnx(model: Model, features: Sequence[str], path: Path, notes: Mapping[str, Any] | None = None) -> None:
    """Input ``X`` (row, feature) in double, output ``prediction`` (row,) in units of y. The metadata hold the names of
    the features, and ``notes``, as JSON.
    """
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError:
        raise OnnxMissing("onnx is not installed; type: pip install 'fairlevel[onnx]'.") from None
    graph = Graph()
    sums, start = [], 0
    for group in model.groups:
        proportions = model.proportions[start : start + len(group)][:, None, None]
        weighted = graph.apply("Mul", group.add_to(graph, "X"), graph.constant(proportions))
        sums.append(graph.apply("ReduceSum", weighted, graph.constant(np.array([0, 2])), keepdims=0))
        start += len(group)
    total = sums[0] if len(sums) == 1 else graph.apply("Sum", *sums)
    scaled = graph.apply("Mul", total, graph.constant(np.asarray(model.y_scaler.scale, dtype=np.float64)))
    graph.named("prediction", "Add", scaled, graph.constant(np.asarray(model.y_scaler.mean, dtype=np.float64)))
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "fairlevel",
            [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", len(features)])],
            [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, ["rows"])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, DOMAIN_VERSION)],
        ir_version=10,
        producer_name="fairlevel",
    )
    metadata = {"features": list(features), **(notes or {})}
    helper.set_model_props(made, {name: json.dumps(value, default=str) for name, value in metadata.items()})
    onnx.checker.check_model(made)
    write_whole(path, lambda partial: onnx.save(made, str(partial)))
