"""FairBatch: shares of a batch move between cells of target and group until group averages agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.members.networks import NetworkMembers
from fairlevel_study.systems.groups import GroupVariance, groups_of
from fairlevel_study.systems.networks import Stack, row_strengths
from fairlevel_study.systems.protocol import Data


class BatchShares:
    r"""The probability that a row of group z in a batch comes from its upper half of y: λ_z, (config, group).

    After every step λ_z rises by the strength where the average prediction of the group is below that of all rows, and
    falls by it where it is above. Rows get the probability with which a batch draws them,

    .. math:: q_i = p_z \lambda_z / n_{z,1} \text{ (upper half)}, \qquad q_i = p_z (1 - \lambda_z) / n_{z,0} .

    Shapes: upper, whether a row is in the upper half of y of its group, (row,).
    """

    def __init__(self, groups: GroupVariance, upper: Tensor, strengths: Tensor) -> None:
        self._groups, self._strengths = groups, strengths
        member = groups.member
        self._in_cell = torch.stack([(1 - upper).unsqueeze(1) * member, upper.unsqueeze(1) * member])
        self._count = self._in_cell.sum(dim=1)  # (half, group)
        self._fixed = (self._count == 0).any(dim=0)  # a group with one kind of y has nothing to choose
        self.upper_share = (self._count[1] / self._count.sum(dim=0).clamp_min(1)).repeat(len(strengths), 1)

    def probabilities(self) -> Tensor:
        """q, (config, row); each sums to 1."""
        halves = torch.stack([1 - self.upper_share, self.upper_share])  # (half, config, group)
        of_cell = halves * (self._groups.share / self._count.clamp_min(1)).unsqueeze(1)
        return (of_cell @ self._in_cell.transpose(1, 2)).sum(dim=0)

    def update(self, prediction: Tensor) -> None:
        """Move every λ_z by one strength."""
        move = -self._strengths * self._groups.deviations(prediction).sign()
        moved = (self.upper_share + move).clamp(0, 1)
        self.upper_share = torch.where(self._fixed, self.upper_share, moved)


@dataclass(frozen=True)
class FairBatch:
    """Networks on batches whose composition follows the group averages (Roh et al., ICLR 2021).

    A strength is the step α of the shares; 0 is plain training. The study trains on all rows, so a batch is its
    expectation: every row weighs as much as its probability to be drawn. The authors compare two groups with each
    other; here each group is compared with all rows. The target is cut at the median of each group.
    """

    bins: int | None = 4
    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "fairbatch"
    uses_attributes: ClassVar[bool] = False

    @torch.no_grad()
    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        groups = groups_of(self.name, data.a, self.bins, setup.seed)
        number = groups.number(data.a)
        stack = Stack.of(data.x, data.y, len(strengths), setup, self.learning_rate)
        variance = GroupVariance.of(number, groups.count, stack.target)
        median = np.array([np.median(data.y[number == z]) if (number == z).any() else 0 for z in range(groups.count)])
        upper = torch.from_numpy(data.y > median[number]).to(stack.target)
        shares = BatchShares(variance, upper, row_strengths(strengths, stack.target))
        moments = setup.optimizer.init(stack.parameters)
        for step in range(setup.optimizer.steps):
            prediction, kept = stack.forward()
            gradient = 2 * shares.probabilities() * (prediction - stack.target)
            stack.descend(stack.slope(kept, gradient), moments, stack.rate, step)
            shares.update(prediction)
        return stack.members()
