"""Trained tanh networks: prediction in NumPy, files, ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.extras import networks
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.protocol import Device, Written
from fairlevel.onnx_graph import OnnxGraph, OnnxValue

_NUMBERS_AT_ONCE = {"cpu": 2**19, "gpu": 2**25}  # activations of a layer; 4 MiB stay in a CPU's cache


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
        """On a GPU, by the network that was trained."""
        here, waves = str(device) == "cpu", self.input_map.frequencies
        widest = max(*self.layout.hidden, self.layout.inputs, 1 if waves is None else waves.shape[1])
        size = max(1, _NUMBERS_AT_ONCE["cpu" if here else "gpu"] // (max(1, len(self)) * widest))
        predictions = np.empty((len(self), len(x)))
        for start in range(0, len(x), size):
            rows = slice(start, start + size)
            inputs = self.input_map(np.asarray(x[rows], dtype=np.float64))
            if here:
                predictions[:, rows] = self._outputs(inputs)[:, :, 0]
            else:
                predict_on = networks("network_stack").predict_on
                predictions[:, rows] = predict_on(device, self.layout, self.parameters, inputs)
        return predictions

    def _outputs(self, inputs: Any) -> Any:
        """(row, input) -> (member, row, 1)."""
        weight, bias = self._layer(-1)
        return np.matmul(self._last_hidden(inputs), weight) + bias

    def _last_hidden(self, inputs: Any) -> Any:
        """What the last layer reads: (row, input) -> (member, row, unit), or (row, input) where nothing is hidden."""
        signal = inputs
        for depth in range(len(self.layout.hidden)):
            weight, bias = self._layer(depth)
            signal = np.matmul(signal, weight)
            signal += bias
            signal = np.tanh(signal, out=signal)
        return signal

    def _layer(self, depth: int) -> tuple[Array, Array]:
        """Weight (member, input, unit) and bias (member, 1, unit) of a layer, in float64."""
        layer = self.layout.layers[depth]
        values = self.parameters.astype(np.float64, copy=False)
        return values[:, layer.weight].reshape(len(values), *layer.shape), values[:, layer.bias][:, None, :]

    def take(self, index: Index) -> Self:
        return replace(self, parameters=self.parameters[np.asarray(index, dtype=np.int64)])

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, parameters=np.concatenate([each.parameters for each in (self, *others)]))

    def features(self, x: Array) -> Array:
        signal: Array = self._last_hidden(self.input_map(np.asarray(x, dtype=np.float64)))
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

    def written(self) -> Written:
        mapped = {f"input_{field.name}": getattr(self.input_map, field.name) for field in fields(self.input_map)}
        arrays = {"parameters": self.parameters} | {name: value for name, value in mapped.items() if value is not None}
        return Written({"inputs": self.layout.inputs, "hidden": list(self.layout.hidden)}, arrays)

    @classmethod
    def from_file(cls, written: Written, module: Any = None) -> Self:
        description, arrays = written.description, written.arrays
        layout = Layout(int(description["inputs"]), tuple(map(int, description["hidden"])))
        input_map = InputMap(**{field.name: arrays.get(f"input_{field.name}") for field in fields(InputMap)})
        return cls(layout, input_map, arrays["parameters"])

    def add_to(self, graph: OnnxGraph, inputs: OnnxValue) -> OnnxValue:
        outputs: OnnxValue = self._outputs(self.input_map(inputs))
        return outputs
