"""Models for other runtimes: the weighted sum of networks as an ONNX graph in double precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.estimators.model import WeightedNetworks
from fairlevel.exceptions import FairLevelError

OPSET = 17


class OnnxMissing(FairLevelError, ImportError):
    """ONNX was asked for and is not installed."""


def write_onnx(model: WeightedNetworks, path: Path) -> None:
    """Input ``X`` (row, feature) in double, output ``prediction`` (row,) in units of y."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise OnnxMissing("onnx is not installed; type: pip install 'fairlevel[onnx]'.") from None
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(value: Array) -> str:
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def apply(operation: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(operation, list(inputs), [name], **attributes))
        return name

    scale = model.x_scaler.scale
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    signal = apply("Mul", apply("Sub", "X", constant(model.x_scaler.mean)), constant(inverse))
    mapped = model.input_map
    if mapped.frequencies is not None and mapped.phases is not None:
        turns = apply("MatMul", signal, constant(mapped.frequencies.double().numpy()))
        waves = apply("Cos", apply("Add", turns, constant(mapped.phases.double().numpy())))
        signal = apply("Mul", waves, constant(np.array(2**0.5)))
    if mapped.centre is not None and mapped.mixing is not None:
        centred = apply("Sub", signal, constant(mapped.centre.double().numpy()))
        signal = apply("MatMul", centred, constant(mapped.mixing.double().numpy()))
    parameters = model.parameters.double().numpy()
    for number, layer in enumerate(model.network.layers):
        weight = parameters[:, layer.weight].reshape(-1, *layer.shape)  # (network, input, unit)
        bias = parameters[:, layer.bias][:, None, :]
        signal = apply("Add", apply("MatMul", signal, constant(weight)), constant(bias))
        if number + 1 < len(model.network.layers):
            signal = apply("Tanh", signal)
    shares = constant(model.shares.double().numpy()[:, None, None])
    summed = apply("ReduceSum", apply("Mul", signal, shares), constant(np.array([0, 2])), keepdims=0)
    scaled = apply("Mul", summed, constant(np.asarray(model.y_scaler.scale, dtype=np.float64)))
    nodes.append(
        helper.make_node("Add", [scaled, constant(np.asarray(model.y_scaler.mean, dtype=np.float64))], ["prediction"])
    )
    features = len(np.atleast_1d(model.x_scaler.mean))
    graph = helper.make_graph(
        nodes,
        "fairlevel",
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", features])],
        [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, ["rows"])],
        constants,
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="fairlevel"
    )
    onnx.checker.check_model(made)
    partial = path.with_name(f".{path.name}.partial")
    try:
        onnx.save(made, str(partial))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
