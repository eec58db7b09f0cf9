"""Learner and factory of predictors that are an :class:`InputMap` followed by a tanh :class:`Network`.

All networks of a grid are rows of one parameter matrix; nothing outside this file reads that matrix.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from fairlevel.arrays import Array, Flags
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.backend import TorchBackend, resolve_device
from fairlevel.networks.network import Kept, Network
from fairlevel.networks.optimizers import Optimizer
from fairlevel.predictors.protocol import Configurations, Curvature, Learner, LearnerFactory, Tiling
from fairlevel.threads import workers

_TILES = {1000: 16, 4000: 8, 20_000: 4}
"""{at most so many rows: networks per tile}; two of more rows keep their activations in cache."""


def predict_on(device: torch.device | str, layout: Layout, parameters: Array, inputs: Array) -> Array:
    """Predictions of networks in float64 on a device: (member, parameter), (row, input) -> (member, row)."""
    network = Network(layout.inputs, layout.hidden)
    values = network.predict(*(torch.from_numpy(numbers).to(device, torch.float64) for numbers in (parameters, inputs)))
    predictions: Array = values.cpu().numpy()
    return predictions


class ParameterLearner(Learner):
    """Models whose parameters are the rows of one matrix, (config, parameter), which an optimiser changes in place. The
    number of steps taken is a tensor, so that steps can be recorded.
    """

    def __init__(self, start: Tensor, configurations: Configurations, optimizer: Optimizer) -> None:
        self._optimizer, self._parameters = optimizer, start.repeat(len(configurations), 1)
        self._moments = optimizer.init(self._parameters)
        self._count = torch.zeros((), dtype=torch.float64, device=start.device)
        self._rate = torch.as_tensor(configurations.learning_rate).to(self._parameters)
        self._snapshot = self._parameters.clone()

    def follow(self, gradient: Tensor, curvature: Curvature) -> None:
        slope = self.pullback(gradient * curvature.bound.reciprocal().unsqueeze(1))
        self._optimizer.update(self._parameters, slope, self._moments, self._rate, self._count)
        self._count += 1

    @abstractmethod
    def pullback(self, gradient: Tensor) -> Tensor:
        """The vector-Jacobian product of the last predictions: (config, row) -> (config, parameter)."""

    def snapshot(self, which: Flags) -> None:
        now = torch.from_numpy(which).to(self._parameters.device)
        self._snapshot = torch.where(now.unsqueeze(1), self._parameters, self._snapshot)

    def restore(self) -> None:
        self._parameters.copy_(self._snapshot)


class NetworkLearner(ParameterLearner):
    """Networks in training."""

    def __init__(
        self, network: Network, input_map: InputMap, start: Tensor, configurations: Configurations, optimizer: Optimizer
    ) -> None:
        super().__init__(start, configurations, optimizer)
        self._network, self._input_map = network, input_map
        self._kept: Kept = ()

    def forward(self, inputs: Tensor) -> Tensor:
        prediction, self._kept = self._network.forward(self._parameters, inputs)
        return prediction

    def pullback(self, gradient: Tensor) -> Tensor:
        return self._network.pullback(self._parameters, self._kept, gradient)

    def predict(self, inputs: Tensor) -> Tensor:
        return self._network.predict(self._parameters, inputs)

    def model(self) -> NetworkMembers:
        layout = Layout(self._network.inputs, self._network.hidden)
        return NetworkMembers(layout, self._input_map, self._parameters.cpu().numpy().copy())


@dataclass(frozen=True)
class NetworkFactory(LearnerFactory):
    """An input map fitted on (a sample of) the training rows, and the network that reads its output."""

    network: Network
    input_map: InputMap
    seed: int
    backend: TorchBackend

    @classmethod
    def of(cls, input_map: InputMap, hidden: tuple[int, ...], x: Array, seed: int, device: str) -> Self:
        """``x``: at least one row, (row, feature); only its width is read."""
        return cls(Network(input_map(x[:1]).shape[1], hidden), input_map, seed, TorchBackend(resolve_device(device)))

    def steps(self, optimizer: Optimizer) -> int:
        return optimizer.steps

    def inputs(self, x: Array) -> Tensor:
        return self.backend.array(self.input_map(x))

    def tiling(self, rows: int, configs: int) -> Tiling:
        if self.backend.device.type != "cpu":
            return Tiling(configs)
        return Tiling(next((size for most, size in _TILES.items() if rows <= most), 2), workers())

    def learner(self, configurations: Configurations, optimizer: Optimizer) -> NetworkLearner:
        start = self.backend.array(self.network.init(self.seed))
        return NetworkLearner(self.network, self.input_map, start, configurations, optimizer)
