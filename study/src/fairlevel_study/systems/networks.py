"""Systems that train networks in ways of their own: FairBatch, BiFair, FairBiNN, reductions, BADR."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.candidates import TrainingSetup
from fairlevel.exceptions import InvalidInput
from fairlevel.members import Members
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.networks.network import Network
from fairlevel.networks.network_stack import NetworkFactory
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import NoPenalty
from fairlevel.predictors import Configurations
from fairlevel.training.engine import Trainer
from fairlevel.training.rows import AllRows, TrainingRows
from fairlevel_study.systems.protocol import Data, GroupSystem, GroupVariance


def plain_network(
    x: Array, y: Array, setup: TrainingSetup, learning_rate: float, row_weight: Array | None = None
) -> NetworkMembers:
    """One network without any thought of A."""
    trainer = Trainer(setup.predictor, NoPenalty(), setup.optimizer, seed=setup.seed, device=setup.device)
    rows = AllRows(TrainingRows(x, y, None, row_weight))
    members = trainer.train(rows, Configurations.of([0.0], learning_rate * setup.rate_scale)).members
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
class FairBatch(GroupSystem):
    """Networks on batches whose composition follows the group averages (Roh et al., ICLR 2021).

    A strength is the step α of the shares; 0 is plain training. The study trains on all rows, so a batch is its
    expectation: every row weighs as much as its probability to be drawn. The authors compare two groups with each
    other; here each group is compared with all rows. The target is cut at the median of each group.
    """

    name: ClassVar[str] = "fairbatch"

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = self.groups(data, setup)
        number = groups.number(data.a)
        stack = Stack.of(data.x, data.y, len(strengths), setup, self.learning_rate)
        variance = GroupVariance.of(number, groups.count, stack.target)
        median = pd.Series(data.y).groupby(number).transform("median").to_numpy()
        upper = torch.from_numpy(data.y > median).to(stack.target)
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
class BiFair(GroupSystem):
    r"""Bilevel re-weighting (Ozdayi et al. 2021).

    .. math:: \min_{w \ge 0} \mathrm{MSE}(\theta'(w)) + \gamma V(\theta'(w)), \qquad
              \theta'(w) = \theta - \eta \nabla_\theta \tfrac1n \sum_i w_i (f_\theta(x_i) - y_i)^2

    with V the variance between group averages; the inner step is unrolled once. The network then takes the optimiser's
    step with the present weights. A strength is γ; weights start at 1 and keep a mean of 1.
    """

    weight_rate: float = 0.05
    look_ahead: float = 0.1

    name: ClassVar[str] = "bifair"

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = self.groups(data, setup)
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
class FairBiNN(GroupSystem):
    """Two players in one network (Yazdani et al., NeurIPS 2024): a hidden layer is inserted; that at ``position`` takes
    steps against the variance V between group averages, the others against the mean squared error, both at once.

    A strength is the step size of the fairness layer as a multiple of that of the others; at 0 the layer stays as it
    was drawn. (A factor on V would cancel in Adam's steps.)
    """

    position: int = 1

    name: ClassVar[str] = "fairbinn"

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = self.groups(data, setup)
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


class WeightedNetwork:
    """The study's network as fairlearn calls a learner."""

    def __init__(self, setup: TrainingSetup, learning_rate: float) -> None:
        self.setup, self.learning_rate = setup, learning_rate

    def fit(self, X: Array, y: Any, sample_weight: Any) -> Self:
        """X (row, feature), y and sample_weight (row,)."""
        target, weight = np.array(y, dtype=np.float64), np.array(sample_weight, dtype=np.float64)
        self.members = plain_network(X, target, self.setup, self.learning_rate, weight)
        return self

    def predict(self, X: Array) -> Array:
        prediction: Array = self.members.predict(X)[0]
        return prediction


@dataclass(frozen=True)
class Reductions(GroupSystem):
    """Grid search over multipliers of the groups' losses (Agarwal et al. 2018, 2019), done by fairlearn.

    One model per strength; which multipliers they get is fairlearn's grid, up to ``largest``. Its exponentiated
    gradient trains up to five models in each of its steps, so that it does not fit into an equal number of models.
    """

    largest: float = 2.0

    name: ClassVar[str] = "reductions"

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        try:
            from fairlearn.reductions import BoundedGroupLoss, GridSearch, SquareLoss
        except ImportError:
            raise InvalidInput(
                "reductions are fairlearn's; install it with pip install 'fairlevel-study[peers]'."
            ) from None
        group = self.groups(data, setup).number(data.a)
        loss = SquareLoss(float(data.y.min()), float(data.y.max()))
        search = GridSearch(
            WeightedNetwork(setup, self.learning_rate),
            BoundedGroupLoss(loss),
            grid_size=len(strengths),
            grid_limit=self.largest,
        )
        with warnings.catch_warnings():  # fairlearn uses what pandas is going to drop
            warnings.simplefilter("ignore")
            search.fit(data.x, data.y, sensitive_features=group)
        trained: list[NetworkMembers] = [predictor.members for predictor in search.predictors_]
        return trained[0].join(trained[1:])


def onto_simplex(points: Tensor) -> Tensor:
    """The nearest point with entries ≥ 0 that sum to 1, for each row, (config, group)."""
    descending = points.sort(dim=1, descending=True).values
    excess = (descending.cumsum(dim=1) - 1) / torch.arange(1, points.shape[1] + 1)
    last = (descending > excess).sum(dim=1, keepdim=True) - 1
    return (points - excess.gather(1, last)).clamp_min(0)


@dataclass(frozen=True)
class GroupFits:
    r"""Ridge regressions that weigh groups: w_λ = argmin_w Σ_g λ_g F_g(w) + ρ|w|², F_g the mean squared error in group
    g, and the outer objective U = MSE + γ V, V the variance between group averages.

    Shapes: features Φ (row, unit), target (row,), moments Φ_gᵀΦ_g / n_g (group, unit, unit), products Φ_gᵀy_g / n_g
    (group, unit).
    """

    features: Tensor
    target: Tensor
    variance: GroupVariance
    moments: Tensor
    products: Tensor
    ridge: float

    @classmethod
    def of(cls, features: Array, y: Array, number: Index, ridge: float) -> Self:
        phi, target = torch.from_numpy(features), torch.from_numpy(y)
        group = np.unique(number, return_inverse=True)[1]
        variance = GroupVariance.of(group, int(group.max()) + 1, target)
        members = [variance.member[:, g].bool() for g in range(variance.member.shape[1])]
        moments = torch.stack([phi[member].T @ phi[member] / member.sum() for member in members])
        products = torch.stack([phi[member].T @ target[member] / member.sum() for member in members])
        return cls(phi, target, variance, moments, products, ridge)

    def solution(self, weights: Tensor) -> Tensor:
        """w_λ, (config, group) -> (config, unit)."""
        identity = torch.eye(self.moments.shape[1], dtype=torch.float64)
        curvature = torch.tensordot(weights, self.moments, 1) + self.ridge * identity
        solution: Tensor = torch.linalg.solve(curvature, weights @ self.products)
        return solution

    def outer(self, solution: Tensor, gamma: Tensor) -> Tensor:
        """U, (config,)."""
        prediction = solution @ self.features.T
        return (prediction - self.target).square().mean(dim=1) + gamma * self.variance.value(prediction)

    def hypergradient(self, weights: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
        """U(w_λ) (config,) and its gradient in λ (config, group)."""
        leaf = weights.detach().requires_grad_()
        value = self.outer(self.solution(leaf), gamma)
        (slope,) = torch.autograd.grad(value.sum(), leaf)
        return value.detach(), slope


def descend(fits: GroupFits, gamma: Tensor, steps: int) -> Tensor:
    """λ (config, group) by projected gradient steps, each halved until U does not rise; from the shares of the
    groups, which is the plain fit.
    """
    weights, rate = fits.variance.share.repeat(len(gamma), 1), torch.ones_like(gamma)
    value, slope = fits.hypergradient(weights, gamma)
    for _ in range(steps):
        length = slope.abs().amax(dim=1, keepdim=True).clamp_min(1e-12)
        tried = onto_simplex(weights - rate[:, None] * slope / length)
        there, slope_there = fits.hypergradient(tried, gamma)
        better = there < value
        weights = torch.where(better[:, None], tried, weights)
        value, slope = torch.where(better, there, value), torch.where(better[:, None], slope_there, slope)
        rate = torch.where(better, (1.5 * rate).clamp_max(1.0), rate / 2)
    return weights


@dataclass(frozen=True)
class BADR(GroupSystem):
    """Adaptive weights of groups (after Tanji et al. 2026), on the last layer of a plain network, where the inner
    problem has a closed form. Only re-weighted fits are searched, so that small disparities may be out of reach.

    A strength is γ of the outer objective.
    """

    ridge: float = 1e-3
    steps: int = 300

    name: ClassVar[str] = "badr"

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> Members:
        groups = self.groups(data, setup)
        body = plain_network(data.x, data.y, setup, self.learning_rate)
        features = np.hstack([body.features(data.x), np.ones((len(data.y), 1))])
        fits = GroupFits.of(features, data.y, groups.number(data.a), self.ridge)
        gamma = torch.tensor(strengths, dtype=torch.float64)
        heads = fits.solution(descend(fits, gamma, self.steps)).numpy()
        return body.with_heads(heads[:, :-1], heads[:, -1])[0]
