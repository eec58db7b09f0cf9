"""Early stopping on held-out rows, each configuration for itself."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

CHECK_EVERY = 10
PATIENCE = 25  # checks without a better score


@dataclass
class BestSoFar:
    """The best parameters each configuration has shown, by held-out score; scores (config,), parameters (config,
    parameter).
    """

    score: Tensor
    parameters: Tensor
    step: Tensor
    waited: Tensor

    @classmethod
    def start(cls, parameters: Tensor) -> BestSoFar:
        configs = len(parameters)
        return cls(
            parameters.new_full((configs,), torch.inf),
            parameters.clone(),
            torch.zeros(configs, dtype=torch.int64, device=parameters.device),
            torch.zeros(configs, dtype=torch.int64, device=parameters.device),
        )

    def offer(self, score: Tensor, parameters: Tensor, step: int) -> None:
        """Keep what is better. A configuration whose patience is spent keeps what it has, whatever its neighbours
        still do.
        """
        better = (score < self.score) & (self.waited < PATIENCE)
        self.parameters = torch.where(better.unsqueeze(1), parameters, self.parameters)
        self.score = torch.where(better, score, self.score)
        self.step = torch.where(better, step, self.step)
        self.waited = torch.where(better, 0, self.waited + 1)

    @property
    def done(self) -> bool:
        return bool((self.waited >= PATIENCE).all())
