"""MINE: the mutual information of prediction and A, by a network that tells pairs from shuffled pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Backend, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.backend import PreparedTensors
from fairlevel.networks.network import Network
from fairlevel.networks.penalties.trained_critic import CriticDefaults
from fairlevel_study.penalties.differentiated import Critics, Dependence

_LARGEST = 20.0  # the critic's answers are cut off here: exp must not overflow
_SHUFFLES = 4  # of all rows, at each step
_GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, are spread evenly


@dataclass(frozen=True)
class ShuffledRows(PreparedTensors):
    """Shapes: sensitive (row, attribute), row_weight, order and position (row,): row order[j] is at position j of
    an arbitrary order. Shuffle s pairs it with the row at position j + shift_s, modulo the number of rows.
    """

    sensitive: Tensor
    row_weight: Tensor
    order: Tensor
    position: Tensor
    seed: int

    def to(self, backend: Backend) -> ShuffledRows:
        moved = super().to(backend)
        device = moved.row_weight.device
        return replace(moved, order=self.order.to(device), position=self.position.to(device))

    def partners(self, steps: Tensor) -> Tensor:
        """The rows that each row is paired with at this step, one shuffle after the other, (shuffle · row,): never
        itself, and others at each step.
        """
        rows = len(self.order)
        number = _SHUFFLES * steps + torch.arange(1, _SHUFFLES + 1, device=self.order.device)
        shift = 1 + ((number * _GOLDEN) % 1 * (rows - 1)).long()
        return self.order[(self.position + shift.unsqueeze(1)) % rows].flatten()


@dataclass(frozen=True)
class MINE(Dependence, CriticDefaults):
    r"""Mutual information in nats by the Donsker–Varadhan bound (Belghazi et al., ICML 2018).

    .. math:: P = \max(0, \hat I), \qquad
              \hat I = \sum_i w_i T(u_i, a_i) - \ln \sum_i v_i\, e^{T(u_i, a_{\pi(i)})}

    with u the standardised prediction, T a tanh network, π a shuffle and v_i ∝ w_i w_π(i); the last sum runs over four
    shuffles, others at each step. Each step T climbs Î by ``critic_steps`` steps of Adam, then the gradient of P at
    that critic is followed. All rows are seen at every step, so no running average of the normaliser is needed.

    −½ ln(1 − ρ²) for a Gaussian pair, infinite where f is a function of A. Traps: a critic that fits the noise of few
    rows reads too much on them, one that has not settled too little.

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

    def dependence(self, u: Tensor, prepared: ShuffledRows, state: Critics | None) -> tuple[Tensor, Critics]:
        before = state or Critics.start([self._network(prepared)], prepared.seed, u)
        climbs = partial(self._bound, u.detach(), prepared)
        after = before.climbed(climbs, self.critic_steps, self.rate(u))
        return self.held_out(u, prepared, after), after

    def held_out(self, u: Tensor, prepared: ShuffledRows, state: Critics | None) -> Tensor:
        """With the present critic, which has not seen rows that did not train."""
        present = state or Critics.start([self._network(prepared)], prepared.seed, u)
        return self._bound(u, prepared, present.parameters, present.steps).clamp_min(0)

    def _bound(self, u: Tensor, prepared: ShuffledRows, parameters: tuple[Tensor, ...], taken: Tensor) -> Tensor:
        """Î, (config,), of a critic with these parameters and the shuffles of a step."""
        weight, partners = prepared.row_weight, prepared.partners(taken)
        attributes = torch.cat([prepared.sensitive, prepared.sensitive[partners]]).expand(len(u), -1, -1)
        inputs = torch.cat([u.repeat(1, 1 + _SHUFFLES).unsqueeze(-1), attributes], dim=-1)
        answers, _ = self._network(prepared).forward_all(parameters[0], inputs)
        shuffled = weight.repeat(_SHUFFLES) * weight[partners]
        return bound(answers.squeeze(-1), weight, shuffled / shuffled.sum())

    def _network(self, prepared: ShuffledRows) -> Network:
        return Network(1 + prepared.sensitive.shape[1], self.hidden)


def bound(answers: Tensor, pair_weight: Tensor, shuffled_weight: Tensor) -> Tensor:
    """Î, (config,), from the critic's answers for pairs and for shuffled pairs.

    Shapes: answers (config, row + shuffle · row), pair_weight (row,), shuffled_weight (shuffle · row,).
    """
    limited, rows = answers.clamp(-_LARGEST, _LARGEST), len(pair_weight)
    shuffled = limited[:, rows:] + shuffled_weight.log()
    return (limited[:, :rows] * pair_weight).sum(dim=-1) - shuffled.logsumexp(dim=-1)


def _circle(values: Array, seed: int) -> Index:
    """Rows in an order that looks random and depends on their values, not on their order in the table, (row,)."""
    direction = np.random.default_rng(seed).standard_normal(values.shape[1])
    order: Index = np.modf(np.abs(np.sin((values * direction).sum(axis=1)) * 43758.5453))[0].argsort(kind="stable")
    return order
