"""Learner and members of predictors that are stacked networks: the only place that knows their parameters.

Such a predictor is a fixed :class:`InputMap` followed by a :class:`Network`; it says which.
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
from fairlevel.predictors.configurations import Configurations
from fairlevel.predictors.input_map import InputMap
from fairlevel.predictors.protocol import OnnxGraph, Tiling

PAIR = 2
"""Configurations trained together on a CPU, at least. Products of several matrices take another path through the
library than products of one, so a single fit is filled up to two. A configuration then meets the same arithmetic, bit
for bit, whatever else is in the grid. Two also keep the activations of a few thousand rows in cache."""

_COMPILED_TILES = {500: 16, 4000: 8}  # up to so many rows: so many configurations together
_PYTORCH_TILES = {1000: 16, 4000: 8, 20_000: 4}

_NUMBERS_AT_ONCE = 2**25  # activations of one layer computed together in a prediction


@dataclass(frozen=True)
class NetworkMembers:
    """Networks of one shape on one input map. Shapes: parameters (member, parameter)."""

    network: Network
    input_map: InputMap
    parameters: Tensor

    kind: ClassVar[str] = "networks"

    def __len__(self) -> int:
        return len(self.parameters)

    @torch.no_grad()
    def predict(self, x: Array, device: torch.device | str = "cpu") -> Array:
        parameters = self.parameters.to(device, torch.float64)
        widest = max((*self.network.hidden, 1))
        size = max(1, _NUMBERS_AT_ONCE // (max(1, len(parameters)) * widest))
        blocks = []
        for start in range(0, max(len(x), 1), size):
            inputs = self.input_map(torch.from_numpy(np.ascontiguousarray(x[start : start + size])).to(device).double())
            blocks.append(self.network.predict(parameters, inputs).cpu())
        predictions: Array = torch.cat(blocks, dim=1).numpy()
        return predictions

    def take(self, index: Index) -> Self:
        return replace(self, parameters=self.parameters[torch.from_numpy(np.array(index, dtype=np.int64))])

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, parameters=torch.cat([each.parameters for each in (self, *others)]))

    @torch.no_grad()
    def features(self, x: Array) -> Tensor:
        inputs = self.input_map(torch.from_numpy(x)).double()
        if not self.network.hidden:
            return inputs
        activations = self.network.forward_all(self.parameters.double(), inputs)[1][-1]
        return activations.transpose(0, 1).flatten(1)

    def with_heads(self, coefficients: Tensor, intercepts: Tensor) -> tuple[NetworkMembers, int]:
        """Only the last layers differ from these members; the intercept goes to the first member of a head."""
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

    def description(self) -> dict[str, Any]:
        return {"inputs": self.network.inputs, "hidden": list(self.network.hidden)}

    @classmethod
    def from_file(cls, arrays: Mapping[str, Tensor], description: Mapping[str, Any]) -> Self:
        network = Network(int(description["inputs"]), tuple(int(width) for width in description["hidden"]))
        parameters = arrays["parameters"]
        if parameters.ndim != 2 or parameters.shape[1] != network.size:
            raise ValueError(f"parameters of shape {tuple(parameters.shape)} for networks of {network.size} parameters")
        mapped = {field.name: arrays.get(f"input_{field.name}") for field in fields(InputMap)}
        return cls(network, InputMap(**mapped), parameters)

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        signal, mapped = inputs, self.input_map
        if mapped.frequencies is not None and mapped.phases is not None:
            turns = graph.apply("MatMul", signal, graph.constant(mapped.frequencies.double().numpy()))
            waves = graph.apply("Cos", graph.apply("Add", turns, graph.constant(mapped.phases.double().numpy())))
            signal = graph.apply("Mul", waves, graph.constant(np.array(2**0.5)))
        if mapped.centre is not None and mapped.mixing is not None:
            centred = graph.apply("Sub", signal, graph.constant(mapped.centre.double().numpy()))
            signal = graph.apply("MatMul", centred, graph.constant(mapped.mixing.double().numpy()))
        parameters = self.parameters.double().numpy()
        for number, layer in enumerate(self.network.layers):
            weight = parameters[:, layer.weight].reshape(-1, *layer.shape)  # (member, input, unit)
            bias = parameters[:, layer.bias][:, None, :]
            product = graph.apply("MatMul", signal, graph.constant(weight))
            signal = graph.apply("Add", product, graph.constant(bias))
            if number + 1 < len(self.network.layers):
                signal = graph.apply("Tanh", signal)
        return signal


class NetworkLearner:
    """Stacked networks that follow a gradient by one pullback and one step of an optimiser, in place.

    Shapes: parameters (config, parameter).
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
    def steps(self) -> int:
        return self._optimizer.steps

    @property
    def changing(self) -> tuple[Tensor, ...]:
        return (self._parameters, *(self._moments or ()), self._count)

    def predictions(self, inputs: Tensor) -> Tensor:
        prediction, self._kept = self._network.forward(self._parameters, inputs)
        return prediction

    def follow(self, gradient: Tensor, curvature: Tensor) -> None:
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
    """An input map fitted on the training rows, and the network that stands on it."""

    network: Network
    input_map: InputMap
    seed: int
    device: torch.device

    @classmethod
    def of(cls, input_map: InputMap, hidden: tuple[int, ...], x: Tensor, seed: int, device: torch.device) -> Self:
        """``x`` are some rows, (row, feature)."""
        return cls(Network(input_map(x[:1]).shape[1], hidden), input_map, seed, device)

    def inputs(self, x: Tensor) -> Tensor:
        return self.input_map(x).to(self.device, torch.float32)

    def tiling(self, rows: int, configs: int) -> Tiling:
        if self.device.type != "cpu":
            return Tiling(configs, PAIR)
        start = self.network.init(self.seed).unsqueeze(0)
        compiled = self.network.backend(start, start.new_empty(0, self.network.inputs)) is not None
        tiles = _COMPILED_TILES if compiled else _PYTORCH_TILES  # compiled code uses all cores for one tile
        size = next((size for most, size in tiles.items() if rows <= most), PAIR)
        return Tiling(size, PAIR, 1 if compiled else torch.get_num_threads())

    def learner(self, configurations: Configurations, optimizer: Optimizer) -> NetworkLearner:
        start = self.network.init(self.seed).to(self.device)
        return NetworkLearner(self.network, self.input_map, start, configurations, optimizer)
