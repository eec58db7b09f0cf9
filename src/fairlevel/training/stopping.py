"""Early stopping on held-out rows, for each configuration on its own."""

from __future__ import annotations

import torch
from torch import Tensor

CHECK_EVERY = 10


class EarlyStopping:
    """The best held-out score of each configuration and the step that reached it; each (config,). ``patience`` is the
    number of checks without a better score after which a configuration ends.
    """

    def __init__(self, configs: int, patience: int, device: torch.device) -> None:
        self._patience = patience
        self.score = torch.full((configs,), torch.inf, dtype=torch.float32, device=device)
        self.step = torch.zeros(configs, dtype=torch.int64, device=device)
        self._waited = torch.zeros(configs, dtype=torch.int64, device=device)

    def improved(self, score: Tensor, step: int) -> Tensor:
        """Which configurations are better than before, (config,) of booleans.

        A configuration whose patience is used up never improves again, whatever the others still do.
        """
        better = (score < self.score) & (self._waited < self._patience)
        self.score = torch.where(better, score, self.score)
        self.step = torch.where(better, step, self.step)
        self._waited = torch.where(better, 0, self._waited + 1)
        return better

    @property
    def done(self) -> Tensor:
        """Whose patience is used up, (config,) of booleans."""
        return self._waited >= self._patience
