"""BiFair: a weight for each row, learnt so that the network trained with these weights is accurate and level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Adam
from fairlevel_study.systems.groups import GroupVariance, groups_of
from fairlevel_study.systems.networks import Stack, row_strengths
from fairlevel_study.systems.protocol import Data


def derivative_along(network: Network, parameters: Tensor, direction: Tensor, inputs: Tensor) -> Tensor:
    """How predictions change along a direction of the parameters: J · direction, (config, parameter) -> (config,
    row).
    """
    signal = inputs.expand(len(parameters), *inputs.shape)
    change = torch.zeros_like(signal)
    last = len(network.layers) - 1
    for number, layer in enumerate(network.layers):
        weight = parameters[:, layer.weight].view(-1, *layer.shape)
        weight_change = direction[:, layer.weight].view(-1, *layer.shape)
        change = change @ weight + signal @ weight_change + direction[:, layer.bias].unsqueeze(1)
        signal = signal @ weight + parameters[:, layer.bias].unsqueeze(1)
        if number < last:
            signal = signal.tanh()
            change = change * (1 - signal.square())
    return change.squeeze(-1)


@dataclass(frozen=True)
class BiFair:
    r"""Bilevel re-weighting (Ozdayi et al. 2021).

    .. math:: \min_{w \ge 0} \mathrm{MSE}(\theta'(w)) + \gamma V(\theta'(w)), \qquad
              \theta'(w) = \theta - \eta \nabla_\theta \tfrac1n \sum_i w_i (f_\theta(x_i) - y_i)^2

    with V the variance between group averages. The inner step is unrolled once, so that ∂/∂w_i = −(2η/n) (f_i − y_i)
    (J g)_i, g being the gradient of the outer objective at θ'. The network then takes the optimiser's step with the
    present weights. A strength is γ; weights start at 1 and keep a mean of 1.
    """

    bins: int | None = 4
    learning_rate: float = PLAIN_RATE
    weight_rate: float = 0.05
    look_ahead: float = 0.1

    name: ClassVar[str] = "bifair"
    uses_attributes: ClassVar[bool] = False

    @torch.no_grad()
    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = groups_of(self.name, data.a, self.bins, setup.seed)
        stack = Stack.of(data.x, data.y, len(strengths), setup, self.learning_rate)
        variance = GroupVariance.of(groups.number(data.a), groups.count, stack.target)
        gamma = row_strengths(strengths, stack.target)
        moments = setup.optimizer.init(stack.parameters)
        weight = stack.target.new_ones(len(strengths), len(stack.target))
        learner = Adam(self.weight_rate, setup.optimizer.steps, final_fraction=1.0)
        weight_moments, weight_rate = learner.init(weight), stack.rate.new_full(stack.rate.shape, self.weight_rate)
        for step in range(setup.optimizer.steps):
            prediction, kept = stack.forward()
            slope = stack.slope(kept, weight * stack.error_gradient(prediction))
            wanted = self.hypergradient(stack, slope, prediction, gamma, variance)
            learner.update(weight, wanted, weight_moments, weight_rate, step)
            weight.clamp_min_(0).div_(weight.mean(dim=1, keepdim=True).clamp_min(1e-6))
            stack.descend(slope, moments, stack.rate, step)
        return stack.members()

    def hypergradient(
        self, stack: Stack, slope: Tensor, prediction: Tensor, gamma: Tensor, variance: GroupVariance
    ) -> Tensor:
        """Of the outer objective in the row weights, (config, row)."""
        ahead = stack.parameters - self.look_ahead * slope
        there, kept = stack.forward(ahead)
        outer = stack.slope(kept, stack.error_gradient(there) + gamma * variance.gradient(there), ahead)
        change = derivative_along(stack.network, stack.parameters, outer, stack.inputs)
        return -self.look_ahead * stack.error_gradient(prediction) * change
