"""Moments of predictions as running averages over batches.

The gradient of a batch uses the moments from before it. Given those, the gradient of a row does not depend on which
other rows are in its batch, so the average over batches is the gradient on all rows.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

NEWEST_WEIGHT = 0.1  # weight of the newest batch in the running average


class RunningMoments(NamedTuple):
    """A running average of moments, (config, …), and the total weight in it; their quotient does not depend on the
    zeros it started from.
    """

    average: Tensor
    total_weight: float

    @property
    def divisor(self) -> float:
        """What the average has to be divided by."""
        return max(self.total_weight, NEWEST_WEIGHT)

    @property
    def value(self) -> Tensor:
        """The moments, (config, …)."""
        return self.average / self.divisor

    def after(self, average: Tensor) -> RunningMoments:
        """With an average that one more batch, of weight ``NEWEST_WEIGHT``, has entered."""
        return RunningMoments(average, self.total_weight + NEWEST_WEIGHT * (1 - self.total_weight))
