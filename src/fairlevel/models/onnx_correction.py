"""A corrected ONNX model: the user's graph, followed by the correction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairlevel.exceptions import InvalidInput
from fairlevel.models.onnx import Graph, OnnxMissing
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.onnx import DOMAIN, DOMAIN_VERSION, add_trees


def write_corrected_onnx(model: Any, path: Path) -> None:
    """scale · f0(X) + intercept + trees(X) as one graph; ``model`` is the model as it was read, or its correction.

    The first output of the user's graph is corrected; its name is kept.
    """
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError:
        raise OnnxMissing("onnx is not installed; type: pip install 'fairlevel[onnx]'.") from None
    original = getattr(model, "original", model)
    loaded = onnx.load(str(original.path))
    if model is not original:
        (given,), output = loaded.graph.input, loaded.graph.output[0]
        name, before = output.name, f"{output.name}_before"
        for node in loaded.graph.node:
            node.output[:] = [before if each == name else each for each in node.output]
            node.input[:] = [before if each == name else each for each in node.input]
        graph = Graph(prefix="fairlevel_")
        rows = graph.apply("Cast", given.name, to=TensorProto.DOUBLE)
        if model.added.columns is not None and model.added.columns.categorical:
            raise InvalidInput("A correction that reads categories cannot be written as ONNX; pass numbers only.")
        trees = add_trees(graph, rows, LightGBMText.read(model.added.trees))  # (row, 1)
        change = graph.apply("Add", trees, graph.constant(np.array(model.added.intercept)))
        shape = graph.apply("Shape", before)
        scaled = graph.apply(
            "Mul", graph.apply("Cast", before, to=TensorProto.DOUBLE), graph.constant(np.array(model.added.scale))
        )
        total = graph.apply("Add", scaled, graph.apply("Reshape", change, shape))
        graph.named(name, "Cast", total, to=output.type.tensor_type.elem_type)
        loaded.graph.node.extend(graph.nodes)
        loaded.graph.initializer.extend(graph.constants)
        known = {each.domain: each for each in loaded.opset_import}
        if DOMAIN not in known:
            loaded.opset_import.append(helper.make_opsetid(DOMAIN, DOMAIN_VERSION))
        elif known[DOMAIN].version < DOMAIN_VERSION:
            known[DOMAIN].version = DOMAIN_VERSION
        loaded.ir_version = max(loaded.ir_version, 10)
    onnx.checker.check_model(loaded)
    onnx.save(loaded, str(path))
