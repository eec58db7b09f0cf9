"""Adversarial debiasing: a critic predicts A from the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backends import CriticFit
from fairlevel.networks.critics import critic_gradient, critic_loss
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Adam, Moments
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.standardised import standardised, through_standardising
from fairlevel.penalties.toolkit import PenaltyDefaults, check_positive, setting
from fairlevel.tensors import to_device


@dataclass(frozen=True)
class CriticRows:
    """What the critic is to guess. Shapes: sensitive (row, attribute) centred, row_weight (row,); ``spread`` is its
    mean variance, the loss of a critic that knows nothing.
    """

    sensitive: Tensor
    row_weight: Tensor
    spread: float
    seed: int

    def to(self, dtype: torch.dtype, device: torch.device | str) -> CriticRows:
        return to_device(self, dtype, device)


class Critic(NamedTuple):
    """Parameters (config, parameter), Adam's moments, step sizes (config,), steps taken (a scalar)."""

    parameters: Tensor
    moments: Moments
    learning_rate: Tensor
    steps: Tensor


@dataclass(frozen=True)
class Adversarial(PenaltyDefaults):
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
    critic_learning_rate : its step size, one number or one per configuration (setting ``critic_learning_rate``)
    hidden : widths of its tanh layers
    """

    critic_steps: int = 5
    critic_learning_rate: float = 0.01
    hidden: tuple[int, ...] = (64, 64)
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "adversarial"
    tunable: ClassVar[tuple[str, ...]] = ("critic_learning_rate",)
    group_size: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        check_positive(critic_learning_rate=self.critic_learning_rate)
        if not isinstance(self.critic_steps, int) or self.critic_steps < 1:
            raise InvalidInput(f"critic_steps={self.critic_steps} was given; a whole number ≥ 1 is needed, such as 5.")

    def along(self, direction: Tensor, value: Tensor, prepared: CriticRows, state: Critic) -> Along:
        """2 E[t²], as for a share of the variance: the critic moves with the predictions, so that no search along
        them would mean anything.
        """
        return Along(2 * direction.square().mean(dim=-1))

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> CriticRows:
        values, weight = torch.from_numpy(attributes.values), torch.from_numpy(attributes.weight)
        centred = values - weight @ values
        return CriticRows(centred, weight, float((weight @ centred.square()).mean()) if centred.shape[1] else 0.0, seed)

    def init(self, prepared: CriticRows, configs: int, settings: Settings) -> Critic:
        start = self._network(prepared).init(prepared.seed, prepared.sensitive.dtype).to(prepared.sensitive)
        parameters = start.repeat(configs, 1)
        rate = setting(self, settings, "critic_learning_rate", prepared.sensitive, configs)
        steps = torch.zeros((), dtype=torch.float64, device=parameters.device)
        return Critic(parameters, _ADAM.init(parameters), rate, steps)

    def step(self, prediction: Tensor, prepared: CriticRows, state: Critic) -> PenaltyStep:
        if prepared.spread == 0:
            return PenaltyStep(torch.zeros_like(prediction[:, 0]), torch.zeros_like(prediction), state)
        network = self._network(prepared)
        u = standardised(prediction, prepared.row_weight)
        fit = CriticFit(u.value, prepared.sensitive, prepared.row_weight)
        parameters, moments, rate, steps = state
        parameters, moments = parameters.clone(), Moments(*(each.clone() for each in moments))
        for _ in range(self.critic_steps):
            _ADAM.update(parameters, critic_gradient(network, parameters, fit), moments, rate, steps)  # in place
            steps = steps + 1
        loss, input_gradient = critic_loss(network, parameters, fit)
        explained = 1 - loss / prepared.spread
        gradient = through_standardising(-input_gradient / prepared.spread, u, prepared.row_weight)
        active = (explained > 0).to(explained)
        return PenaltyStep(explained * active, gradient * active.unsqueeze(1), Critic(parameters, moments, rate, steps))

    def value(self, prediction: Tensor, prepared: CriticRows, state: Critic) -> Tensor:
        """R² of the critic as it stands; unbiased by training on rows that it has not seen."""
        if prepared.spread == 0:
            return torch.zeros_like(prediction[:, 0])
        seen = standardised(prediction, prepared.row_weight).value
        fit = CriticFit(seen, prepared.sensitive, prepared.row_weight)
        return (1 - critic_loss(self._network(prepared), state.parameters, fit).loss / prepared.spread).clamp_min(0)

    def _network(self, prepared: CriticRows) -> Network:
        return Network(1, self.hidden, outputs=prepared.sensitive.shape[1])


_ADAM = Adam(final_fraction=1.0)
