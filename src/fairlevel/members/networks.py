"""Trained tanh networks: prediction in NumPy, files, ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.extras import networks
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.protocol import Device
from fairlevel.onnx_graph import OnnxGraph

_NUMBERS_AT_ONCE = 2**19  # activations of one layer computed together: 4 MiB, which stay in a CPU's cache
_NUMBERS_AT_ONCE_ON_A_GPU = 2**25


@dataclass(frozen=True)
class NetworkMembers:
    """Networks of one shape on one input map. Shapes: parameters (member, parameter)."""

    layout: Layout
    input_map: InputMap
    parameters: Array

    kind: ClassVar[str] = "networks"
    native: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.parameters)

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        if str(device) != "cpu":
            return self._predict_on(device, x)
        found = np.empty((len(self), len(x)))
        for rows in self._blocks(len(x), _NUMBERS_AT_ONCE):
            signal = self._last_hidden(self.input_map(np.asarray(x[rows], dtype=np.float64)))
            weight, bias = self._layer(-1)
            found[:, rows] = np.add(np.matmul(signal, weight), bias)[:, :, 0]
        return found

    def _last_hidden(self, inputs: Array) -> Array:
        """What the last layer reads: (row, input) -> (member, row, unit), or (row, input) where nothing is hidden."""
        signal = inputs
        for depth in range(len(self.layout.hidden)):
            weight, bias = self._layer(depth)
            signal = np.matmul(signal, weight)
            signal += bias
            np.tanh(signal, out=signal)
        return signal

    def _layer(self, depth: int) -> tuple[Array, Array]:
        """Weight (member, input, unit) and bias (member, 1, unit) of a layer, in float64."""
        layer = self.layout.layers[depth]
        values = self.parameters.astype(np.float64, copy=False)
        return values[:, layer.weight].reshape(len(values), *layer.shape), values[:, layer.bias][:, None, :]

    def _blocks(self, rows: int, numbers: int) -> list[slice]:
        """Rows that are computed together, so that the activations of a layer are at most so many numbers."""
        waves = 0 if self.input_map.frequencies is None else self.input_map.frequencies.shape[1]
        widest = max(*self.layout.hidden, self.layout.inputs, waves, 1)
        size = max(1, numbers // (max(1, len(self)) * widest))
        return [slice(start, start + size) for start in range(0, rows, size)]

    def _predict_on(self, device: Device, x: Array) -> Array:
        """The same on a GPU, by the network that was trained."""
        predict_on = networks("network_stack").predict_on
        predictions = np.empty((len(self), len(x)))
        for rows in self._blocks(len(x), _NUMBERS_AT_ONCE_ON_A_GPU):
            inputs = self.input_map(np.asarray(x[rows], dtype=np.float64))
            predictions[:, rows] = predict_on(device, self.layout, self.parameters, inputs)
        return predictions

    def take(self, index: Index) -> Self:
        return replace(self, parameters=self.parameters[np.asarray(index, dtype=np.int64)])

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, parameters=np.concatenate([each.parameters for each in (self, *others)]))

    def features(self, x: Array) -> Array:
        signal = self._last_hidden(self.input_map(np.asarray(x, dtype=np.float64)))
        return signal if not self.layout.hidden else np.swapaxes(signal, 0, 1).reshape(len(x), -1)

    def with_heads(self, coefficients: Array, intercepts: Array) -> tuple[NetworkMembers, int]:
        """Each head is a linear function of the last hidden units of all members. It becomes one member per body, whose
        outputs are summed; the first carries the intercept.
        """
        last = self.layout.layers[-1]
        bodies = self.parameters if self.layout.hidden else self.parameters[:1]
        heads = np.tile(bodies.astype(np.float64), (len(coefficients), 1, 1))  # (head, body, parameter)
        heads[:, :, last.weight] = coefficients.reshape(len(coefficients), len(bodies), -1)
        heads[:, :, last.bias] = 0
        heads[:, 0, last.bias] = intercepts[:, None]
        return replace(self, parameters=heads.reshape(-1, heads.shape[-1])), len(bodies)

    def arrays(self) -> dict[str, Any]:
        mapped = {field.name: getattr(self.input_map, field.name) for field in fields(self.input_map)}
        return {"parameters": self.parameters} | {
            f"input_{name}": value for name, value in mapped.items() if value is not None
        }

    def texts(self) -> dict[str, str]:
        return {}

    def description(self) -> dict[str, Any]:
        return {"inputs": self.layout.inputs, "hidden": list(self.layout.hidden)}

    @classmethod
    def from_file(cls, arrays: Mapping[str, Any], texts: Mapping[str, str], description: Mapping[str, Any]) -> Self:
        layout = Layout(int(description["inputs"]), tuple(int(width) for width in description["hidden"]))
        parameters = arrays["parameters"]
        if parameters.ndim != 2 or parameters.shape[1] != layout.size:
            raise ValueError(f"parameters of shape {parameters.shape} for networks of {layout.size} parameters")
        input_map = InputMap(**{field.name: arrays.get(f"input_{field.name}") for field in fields(InputMap)})
        input_map.require_shape(int(description["n_features"]), layout.inputs)
        return cls(layout, input_map, parameters)

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        signal, mapped = inputs, self.input_map
        if mapped.mean is not None and mapped.inverse_scale is not None:
            centred = graph.apply("Sub", signal, graph.constant(mapped.mean))
            signal = graph.apply("Mul", centred, graph.constant(mapped.inverse_scale))
        if mapped.frequencies is not None and mapped.phases is not None:
            angles = graph.apply("MatMul", signal, graph.constant(mapped.frequencies))
            cosines = graph.apply("Cos", graph.apply("Add", angles, graph.constant(mapped.phases)))
            signal = graph.apply("Mul", cosines, graph.constant(np.array(2**0.5)))
        if mapped.centre is not None and mapped.mixing is not None:
            centred = graph.apply("Sub", signal, graph.constant(mapped.centre))
            signal = graph.apply("MatMul", centred, graph.constant(mapped.mixing))
        for depth in range(len(self.layout.layers)):
            weight, bias = self._layer(depth)
            product = graph.apply("MatMul", signal, graph.constant(weight))
            signal = graph.apply("Add", product, graph.constant(bias))
            if depth < len(self.layout.hidden):
                signal = graph.apply("Tanh", signal)
        return signal
