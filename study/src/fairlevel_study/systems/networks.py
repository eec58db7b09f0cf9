"""Systems that train networks in ways of their own, FairBatch, BiFair and FairBiNN, and the networks they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.exceptions import InvalidInput
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.network import Network
from fairlevel.networks.network_stack import NetworkFactory
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import NoPenalty
from fairlevel.predictors import Configurations
from fairlevel.training.engine import train
from fairlevel.training.rows import AllRows, TrainingRows
from fairlevel_study.systems.groups import GroupVariance, groups_of
from fairlevel_study.systems.protocol import Data


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

    @classmethod
    def of(
        cls, x: Array, y: Array, configs: int, setup: TrainingSetup, learning_rate: float, inserted: int = 0
    ) -> Self:
        """``configs`` equal networks before their first step, with ``inserted`` more hidden layers than the
        predictor has.
        """
        factory = setup.predictor.prepare(x, setup.seed, setup.device)
        if not isinstance(factory, NetworkFactory):
            raise _networks_only(setup)
        hidden = factory.network.hidden
        network = Network(factory.network.inputs, (*hidden, *hidden[-1:] * inserted))
        start = factory.backend.array(network.init(setup.seed))
        rate = start.new_full((configs,), learning_rate * setup.rate_scale)
        inputs, target = factory.inputs(x), factory.backend.array(y)
        return cls(network, factory.input_map, inputs, target, start.repeat(configs, 1), rate)

    def predict(self, parameters: Tensor) -> Tensor:
        """(config, parameter) -> (config, row), by operations that PyTorch differentiates."""
        return self.network.forward_all(parameters, self.inputs)[0].squeeze(-1)

    def errors(self, prediction: Tensor) -> Tensor:
        """Squared errors, (config, row)."""
        return (prediction - self.target).square()

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


class BatchShares:
    r"""The probability that a row of group z in a batch comes from its upper half of y: λ_z, (config, group).

    After every step λ_z rises by the strength where the average prediction of the group is below that of all rows, and
    falls by it where it is above. Rows get the probability with which a batch draws them,

    .. math:: q_i = p_z \lambda_z / n_{z,1} \text{ (upper half)}, \qquad q_i = p_z (1 - \lambda_z) / n_{z,0} .

    Shapes: upper, whether a row is in the upper half of y of its group, (row,).
    """

    def __init__(self, groups: GroupVariance, upper: Tensor, strengths: Tensor) -> None:
        self._groups, self._strengths = groups, strengths
        member = groups.member
        self._in_cell = torch.stack([(1 - upper).unsqueeze(1) * member, upper.unsqueeze(1) * member])
        self._count = self._in_cell.sum(dim=1)  # (half, group)
        self._fixed = (self._count == 0).any(dim=0)  # a group with one kind of y has nothing to choose
        self.upper_share = (self._count[1] / self._count.sum(dim=0).clamp_min(1)).repeat(len(strengths), 1)

    def probabilities(self) -> Tensor:
        """q, (config, row); each sums to 1."""
        halves = torch.stack([1 - self.upper_share, self.upper_share])  # (half, config, group)
        of_cell = halves * (self._groups.share / self._count.clamp_min(1)).unsqueeze(1)
        return (of_cell @ self._in_cell.transpose(1, 2)).sum(dim=0)

    def update(self, prediction: Tensor) -> None:
        """Move every λ_z by one strength."""
        move = -self._strengths * self._groups.deviations(prediction).sign()
        moved = (self.upper_share + move).clamp(0, 1)
        self.upper_share = torch.where(self._fixed, self.upper_share, moved)


@dataclass(frozen=True)
class FairBatch:
    """Networks on batches whose composition follows the group averages (Roh et al., ICLR 2021).

    A strength is the step α of the shares; 0 is plain training. The study trains on all rows, so a batch is its
    expectation: every row weighs as much as its probability to be drawn. The authors compare two groups with each
    other; here each group is compared with all rows. The target is cut at the median of each group.
    """

    bins: int | None = 4
    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "fairbatch"
    uses_attributes: ClassVar[bool] = False

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = groups_of(self.name, data.a, self.bins, setup.seed)
        number = groups.number(data.a)
        stack = Stack.of(data.x, data.y, len(strengths), setup, self.learning_rate)
        variance = GroupVariance.of(number, groups.count, stack.target)
        median = np.array([np.median(data.y[number == z]) if (number == z).any() else 0 for z in range(groups.count)])
        upper = torch.from_numpy(data.y > median[number]).to(stack.target)
        shares = BatchShares(variance, upper, row_strengths(strengths, stack.target))
        moments = setup.optimizer.init(stack.parameters)
        for step in range(setup.optimizer.steps):
            leaf = stack.parameters.detach().requires_grad_()
            prediction = stack.predict(leaf)
            loss = (shares.probabilities() * stack.errors(prediction)).sum(dim=1)
            (gradient,) = torch.autograd.grad(loss.sum(), leaf)
            setup.optimizer.update(stack.parameters, gradient, moments, stack.rate, step)
            shares.update(prediction.detach())
        return stack.members()


@dataclass(frozen=True)
class BiFair:
    r"""Bilevel re-weighting (Ozdayi et al. 2021).

    .. math:: \min_{w \ge 0} \mathrm{MSE}(\theta'(w)) + \gamma V(\theta'(w)), \qquad
              \theta'(w) = \theta - \eta \nabla_\theta \tfrac1n \sum_i w_i (f_\theta(x_i) - y_i)^2

    with V the variance between group averages; the inner step is unrolled once. The network then takes the optimiser's
    step with the present weights. A strength is γ; weights start at 1 and keep a mean of 1.
    """

    bins: int | None = 4
    learning_rate: float = PLAIN_RATE
    weight_rate: float = 0.05
    look_ahead: float = 0.1

    name: ClassVar[str] = "bifair"
    uses_attributes: ClassVar[bool] = False

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = groups_of(self.name, data.a, self.bins, setup.seed)
        stack = Stack.of(data.x, data.y, len(strengths), setup, self.learning_rate)
        variance = GroupVariance.of(groups.number(data.a), groups.count, stack.target)
        gamma = row_strengths(strengths, stack.target).squeeze(1)
        moments = setup.optimizer.init(stack.parameters)
        weight = stack.target.new_ones(len(strengths), len(stack.target))
        learner = Adam(self.weight_rate, setup.optimizer.steps, final_fraction=1.0)
        weight_moments, weight_rate = learner.init(weight), stack.rate.new_full(stack.rate.shape, self.weight_rate)
        for step in range(setup.optimizer.steps):
            gradient, hypergradient = self.gradients(stack, weight, gamma, variance)
            learner.update(weight, hypergradient, weight_moments, weight_rate, step)
            weight.clamp_min_(0).div_(weight.mean(dim=1, keepdim=True).clamp_min(1e-6))
            setup.optimizer.update(stack.parameters, gradient, moments, stack.rate, step)
        return stack.members()

    def gradients(self, stack: Stack, weight: Tensor, gamma: Tensor, variance: GroupVariance) -> tuple[Tensor, Tensor]:
        """Of the weighted error in the parameters, (config, parameter), and of the outer objective in the row weights,
        (config, row); gamma (config,).
        """
        leaf, row_weight = stack.parameters.detach().requires_grad_(), weight.detach().requires_grad_()
        error = (row_weight * stack.errors(stack.predict(leaf))).mean(dim=1)
        (gradient,) = torch.autograd.grad(error.sum(), leaf, create_graph=True)
        ahead = stack.predict(leaf - self.look_ahead * gradient)
        outer = stack.errors(ahead).mean(dim=1) + gamma * variance.value(ahead)
        (hypergradient,) = torch.autograd.grad(outer.sum(), row_weight)
        return gradient.detach(), hypergradient


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

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = groups_of(self.name, data.a, self.bins, setup.seed)
        stack = Stack.of(data.x, data.y, len(strengths), setup, self.learning_rate, inserted=1)
        variance = GroupVariance.of(groups.number(data.a), groups.count, stack.target)
        fair = of_layer(stack.network, self.position).to(stack.target)
        fair_rate = stack.rate * row_strengths(strengths, stack.rate).squeeze(1)
        fair_moments, moments = setup.optimizer.init(stack.parameters), setup.optimizer.init(stack.parameters)
        for step in range(setup.optimizer.steps):
            leaf = stack.parameters.detach().requires_grad_()
            prediction = stack.predict(leaf)
            (of_disparity,) = torch.autograd.grad(variance.value(prediction).sum(), leaf, retain_graph=True)
            (of_error,) = torch.autograd.grad(stack.errors(prediction).mean(dim=1).sum(), leaf)
            setup.optimizer.update(stack.parameters, fair * of_disparity, fair_moments, fair_rate, step)
            setup.optimizer.update(stack.parameters, (1 - fair) * of_error, moments, stack.rate, step)
        return stack.members()
