"""Members, learner and factory of predictors that are an :class:`InputMap` followed by a tanh :class:`Network`.

All networks of a grid are rows of one parameter matrix; nothing outside this file reads that matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.networks.network import Kept, Network
from fairlevel.networks.optimizers import Optimizer
from fairlevel.onnx_graph import OnnxGraph
from fairlevel.predictors.configurations import Configurations
from fairlevel.predictors.input_map import InputMap
from fairlevel.predictors.protocol import PATIENCE, Surroundings, Tiling

TILE_MULTIPLE = 2
"""Every tile is filled to a multiple of this with copies of its last configuration. A batched product of one matrix
runs other code than one of several, so without this the last bits of a result would depend on the size of the grid. It
is also the tile size for many rows on a CPU: two keep the activations of a few thousand rows in cache."""

_COMPILED_TILES = {500: 16, 4000: 8}  # {at most so many rows: configurations per tile}
_PYTORCH_TILES = {1000: 16, 4000: 8, 20_000: 4}

_NUMBERS_AT_ONCE = 2**25  # activations of one layer computed together in a prediction


@dataclass(frozen=True)
class NetworkMembers:
    """Networks of one shape on one input map. Shapes: parameters (member, parameter)."""

    network: Network
    input_map: InputMap
    parameters: Tensor

    kind: ClassVar[str] = "networks"
    native: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.parameters)

    @torch.no_grad()
    def predict(self, x: Array, device: torch.device | str = "cpu") -> Array:
        parameters = self.parameters.to(device, torch.float64)
        waves = 0 if self.input_map.frequencies is None else self.input_map.frequencies.shape[1]
        widest = max(*self.network.hidden, self.network.inputs, waves, 1)
        size = max(1, _NUMBERS_AT_ONCE // (max(1, len(parameters)) * widest))
        blocks = []
        for start in range(0, max(len(x), 1), size):
            rows = torch.from_numpy(np.array(x[start : start + size], dtype=np.float64))  # x may be read-only
            inputs = self.input_map(rows.to(device))
            blocks.append(self.network.predict(parameters, inputs).cpu())
        predictions: Array = torch.cat(blocks, dim=1).numpy()
        return predictions

    def take(self, index: Index) -> Self:
        return replace(self, parameters=self.parameters[torch.from_numpy(np.array(index, dtype=np.int64))])

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, parameters=torch.cat([each.parameters for each in (self, *others)]))

    @torch.no_grad()
    def features(self, x: Array) -> Tensor:
        inputs = self.input_map(torch.from_numpy(np.array(x, dtype=np.float64)))
        if not self.network.hidden:
            return inputs
        activations = self.network.forward_all(self.parameters.double(), inputs)[1][-1]
        return activations.transpose(0, 1).flatten(1)

    def with_heads(self, coefficients: Tensor, intercepts: Tensor) -> tuple[NetworkMembers, int]:
        """Each head is a linear function of the last hidden units of all members. It becomes one member per body, whose
        outputs are summed; the first carries the intercept.
        """
        last = self.network.layers[-1]
        bodies = self.parameters if self.network.hidden else self.parameters[:1]
        heads = bodies.double().repeat(len(coefficients), 1, 1)  # (head, body, parameter)
        heads[:, :, last.weight] = coefficients.reshape(len(coefficients), len(bodies), -1)
        heads[:, :, last.bias] = 0
        heads[:, 0, last.bias] = intercepts.unsqueeze(1)
        return replace(self, parameters=heads.flatten(0, 1)), len(bodies)

    def arrays(self) -> dict[str, Tensor]:
        mapped = {field.name: getattr(self.input_map, field.name) for field in fields(self.input_map)}
        present = {f"input_{name}": value for name, value in mapped.items() if value is not None}
        return {"parameters": self.parameters.contiguous(), **present}

    def texts(self) -> dict[str, str]:
        return {}

    def description(self) -> dict[str, Any]:
        return {"inputs": self.network.inputs, "hidden": list(self.network.hidden)}

    @classmethod
    def from_file(cls, arrays: Mapping[str, Tensor], texts: Mapping[str, str], description: Mapping[str, Any]) -> Self:
        network = Network(int(description["inputs"]), tuple(int(width) for width in description["hidden"]))
        parameters = arrays["parameters"]
        if parameters.ndim != 2 or parameters.shape[1] != network.size:
            raise ValueError(f"parameters of shape {tuple(parameters.shape)} for networks of {network.size} parameters")
        mapped = {field.name: arrays.get(f"input_{field.name}") for field in fields(InputMap)}
        input_map = InputMap(**mapped)
        input_map.require_shape(int(description["n_features"]), network.inputs)
        return cls(network, input_map, parameters)

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        signal, mapped = inputs, self.input_map
        if mapped.mean is not None and mapped.inverse_scale is not None:
            centred = graph.apply("Sub", signal, graph.constant(mapped.mean.double().numpy()))
            signal = graph.apply("Mul", centred, graph.constant(mapped.inverse_scale.double().numpy()))
        if mapped.frequencies is not None and mapped.phases is not None:
            angles = graph.apply("MatMul", signal, graph.constant(mapped.frequencies.double().numpy()))
            cosines = graph.apply("Cos", graph.apply("Add", angles, graph.constant(mapped.phases.double().numpy())))
            signal = graph.apply("Mul", cosines, graph.constant(np.array(2**0.5)))
        if mapped.centre is not None and mapped.mixing is not None:
            centred = graph.apply("Sub", signal, graph.constant(mapped.centre.double().numpy()))
            signal = graph.apply("MatMul", centred, graph.constant(mapped.mixing.double().numpy()))
        parameters = self.parameters.double().numpy()
        for number, layer in enumerate(self.network.layers):
            weight = parameters[:, layer.weight].reshape(len(parameters), *layer.shape)  # (member, input, unit)
            bias = parameters[:, layer.bias][:, None, :]
            product = graph.apply("MatMul", signal, graph.constant(weight))
            signal = graph.apply("Add", product, graph.constant(bias))
            if number + 1 < len(self.network.layers):
                signal = graph.apply("Tanh", signal)
        return signal


class NetworkLearner:
    """Networks in training: :meth:`follow` back-propagates a gradient in the predictions (a vector-Jacobian product),
    divided by ``curvature``, and takes one optimiser step in place. Shapes: parameters (config, parameter).
    """

    def __init__(
        self,
        network: Network,
        input_map: InputMap,
        start: Tensor,
        configurations: Configurations,
        optimizer: Optimizer,
    ) -> None:
        self._network, self._input_map, self._optimizer = network, input_map, optimizer
        self._parameters = start.repeat(len(configurations), 1)
        self._moments = optimizer.init(self._parameters)
        self._count = torch.zeros((), dtype=torch.float64, device=start.device)
        self._rate = configurations.learning_rate.to(self._parameters)
        self._snapshot = self._parameters.clone()
        self._kept: Kept = ()

    @property
    def changing(self) -> tuple[Tensor, ...]:
        return (self._parameters, *(self._moments or ()), self._count)

    def predictions(self, inputs: Tensor) -> Tensor:
        prediction, self._kept = self._network.forward(self._parameters, inputs)
        return prediction

    def follow(self, gradient: Tensor, curvature: Tensor, around: Surroundings) -> None:
        scaled = gradient * curvature.reciprocal().unsqueeze(1)
        slope = self._network.pullback(self._parameters, self._kept, scaled)
        self._optimizer.update(self._parameters, slope, self._moments, self._rate, self._count)
        self._count += 1

    def evaluate(self, inputs: Tensor) -> Tensor:
        return self._network.predict(self._parameters, inputs)

    def snapshot(self, which: Tensor) -> None:
        self._snapshot = torch.where(which.unsqueeze(1), self._parameters, self._snapshot)

    def restore(self) -> None:
        self._parameters.copy_(self._snapshot)

    def model(self, configs: int) -> NetworkMembers:
        return NetworkMembers(self._network, self._input_map, self._parameters[:configs].cpu())


@dataclass(frozen=True)
class NetworkFactory:
    """An input map fitted on (a sample of) the training rows, and the network that reads its output."""

    network: Network
    input_map: InputMap
    seed: int
    device: torch.device

    @classmethod
    def of(cls, input_map: InputMap, hidden: tuple[int, ...], x: Tensor, seed: int, device: torch.device) -> Self:
        """``x``: at least one row, (row, feature); only its width is read."""
        return cls(Network(input_map(x[:1]).shape[1], hidden), input_map, seed, device)

    @property
    def patience(self) -> int:
        return PATIENCE

    def steps(self, optimizer: Optimizer) -> int:
        return optimizer.steps

    def inputs(self, x: Tensor) -> Tensor:
        return self.input_map(x).to(self.device, torch.float32)

    def tiling(self, rows: int, configs: int) -> Tiling:
        if self.device.type != "cpu":
            return Tiling(configs, TILE_MULTIPLE)
        start = self.network.init(self.seed).unsqueeze(0)
        compiled = self.network.backend(start, start.new_empty(0, self.network.inputs)) is not None
        tiles = _COMPILED_TILES if compiled else _PYTORCH_TILES  # compiled code uses all cores for one tile
        size = next((size for most, size in tiles.items() if rows <= most), TILE_MULTIPLE)
        return Tiling(size, TILE_MULTIPLE, 1 if compiled else torch.get_num_threads())

    def learner(self, configurations: Configurations, optimizer: Optimizer) -> NetworkLearner:
        start = self.network.init(self.seed).to(self.device)
        return NetworkLearner(self.network, self.input_map, start, configurations, optimizer)
