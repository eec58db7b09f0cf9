"""From scores to what users see."""

from __future__ import annotations

from dataclasses import dataclass

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
