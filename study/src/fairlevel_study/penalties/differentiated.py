"""What these penalties share: PyTorch derives their gradients, and most of them measure standardised predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairlevel.networks.backend import on_tensors
from fairlevel.networks.network import Network
from fairlevel.networks.penalties.trained_critic import ADAM, TrainedNetworks
from fairlevel.penalties.protocol import Penalty, PenaltyStep
from fairlevel.penalties.toolkit import SMALLEST_SD


class Differentiated(Penalty):
    """A penalty whose ``measured`` says the value; its step adds the gradient."""

    @abstractmethod
    def measured(self, prediction: Tensor, prepared: Any, state: Any) -> tuple[Tensor, Any]:
        """The value, (config,), by operations that PyTorch differentiates, and the state for the next step."""

    @on_tensors
    def step(self, prediction: Tensor, prepared: Any, state: Any) -> PenaltyStep:
        with torch.enable_grad():
            leaf = prediction.detach().requires_grad_()
            value, after = self.measured(leaf, prepared, state)
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
        return PenaltyStep(value.detach(), gradient, after)


class Dependence(Differentiated):
    """A measure of how the standardised prediction u and A depend on each other, times Var u, which is 1 unless f
    spreads less than 0.05. What is prepared has weights of rows, ``row_weight`` (row,).
    """

    @abstractmethod
    def dependence(self, u: Tensor, prepared: Any, state: Any) -> tuple[Tensor, Any]:
        """The measure, (config,), for u, (config, row), and the state for the next step."""

    @abstractmethod
    def held_out(self, u: Tensor, prepared: Any, state: Any) -> Tensor:
        """The measure for rows that did not train, without the bias of fitting on them."""

    def measured(self, prediction: Tensor, prepared: Any, state: Any) -> tuple[Tensor, Any]:
        u, variance = standardised(prediction, prepared.row_weight)
        measure, after = self.dependence(u, prepared, state)
        return variance * measure, after

    @on_tensors
    def value(self, prediction: Tensor, prepared: Any, state: Any) -> Tensor:
        u, variance = standardised(prediction, prepared.row_weight)
        return variance * self.held_out(u, prepared, state)


def standardised(values: Tensor, row_weight: Tensor, least: float = SMALLEST_SD) -> tuple[Tensor, Tensor]:
    """(values − mean) / sd, (config, row), and its variance, (config,); a smaller sd counts as ``least``."""
    centred = values - (values * row_weight).sum(dim=-1, keepdim=True)
    variance = (centred.square() * row_weight).sum(dim=-1, keepdim=True)
    u = centred / variance.clamp_min(least**2).sqrt()
    return u, (u.square() * row_weight).sum(dim=-1)


class Critics(NamedTuple):
    """Networks that climb a measure, and steps taken (a scalar)."""

    networks: tuple[TrainedNetworks, ...]
    steps: Tensor

    @classmethod
    def start(cls, shapes: Iterable[Network], seed: int, u: Tensor) -> Critics:
        """Before the first step; of the precision and on the device of u, (config, row)."""
        networks = (TrainedNetworks.start(shape, seed + number, len(u), u) for number, shape in enumerate(shapes))
        return cls(tuple(networks), torch.zeros((), dtype=torch.float64, device=u.device))

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        """Of each network, (config, parameter)."""
        return tuple(network.parameters for network in self.networks)

    def climbed(
        self, measure: Callable[[tuple[Tensor, ...], Tensor], Tensor], steps: int, learning_rate: Tensor
    ) -> Critics:
        """After so many steps of Adam up a measure, (config,), of their parameters and the number of steps taken;
        step sizes (config,).
        """
        networks, taken = tuple(network.copied() for network in self.networks), self.steps
        for _ in range(steps):
            leaves = tuple(network.parameters.detach().requires_grad_() for network in networks)
            slopes = torch.autograd.grad(measure(leaves, taken).sum(), leaves)
            for network, slope in zip(networks, slopes, strict=True):
                ADAM.update(network.parameters, -slope, network.moments, learning_rate, taken)  # in place
            taken = taken + 1
        return Critics(networks, taken)
