"""Adversarial debiasing: a critic predicts A from the prediction; as a bounded share, and as it is usually written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.backend import PreparedTensors, on_tensors
from fairlevel.networks.critics import critic_gradient, critic_loss
from fairlevel.networks.fits import CriticFit, CriticLoss
from fairlevel.networks.network import Network
from fairlevel.networks.penalties.trained_critic import ADAM, CriticDefaults, CriticState
from fairlevel.networks.standardised import standardised, through_standardising
from fairlevel.penalties.protocol import PenaltyStep


@dataclass(frozen=True)
class CriticRows(PreparedTensors):
    """What the critic is to guess. Shapes: sensitive (row, attribute) centred, row_weight (row,); ``spread`` is its
    mean variance, the loss of a critic that knows nothing.
    """

    sensitive: Any
    row_weight: Any
    spread: float
    seed: int


@dataclass(frozen=True)
class Adversarial(CriticDefaults):
    r"""A critic g predicts A from the standardised prediction u; the predictor is trained to make that impossible.

    .. math:: L_A = \tfrac{1}{n k} \sum_i \|a_i - g(u_i)\|^2, \qquad
              P = \max\big(0,\; 1 - L_A / L_A^{const}\big), \qquad u = (f - \bar f) / \operatorname{sd} f

    Each step the critic descends L_A by ``critic_steps`` steps of Adam, then the gradient of P at that critic is
    followed. P is the critic's R², bounded by 0 and 1: a larger spread of f gains nothing, and the gradient is zero
    where the critic explains nothing. It targets E[A | f], the reverse regression: f = A² with
    symmetric A is invisible to it.

    Parameters
    ----------
    critic_steps : steps of the critic for each step of the predictor
    critic_learning_rate : its step size
    hidden : widths of its tanh layers
    """

    name: ClassVar[str] = "adversarial"

    def prepare(self, attributes: Attributes, seed: int) -> CriticRows:
        weight, centred = attributes.weight, attributes.values - attributes.weight @ attributes.values
        return CriticRows(centred, weight, float((weight @ centred**2).mean()) if centred.shape[1] else 0.0, seed)

    @on_tensors
    def step(self, prediction: Tensor, prepared: CriticRows, state: CriticState | None) -> PenaltyStep:
        if prepared.spread == 0:
            return PenaltyStep(torch.zeros_like(prediction[:, 0]), torch.zeros_like(prediction))
        u = standardised(prediction, prepared.row_weight)
        after = self.trained(u.value, prepared, state)
        loss, input_gradient = self.loss(u.value, prepared, after)
        explained = 1 - loss / prepared.spread
        gradient = through_standardising(-input_gradient / prepared.spread, u, prepared.row_weight)
        active = (explained > 0).to(explained)
        return PenaltyStep(explained * active, gradient * active.unsqueeze(1), after)

    def trained(self, seen: Tensor, prepared: CriticRows, state: CriticState | None) -> CriticState:
        """The critic after its steps on what it sees, (config, row)."""
        fit, network = CriticFit(seen, prepared.sensitive, prepared.row_weight), self._network(prepared)
        before = state or CriticState.start(network, prepared.seed, seen)
        critic, rate, steps = before.critic.copied(), self.rate(seen), before.steps
        parameters = critic.parameters
        for _ in range(self.critic_steps):
            ADAM.update(parameters, critic_gradient(network, parameters, fit), critic.moments, rate, steps)  # in place
            steps = steps + 1
        return CriticState(critic, steps)

    def loss(self, seen: Tensor, prepared: CriticRows, state: CriticState | None) -> CriticLoss:
        """L_A of the present critic, (config,), and its gradient in what it sees, (config, row)."""
        fit, network = CriticFit(seen, prepared.sensitive, prepared.row_weight), self._network(prepared)
        present = state or CriticState.start(network, prepared.seed, seen)
        return critic_loss(network, present.critic.parameters, fit)

    @on_tensors
    def value(self, prediction: Tensor, prepared: CriticRows, state: CriticState | None) -> Tensor:
        """R² of the present critic; unbiased by training on rows that it has not seen."""
        if prepared.spread == 0:
            return torch.zeros_like(prediction[:, 0])
        loss = self.loss(standardised(prediction, prepared.row_weight).value, prepared, state).loss
        return (1 - loss / prepared.spread).clamp_min(0)

    def _network(self, prepared: CriticRows) -> Network:
        return Network(1, self.hidden, outputs=prepared.sensitive.shape[1])


@dataclass(frozen=True)
class PlainAdversarial(Adversarial):
    r"""The predictor minimises its error minus the critic's, as adversarial debiasing is usually written.

    .. math:: L_A = \tfrac{1}{n k} \sum_i \|a_i - g(f_i)\|^2, \qquad P = L_A^{const} - L_A

    The critic sees f as it is, and P has no lower bound: a critic that does worse than the constant is rewarded, so
    that f may diverge. Parameters as in ``Adversarial``.
    """

    name: ClassVar[str] = "adversarial_plain"

    @on_tensors
    def step(self, prediction: Tensor, prepared: CriticRows, state: CriticState | None) -> PenaltyStep:
        if prepared.spread == 0:
            return PenaltyStep(torch.zeros_like(prediction[:, 0]), torch.zeros_like(prediction))
        after = self.trained(prediction, prepared, state)
        loss, gradient = self.loss(prediction, prepared, after)
        return PenaltyStep(prepared.spread - loss, -gradient, after)

    @on_tensors
    def value(self, prediction: Tensor, prepared: CriticRows, state: CriticState | None) -> Tensor:
        """What the present critic explains."""
        if prepared.spread == 0:
            return torch.zeros_like(prediction[:, 0])
        return prepared.spread - self.loss(prediction, prepared, state).loss
