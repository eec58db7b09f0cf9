"""Models for other runtimes, as ONNX graphs in double precision: weighted sums of members, and corrections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.models.model import Model
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.onnx import DOMAIN, DOMAIN_VERSION, add_trees

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


def _onnx() -> Any:
    """The package, which is optional."""
    try:
        import onnx
    except ImportError:
        raise OnnxMissing("onnx is not installed; type: pip install 'fairlevel[onnx]'.") from None
    return onnx


def write_onnx(model: Model, features: Sequence[str], path: Path, notes: Mapping[str, Any] | None = None) -> None:
    """Input ``X`` (row, feature) in double, output ``prediction`` (row,) in units of y. The metadata hold the names of
    the features, and ``notes``, as JSON.
    """
    onnx = _onnx()
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
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
    inputs = [helper.make_tensor_value_info("X", double, ["rows", len(features)])]
    outputs = [helper.make_tensor_value_info("prediction", double, ["rows"])]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "fairlevel", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, DOMAIN_VERSION)],
        ir_version=10,
        producer_name="fairlevel",
    )
    metadata = {"features": list(features), **(notes or {})}
    helper.set_model_props(made, {name: json.dumps(value, default=str) for name, value in metadata.items()})
    onnx.checker.check_model(made)
    write_whole(path, lambda partial: onnx.save(made, str(partial)))


def write_corrected_onnx(model: Any, path: Path) -> None:
    """scale · f0(X) + intercept + trees(X) as one graph, the user's own followed by the correction; ``model`` is the
    model as it was read, or its correction. The first output of the user's graph is corrected; its name is kept.
    """
    onnx = _onnx()
    made = onnx.load(str(getattr(model, "original", model).path))
    if hasattr(model, "added"):
        _append_correction(onnx, made, model.added)
    onnx.checker.check_model(made)
    onnx.save(made, str(path))


def _append_correction(onnx: Any, made: Any, added: Any) -> None:
    if added.columns is not None and added.columns.categorical:
        raise InvalidInput("A correction that reads categories cannot be written as ONNX; pass numbers only.")
    (given,), output, double = made.graph.input, made.graph.output[0], onnx.TensorProto.DOUBLE
    name, before = output.name, f"{output.name}_before"
    for node in made.graph.node:
        node.output[:] = [before if each == name else each for each in node.output]
        node.input[:] = [before if each == name else each for each in node.input]
    graph = Graph(prefix="fairlevel_")
    trees = add_trees(graph, graph.apply("Cast", given.name, to=double), LightGBMText.read(added.trees))  # (row, 1)
    change = graph.apply("Add", trees, graph.constant(np.array(added.intercept)))
    scaled = graph.apply("Mul", graph.apply("Cast", before, to=double), graph.constant(np.array(added.scale)))
    total = graph.apply("Add", scaled, graph.apply("Reshape", change, graph.apply("Shape", before)))
    graph.named(name, "Cast", total, to=output.type.tensor_type.elem_type)
    made.graph.node.extend(graph.nodes)
    made.graph.initializer.extend(graph.constants)
    versions = {each.domain: each for each in made.opset_import}
    if DOMAIN not in versions:
        made.opset_import.append(onnx.helper.make_opsetid(DOMAIN, DOMAIN_VERSION))
    else:
        versions[DOMAIN].version = max(versions[DOMAIN].version, DOMAIN_VERSION)
    made.ir_version = max(made.ir_version, 10)
