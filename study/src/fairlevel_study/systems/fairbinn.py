"""FairBiNN: some layers of a network minimise disparity only, all others the error only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.exceptions import InvalidInput
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.network import Network
from fairlevel_study.systems.groups import GroupVariance, groups_of
from fairlevel_study.systems.networks import Stack, row_strengths
from fairlevel_study.systems.protocol import Data


def of_layer(network: Network, position: int) -> Tensor:
    """1 for the parameters of a layer, 0 for the others, (parameter,)."""
    if not 0 <= position < len(network.layers):
        raise InvalidInput(f"position={position} was given; the network has layers 0 to {len(network.layers) - 1}.")
    mask = torch.zeros(network.size)
    mask[network.layers[position].weight] = 1
    mask[network.layers[position].bias] = 1
    return mask


@dataclass(frozen=True)
class FairBiNN:
    """Two players in one network (Yazdani et al., NeurIPS 2024): a hidden layer is inserted; that at ``position`` takes
    steps against the variance V between group averages, the others against the mean squared error, both at once.

    A strength is the step size of the fairness layer as a multiple of that of the others; at 0 the layer stays as it
    was drawn. (A factor on V would cancel in Adam's steps.)
    """

    bins: int | None = 4
    position: int = 1
    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "fairbinn"
    uses_attributes: ClassVar[bool] = False

    @torch.no_grad()
    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = groups_of(self.name, data.a, self.bins, setup.seed)
        stack = Stack.of(data.x, data.y, len(strengths), setup, self.learning_rate, inserted=1)
        variance = GroupVariance.of(groups.number(data.a), groups.count, stack.target)
        fair = of_layer(stack.network, self.position).to(stack.target)
        fair_rate = stack.rate * row_strengths(strengths, stack.rate).squeeze(1)
        own, others = setup.optimizer.init(stack.parameters), setup.optimizer.init(stack.parameters)
        for step in range(setup.optimizer.steps):
            prediction, kept = stack.forward()
            towards_fair = fair * stack.slope(kept, variance.gradient(prediction))
            towards_accurate = (1 - fair) * stack.slope(kept, stack.error_gradient(prediction))
            stack.descend(towards_fair, own, fair_rate, step)
            stack.descend(towards_accurate, others, stack.rate, step)
        return stack.members()
