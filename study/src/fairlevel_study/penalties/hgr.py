"""HGR by two small networks: the largest correlation of a function of f with a function of A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.backend import PreparedTensors, on_tensors
from fairlevel.networks.network import Network
from fairlevel.networks.penalties.trained_critic import ADAM, CriticDefaults, TrainedNetworks
from fairlevel.networks.standardised import standardised, through_standardising
from fairlevel.penalties.protocol import PenaltyStep

_ROUNDING = 1e-9  # added to variances: a function that does not vary has no correlation


@dataclass(frozen=True)
class PairRows(PreparedTensors):
    """Shapes: sensitive (row, attribute), row_weight (row,)."""

    sensitive: Tensor
    row_weight: Tensor
    seed: int


class HGRState(NamedTuple):
    """The networks on f and on A, steps taken (a scalar)."""

    of_prediction: TrainedNetworks
    of_attributes: TrainedNetworks
    steps: Tensor


class Correlation(NamedTuple):
    """corr(φ, ψ), (config,), and its gradients in φ and in ψ, (config, row)."""

    value: Tensor
    in_first: Tensor
    in_second: Tensor


@dataclass(frozen=True)
class NeuralHGR(CriticDefaults):
    r"""The square of the neural Hirschfeld–Gebelein–Rényi correlation (Grari, Lamprier & Detyniecki, IJCAI 2020).

    .. math:: P = \max(0, c)^2, \qquad c = \max_{\varphi, \psi} \operatorname{corr}\big(\varphi(u), \psi(a)\big), \qquad
              \frac{\partial c}{\partial \varphi_i} = \frac{w_i}{\operatorname{sd} \varphi}
              (\bar\psi_i - c\, \bar\varphi_i), \qquad
              \frac{\partial P}{\partial u_i} = 2 c\, \frac{\partial c}{\partial \varphi_i}\, \varphi'(u_i)

    with u the standardised prediction, φ and ψ tanh networks, and bars for standardised values. Each step φ and ψ climb
    c by ``critic_steps`` steps of Adam, then the gradient of P at these functions is followed. The authors add the
    signed c; its square has the same minimum and no kink there. P is multiplied by Var u, which is 1 unless f spreads
    less than 0.05.

    Zero only under independence, and ρ² for a Gaussian pair. ψ takes any number of attributes. Traps: functions that
    single out one row reach c = 1 on training rows, the sooner the fewer rows and the larger their steps, so the
    held-out value uses the functions as training left them; functions that have not settled read too little.
    :class:`KernelHGR` solves for polynomials instead of training networks and takes a fraction of the time.

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

    def _start(self, prepared: PairRows, configs: int) -> HGRState:
        like = prepared.sensitive
        return HGRState(
            TrainedNetworks.start(self._of_prediction, prepared.seed, configs, like),
            TrainedNetworks.start(self._of_attributes(prepared), prepared.seed + 1, configs, like),
            torch.zeros((), dtype=torch.float64, device=like.device),
        )

    @on_tensors
    def step(self, prediction: Tensor, prepared: PairRows, state: HGRState | None) -> PenaltyStep:
        state = state or self._start(prepared, len(prediction))
        weight, u = prepared.row_weight, standardised(prediction, prepared.row_weight)
        inputs, first, second = u.value.unsqueeze(-1), self._of_prediction, self._of_attributes(prepared)
        phi, psi, steps = state.of_prediction.copied(), state.of_attributes.copied(), state.steps
        rate = self.rate(prediction)
        for _ in range(self.critic_steps):
            own, activations = first.forward_all(phi.parameters, inputs)
            other, kept = second.forward(psi.parameters, prepared.sensitive)
            found = correlation(own.squeeze(-1), other, weight)
            down = first.pullback_all(phi.parameters, activations, -found.in_first.unsqueeze(-1))
            down_other = second.pullback(psi.parameters, kept, -found.in_second)
            ADAM.update(phi.parameters, down, phi.moments, rate, steps)  # in place
            ADAM.update(psi.parameters, down_other, psi.moments, rate, steps)
            steps = steps + 1
        own, activations = first.forward_all(phi.parameters, inputs)
        found = correlation(own.squeeze(-1), second.predict(psi.parameters, prepared.sensitive), weight)
        c, spread = found.value.clamp_min(0), (weight * u.value.square()).sum(dim=-1)
        upstream = (2 * spread * c).unsqueeze(1) * found.in_first
        gradient = first.input_pullback(phi.parameters, activations, upstream.unsqueeze(-1)).squeeze(-1)
        gradient = gradient + 2 * weight * u.value * c.square().unsqueeze(1)
        after = HGRState(phi, psi, steps)
        return PenaltyStep(spread * c.square(), through_standardising(gradient, u, weight), after)

    @on_tensors
    def value(self, prediction: Tensor, prepared: PairRows, state: HGRState | None) -> Tensor:
        """The value with the present functions, which have not seen these rows."""
        state = state or self._start(prepared, len(prediction))
        u = standardised(prediction, prepared.row_weight).value
        own, _ = self._of_prediction.forward_all(state.of_prediction.parameters, u.unsqueeze(-1))
        other = self._of_attributes(prepared).predict(state.of_attributes.parameters, prepared.sensitive)
        c = correlation(own.squeeze(-1), other, prepared.row_weight).value.clamp_min(0)
        return (prepared.row_weight * u.square()).sum(dim=-1) * c.square()

    @property
    def _of_prediction(self) -> Network:
        return Network(1, self.hidden)

    def _of_attributes(self, prepared: PairRows) -> Network:
        return Network(prepared.sensitive.shape[1], self.hidden)


def correlation(first: Tensor, second: Tensor, row_weight: Tensor) -> Correlation:
    """Of two columns of values for each configuration, each (config, row)."""
    (one, sd_one), (other, sd_other) = (_scaled(each, row_weight) for each in (first, second))
    c = (row_weight * one * other).sum(dim=-1, keepdim=True)
    in_first = row_weight * (other - c * one) / sd_one
    return Correlation(c.squeeze(-1), in_first, row_weight * (one - c * other) / sd_other)


def _scaled(values: Tensor, row_weight: Tensor) -> tuple[Tensor, Tensor]:
    """(values − mean) / √(variance + 1e-9), (config, row), and that root (config, 1)."""
    centred = values - (values * row_weight).sum(dim=-1, keepdim=True)
    sd = ((centred.square() * row_weight).sum(dim=-1, keepdim=True) + _ROUNDING).sqrt()
    return centred / sd, sd
