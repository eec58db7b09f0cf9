"""Plain and stacked networks of the study's predictor, for systems that train them in ways of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.candidates import TrainingSetup
from fairlevel.exceptions import InvalidInput
from fairlevel.members.input_map import InputMap
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.layout import Layout
from fairlevel.networks.network import Kept, Network
from fairlevel.networks.optimizers import Moments, Optimizer
from fairlevel.penalties import NoPenalty
from fairlevel.predictors import Configurations
from fairlevel.predictors.network_stack import NetworkFactory
from fairlevel.training.engine import resolve_device, train
from fairlevel.training.rows import AllRows, TrainingRows


def plain_network(
    x: Array, y: Array, setup: TrainingSetup, learning_rate: float, row_weight: Array | None = None
) -> NetworkMembers:
    """One network without any thought of A."""
    members = train(
        AllRows(TrainingRows(x, y, None, row_weight=row_weight)),
        Configurations.of([0.0], learning_rate * setup.rate_scale),
        predictor=setup.predictor,
        penalty=NoPenalty(),
        optimizer=setup.optimizer,
        seed=setup.seed,
        device=setup.device,
    ).members
    if not isinstance(members, NetworkMembers):
        raise _networks_only(setup)
    return members


@dataclass(frozen=True)
class Stack:
    """Networks of one shape in training. Shapes: inputs (row, input), target (row,), parameters (config, parameter),
    rate (config,).
    """

    network: Network
    input_map: InputMap
    inputs: Tensor
    target: Tensor
    parameters: Tensor
    rate: Tensor
    optimizer: Optimizer

    @classmethod
    def of(
        cls, x: Array, y: Array, configs: int, setup: TrainingSetup, learning_rate: float, inserted: int = 0
    ) -> Self:
        """``configs`` equal networks before their first step, with ``inserted`` more hidden layers than the
        predictor has.
        """
        device = resolve_device(setup.device)
        features = torch.from_numpy(x)
        factory = setup.predictor.prepare(features, setup.seed, device)
        if not isinstance(factory, NetworkFactory):
            raise _networks_only(setup)
        hidden = factory.network.hidden
        network = Network(factory.network.inputs, (*hidden, *hidden[-1:] * inserted))
        start = network.init(setup.seed).to(device)
        rate = start.new_full((configs,), learning_rate * setup.rate_scale)
        inputs, target = factory.inputs(features), torch.from_numpy(y).to(start)
        parameters = start.repeat(configs, 1)
        return cls(network, factory.input_map, inputs, target, parameters, rate, setup.optimizer)

    def forward(self, parameters: Tensor | None = None) -> tuple[Tensor, Kept]:
        """Predictions, (config, row), and what :meth:`slope` needs; of the present parameters unless others are
        given.
        """
        return self.network.forward(self.parameters if parameters is None else parameters, self.inputs)

    def slope(self, kept: Kept, gradient: Tensor, parameters: Tensor | None = None) -> Tensor:
        """A gradient in the predictions, (config, row), as one in the parameters, (config, parameter)."""
        return self.network.pullback(self.parameters if parameters is None else parameters, kept, gradient)

    def descend(self, slope: Tensor, moments: Moments | None, rate: Tensor, step: int) -> None:
        """One step of the optimiser, in place."""
        self.optimizer.update(self.parameters, slope, moments, rate, step)

    def error_gradient(self, prediction: Tensor) -> Tensor:
        """Of the mean squared error, (config, row)."""
        return 2 / len(self.target) * (prediction - self.target)

    def members(self) -> NetworkMembers:
        """The networks as they are now."""
        layout = Layout(self.network.inputs, self.network.hidden)
        return NetworkMembers(layout, self.input_map, self.parameters.cpu().numpy().copy())


def row_strengths(strengths: object, like: Tensor) -> Tensor:
    """Strengths as a column, (config, 1)."""
    return torch.from_numpy(np.asarray(strengths, dtype=np.float64)).to(like).unsqueeze(1)


def _networks_only(setup: TrainingSetup) -> InvalidInput:
    return InvalidInput(
        f"This system trains networks, and predictor={setup.predictor.name!r} is none; use predictor='mlp'."
    )
