"""HGR by two small networks: the largest correlation of a function of f with a function of A."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.backend import PreparedTensors
from fairlevel.networks.network import Network
from fairlevel.networks.penalties.trained_critic import CriticDefaults
from fairlevel_study.penalties.differentiated import Critics, Dependence

_ROUNDING = 1e-9  # added to variances: a function that does not vary has no correlation


@dataclass(frozen=True)
class PairRows(PreparedTensors):
    """Shapes: sensitive (row, attribute), row_weight (row,)."""

    sensitive: Tensor
    row_weight: Tensor
    seed: int


@dataclass(frozen=True)
class NeuralHGR(Dependence, CriticDefaults):
    r"""The square of the neural Hirschfeld–Gebelein–Rényi correlation (Grari, Lamprier & Detyniecki, IJCAI 2020).

    .. math:: P = \max(0, c)^2, \qquad c = \max_{\varphi, \psi} \operatorname{corr}\big(\varphi(u), \psi(a)\big)

    with u the standardised prediction, φ and ψ tanh networks. Each step φ and ψ climb c by ``critic_steps`` steps of
    Adam, then the gradient of P at these functions is followed. The authors add the signed c; its square has the same
    minimum and no kink there.

    Zero only under independence, and ρ² for a Gaussian pair. Traps: functions that single out one row reach c = 1 on
    training rows, the sooner the fewer rows and the larger their steps; functions that have not settled read too
    little. :class:`KernelHGR` solves for polynomials instead, in a fraction of the time.

    Parameters
    ----------
    critic_steps : steps of φ and ψ for each step of the predictor
    critic_learning_rate : their step size
    hidden : widths of their tanh layers
    """

    critic_learning_rate: float = 0.002
    hidden: tuple[int, ...] = (16, 16)

    name: ClassVar[str] = "hgr"

    def prepare(self, attributes: Attributes, seed: int) -> PairRows:
        return PairRows(torch.from_numpy(attributes.values), torch.from_numpy(attributes.weight), seed)

    def dependence(self, u: Tensor, prepared: PairRows, state: Critics | None) -> tuple[Tensor, Critics]:
        before = state or Critics.start(self._shapes(prepared), prepared.seed, u)
        climbs = partial(self._correlation, u.detach(), prepared)
        after = before.climbed(climbs, self.critic_steps, self.rate(u))
        return self.held_out(u, prepared, after), after

    def held_out(self, u: Tensor, prepared: PairRows, state: Critics | None) -> Tensor:
        """With the present functions, which have not seen rows that did not train."""
        present = state or Critics.start(self._shapes(prepared), prepared.seed, u)
        return self._correlation(u, prepared, present.parameters).clamp_min(0).square()

    def _shapes(self, prepared: PairRows) -> tuple[Network, Network]:
        """Of φ and ψ."""
        return Network(1, self.hidden), Network(prepared.sensitive.shape[1], self.hidden)

    def _correlation(
        self, u: Tensor, prepared: PairRows, parameters: tuple[Tensor, ...], taken: Tensor | None = None
    ) -> Tensor:
        """c, (config,), of functions with these parameters."""
        of_prediction, of_attributes = self._shapes(prepared)
        phi, _ = of_prediction.forward_all(parameters[0], u.unsqueeze(-1))
        psi, _ = of_attributes.forward_all(parameters[1], prepared.sensitive)
        return correlation(phi.squeeze(-1), psi.squeeze(-1), prepared.row_weight)


def correlation(first: Tensor, second: Tensor, row_weight: Tensor) -> Tensor:
    """Of two columns of values for each configuration: (config, row), (config, row) -> (config,)."""
    first, second = (values - (values * row_weight).sum(dim=-1, keepdim=True) for values in (first, second))
    of_first, of_second = ((values.square() * row_weight).sum(dim=-1) + _ROUNDING for values in (first, second))
    return (row_weight * first * second).sum(dim=-1) / (of_first * of_second).sqrt()
