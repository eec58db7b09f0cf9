"""Models for other runtimes, as ONNX graphs in double precision: weighted sums of members, and corrections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.models.model import Model
from fairlevel.onnx_graph import OnnxGraph, OnnxValue
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.onnx import DOMAIN, DOMAIN_VERSION, add_trees

OPSET = 17


class OnnxMissing(FairLevelError, ImportError):
    """ONNX was asked for and is not installed."""


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
    graph = OnnxGraph()
    rows, start, sums = OnnxValue(graph, "X"), 0, []
    for group in model.groups:
        weighted = group.add_to(graph, rows) * model.proportions[start : start + len(group), None, None]
        sums.append(graph.apply("ReduceSum", weighted, np.array([0, 2]), keepdims=0))
        start += len(group)
    graph.apply("Add", graph.apply("Sum", *sums) * model.y_scaler.scale, model.y_scaler.mean, name="prediction")
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
    original = getattr(model, "original", model)
    made = onnx.load(str(original.path))
    if original is not model:
        _append_correction(onnx, made, model)
    onnx.checker.check_model(made)
    onnx.save(made, str(path))


def _append_correction(onnx: Any, made: Any, correction: Any) -> None:
    if correction.columns is not None and correction.columns.categorical:
        raise InvalidInput("A correction that reads categories cannot be written as ONNX; pass numbers only.")
    graph, output, double = OnnxGraph("fairlevel_"), made.graph.output[0], onnx.TensorProto.DOUBLE
    rows, before = OnnxValue(graph, made.graph.input[0].name), OnnxValue(graph, f"{output.name}_before")
    for node in made.graph.node:
        node.output[:] = [before.name if name == output.name else name for name in node.output]
        node.input[:] = [before.name if name == output.name else name for name in node.input]
    trees = add_trees(graph, graph.apply("Cast", rows, to=double), LightGBMText.read(correction.trees))  # (row, 1)
    change = graph.apply("Reshape", trees + correction.intercept, graph.apply("Shape", before))
    total = graph.apply("Cast", before, to=double) * correction.scale + change
    graph.apply("Cast", total, name=output.name, to=output.type.tensor_type.elem_type)
    made.graph.node.extend(graph.nodes)
    made.graph.initializer.extend(graph.constants)
    versions = {each.domain: each for each in made.opset_import}
    if DOMAIN not in versions:
        made.opset_import.append(onnx.helper.make_opsetid(DOMAIN, DOMAIN_VERSION))
    else:
        versions[DOMAIN].version = max(versions[DOMAIN].version, DOMAIN_VERSION)
    made.ir_version = max(made.ir_version, 10)
