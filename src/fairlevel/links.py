"""From scores to what users see."""

from __future__ import annotations

from dataclasses import dataclass

from fairlevel.arrays import AnyArray, namespace


class IdentityLink:
    """What users see is the score."""

    def __call__(self, score: AnyArray) -> AnyArray:
        return score

    def slope(self, score: AnyArray) -> AnyArray:
        """The derivative in each score."""
        return 1.0


IDENTITY = IdentityLink()


@dataclass(frozen=True)
class LogisticLink(IdentityLink):
    """(p − centre) / scale with p = 1 / (1 + e^−(s + offset)): a probability in standardised units."""

    offset: float = 0.0
    centre: float = 0.0
    scale: float = 1.0

    def probability(self, score: AnyArray) -> AnyArray:
        """p, of the shape of the score. Large scores of either sign neither overflow nor lose digits."""
        xp = namespace(score)
        shifted = score + self.offset
        falling = xp.exp(-xp.abs(shifted))
        return xp.where(shifted >= 0, xp.ones_like(falling), falling) / (1.0 + falling)

    def __call__(self, score: AnyArray) -> AnyArray:
        return (self.probability(score) - self.centre) / self.scale

    def slope(self, score: AnyArray) -> AnyArray:
        probability = self.probability(score)
        return probability * (1 - probability) / self.scale
