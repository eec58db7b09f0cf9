"""MINE: the mutual information of prediction and A, by a network that tells pairs from shuffled pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Backend, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.backend import PreparedTensors, on_tensors
from fairlevel.networks.network import Network
from fairlevel.networks.penalties.trained_critic import ADAM, CriticDefaults, CriticState
from fairlevel.networks.standardised import standardised, through_standardising
from fairlevel.penalties.protocol import PenaltyStep

_LARGEST = 20.0  # the critic's answers are cut off here: exp must not overflow
_SHUFFLES = 4  # of all rows, at each step
_GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, are spread evenly


@dataclass(frozen=True)
class ShuffledRows(PreparedTensors):
    """Shapes: sensitive (row, attribute), row_weight (row,), order and place (row,): row order[j] is at place j of
    an arbitrary order. Shuffle s pairs the row at place j with the row at place j + shift_s, modulo the number of rows.
    """

    sensitive: Tensor
    row_weight: Tensor
    order: Tensor
    place: Tensor
    seed: int

    def to(self, backend: Backend) -> ShuffledRows:
        moved = super().to(backend)
        device = moved.row_weight.device
        return replace(moved, order=self.order.to(device), place=self.place.to(device))

    def partners(self, steps: Tensor) -> Tensor:
        """The rows that each row is paired with at this step, one shuffle after the other, (shuffle · row,): never
        itself, and others at each step.
        """
        rows = len(self.order)
        number = _SHUFFLES * steps + torch.arange(1, _SHUFFLES + 1, device=self.order.device)
        shift = 1 + ((number * _GOLDEN) % 1 * (rows - 1)).long()
        return self.order[(self.place + shift.unsqueeze(1)) % rows].flatten()


class Bound(NamedTuple):
    """Î (config,) and its gradient in the critic's answers (config, answer, 1): pairs first, then shuffled pairs."""

    value: Tensor
    gradient: Tensor


@dataclass(frozen=True)
class MINE(CriticDefaults):
    r"""Mutual information in nats by the Donsker–Varadhan bound (Belghazi et al., ICML 2018).

    .. math:: P = \max(0, \hat I), \qquad
              \hat I = \sum_i w_i T(u_i, a_i) - \ln \sum_i v_i\, e^{T(u_i, a_{\pi(i)})}, \qquad
              \frac{\partial \hat I}{\partial u_i} = w_i\, T_u(u_i, a_i) -
              \frac{v_i\, e^{T(u_i, a_{\pi(i)})}}{\sum_l v_l\, e^{T(u_l, a_{\pi(l)})}}\, T_u(u_i, a_{\pi(i)})

    with u the standardised prediction, T a tanh network, π a shuffle and v_i ∝ w_i w_π(i); the last sum runs over four
    shuffles, others at each step. Each step T climbs Î by ``critic_steps`` steps of Adam, then the gradient of P at
    that critic is followed. All rows are seen at every step, so the running average that the authors put in place of
    the normaliser of a batch is not needed. P is multiplied by Var u, which is 1 unless f spreads less than 0.05.

    −½ ln(1 − ρ²) for a Gaussian pair, infinite where f is a function of A. Traps: Î is a lower bound for the
    best critic of all, but a critic that fits the noise of few rows reads too much on them. The held-out value uses the
    critic as training left it, which no noise can raise on average. A critic that has not settled reads too little.
    :class:`HSIC` needs no training and is zero for the same predictions.

    Parameters
    ----------
    critic_steps : steps of the critic for each step of the predictor
    critic_learning_rate : its step size
    hidden : widths of its tanh layers
    """

    critic_learning_rate: float = 0.002
    hidden: tuple[int, ...] = (32, 32)

    name: ClassVar[str] = "mine"

    def prepare(self, attributes: Attributes, seed: int) -> ShuffledRows:
        order = _circle(attributes.values, seed)
        return ShuffledRows(
            torch.from_numpy(attributes.values),
            torch.from_numpy(attributes.weight),
            torch.from_numpy(order),
            torch.from_numpy(order.argsort()),
            seed,
        )

    @on_tensors
    def step(self, prediction: Tensor, prepared: ShuffledRows, state: CriticState | None) -> PenaltyStep:
        network, weight = self._network(prepared), prepared.row_weight
        u = standardised(prediction, weight)
        before = state or CriticState.start(network, prepared.seed, prediction)
        critic, rate, steps = before.critic.copied(), self.rate(prediction), before.steps
        parameters = critic.parameters
        for _ in range(self.critic_steps):
            inputs, weights = _pairs(u.value, prepared, steps)
            answers, activations = network.forward_all(parameters, inputs)
            down = network.pullback_all(parameters, activations, -bound(answers, *weights).gradient)
            ADAM.update(parameters, down, critic.moments, rate, steps)  # in place
            steps = steps + 1
        inputs, weights = _pairs(u.value, prepared, steps)
        answers, activations = network.forward_all(parameters, inputs)
        found = bound(answers, *weights)
        spread, information = (weight * u.value.square()).sum(dim=-1), found.value.clamp_min(0)
        answered = network.input_pullback(parameters, activations, found.gradient)[..., 0]
        own = answered.view(len(prediction), 1 + _SHUFFLES, -1).sum(dim=1)
        active = (spread * (found.value > 0)).unsqueeze(1)
        gradient = active * own + 2 * weight * u.value * information.unsqueeze(1)
        after = CriticState(critic, steps)
        return PenaltyStep(spread * information, through_standardising(gradient, u, weight), after)

    @on_tensors
    def value(self, prediction: Tensor, prepared: ShuffledRows, state: CriticState | None) -> Tensor:
        """The bound with the present critic, which has not seen these rows."""
        network, u = self._network(prepared), standardised(prediction, prepared.row_weight).value
        present = state or CriticState.start(network, prepared.seed, prediction)
        inputs, weights = _pairs(u, prepared, present.steps)
        answers, _ = network.forward_all(present.critic.parameters, inputs)
        spread = (prepared.row_weight * u.square()).sum(dim=-1)
        return spread * bound(answers, *weights).value.clamp_min(0)

    def _network(self, prepared: ShuffledRows) -> Network:
        return Network(1 + prepared.sensitive.shape[1], self.hidden)


def bound(answers: Tensor, pair_weight: Tensor, shuffled_weight: Tensor) -> Bound:
    """Î from the critic's answers for pairs and for shuffled pairs.

    Shapes: answers (config, row + shuffle · row, 1), pair_weight (row,), shuffled_weight (shuffle · row,).
    """
    within = (answers.abs() < _LARGEST).to(answers)
    limited = answers.squeeze(-1).clamp(-_LARGEST, _LARGEST)
    pairs, shuffled = limited[:, : len(pair_weight)], limited[:, len(pair_weight) :]
    logarithms = shuffled + shuffled_weight.log()
    total = logarithms.logsumexp(dim=-1, keepdim=True)
    value = (pairs * pair_weight).sum(dim=-1) - total.squeeze(-1)
    gradient = torch.cat([pair_weight.expand_as(pairs), -(logarithms - total).exp()], dim=1)
    return Bound(value, gradient.unsqueeze(-1) * within)


def _pairs(u: Tensor, prepared: ShuffledRows, steps: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """What the critic reads, (config, row + shuffle · row, 1 + attribute), and the weights of pairs and of shuffled
    pairs.
    """
    weight, partners = prepared.row_weight, prepared.partners(steps)
    attributes = torch.cat([prepared.sensitive, prepared.sensitive[partners]])
    inputs = torch.cat([u.repeat(1, 1 + _SHUFFLES).unsqueeze(-1), attributes.expand(len(u), -1, -1)], dim=-1)
    shuffled = weight.repeat(_SHUFFLES) * weight[partners]
    return inputs, (weight, shuffled / shuffled.sum())


def _circle(values: Array, seed: int) -> Index:
    """Rows in an order that looks random and depends on their values, not on their order in the table, (row,)."""
    direction = np.random.default_rng(seed).standard_normal(values.shape[1])
    order: Index = np.modf(np.abs(np.sin((values * direction).sum(axis=1)) * 43758.5453))[0].argsort(kind="stable")
    return order
