"""From scores to what users see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairlevel.arrays import Array

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class LogisticLink:
    """(p − centre) / scale with p = 1 / (1 + e^−(s + offset)): a probability in standardised units."""

    offset: float = 0.0
    centre: float = 0.0
    scale: float = 1.0

    def probability(self, score: Tensor) -> Tensor:
        """p, of the shape of the score."""
        return (score + self.offset).sigmoid()

    def __call__(self, score: Tensor) -> Tensor:
        return (self.probability(score) - self.centre) / self.scale

    def of_scores(self, score: Array) -> Array:
        """The same for fitted models, in NumPy: large scores of either sign neither overflow nor lose digits."""
        shifted = score + self.offset
        falling = np.exp(-np.abs(shifted))
        probability = np.where(shifted >= 0, 1.0, falling) / (1.0 + falling)
        return (probability - self.centre) / self.scale
