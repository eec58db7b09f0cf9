"""What penalties with a critic share: networks that are trained a few steps at each step of the predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import on_tensors
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Adam, Moments
from fairlevel.penalties.protocol import Penalty, PenaltyStep
from fairlevel.penalties.toolkit import check_positive

ADAM = Adam(final_fraction=1.0)


class TrainedNetworks(NamedTuple):
    """Parameters of networks (config, parameter) and Adam's moments."""

    parameters: Tensor
    moments: Moments

    @classmethod
    def start(cls, network: Network, seed: int, configs: int, like: Tensor) -> TrainedNetworks:
        """The same parameters for all configurations, of the precision and on the device of ``like``."""
        parameters = network.init(seed, like.dtype).to(like).repeat(configs, 1)
        return cls(parameters, ADAM.init(parameters))

    def copied(self) -> TrainedNetworks:
        """Adam updates in place; the state of the last step stays as it was."""
        return TrainedNetworks(self.parameters.clone(), Moments(*(each.clone() for each in self.moments)))


class CriticState(NamedTuple):
    """The critic and its steps taken (a scalar)."""

    critic: TrainedNetworks
    steps: Tensor

    @classmethod
    def start(cls, network: Network, seed: int, prediction: Tensor) -> CriticState:
        """Before the first step; of the precision and on the device of the predictions, (config, row)."""
        critic = TrainedNetworks.start(network, seed, len(prediction), prediction)
        return cls(critic, torch.zeros((), dtype=torch.float64, device=prediction.device))


class WeightedRows(Protocol):
    """Prepared rows with weights that sum to 1, (row,)."""

    @property
    def row_weight(self) -> Tensor: ...


@dataclass(frozen=True)
class CriticDefaults(Penalty):
    """Settings of the critic, and how far boosting may step."""

    critic_steps: int = 5
    critic_learning_rate: float = 0.01
    hidden: tuple[int, ...] = (64, 64)

    def __post_init__(self) -> None:
        check_positive(critic_learning_rate=self.critic_learning_rate)
        if not isinstance(self.critic_steps, int) or self.critic_steps < 1:
            raise InvalidInput(f"critic_steps={self.critic_steps} was given; a whole number ≥ 1 is needed, such as 5.")

    def rate(self, prediction: Tensor) -> Tensor:
        """The critic's step size for each configuration, (config,)."""
        return prediction.new_full((len(prediction),), self.critic_learning_rate)

    @on_tensors
    def along(self, direction: Tensor, last: PenaltyStep, prepared: WeightedRows) -> Tensor:
        """2 E[t²], as for a share of the variance: the critic moves with the predictions, so that no search along
        them would mean anything.
        """
        return 2 * (direction.square() * prepared.row_weight).sum(dim=-1)
