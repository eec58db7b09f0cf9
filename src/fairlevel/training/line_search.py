"""The objective around present predictions: how far to go along a direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairlevel.losses import Loss, LossStep
from fairlevel.penalties.protocol import Along
from fairlevel.predictors.protocol import Move
from fairlevel.training.acting_penalty import ActingPenalty
from fairlevel.training.rows import StepRows

MOST_HALVINGS = 12
_SUFFICIENT = 1e-4  # of the decrease that the slope promises


class LineSearch(NamedTuple):
    """Loss + weight · penalty at these scores, with its gradient. Shapes: weight and value (config,), score and
    gradient (config, row); ``value`` is that of the penalty, ``state`` its state before the step.
    """

    loss: Loss
    penalty: ActingPenalty
    rows: StepRows
    weight: Tensor
    score: Tensor
    gradient: Tensor
    value: Tensor
    state: Any

    @property
    def row_count(self) -> float:
        return self.rows.count

    def row_curvature(self) -> Tensor:
        """Second derivative of the loss in each score, (config, row); 0 on rows that do not carry accuracy."""
        rows = self.rows
        found = self.loss.curvature(self.score[:, rows.accuracy], rows.target[rows.accuracy], rows.accuracy_weight)
        return on_all_rows(found.expand(len(self.score), -1), self.score, rows)

    def step_along(self, direction: Tensor, rate: float) -> Move:
        r"""A step in [0, rate] that lowers the objective at f + s t.

        Where loss and penalty are quadratic, s = rate · min(1, −⟨g, t⟩ / tᵀHt). Elsewhere s is halved, from ``rate``,
        until the objective has fallen by a share of what the slope promises.
        """
        slope = (self.gradient * direction).sum(dim=-1)
        along = self.penalty.along(direction, self.value, self.state) if self.loss.quadratic else None
        if along is not None:
            bend = self._bend(direction, along)
            best = torch.where(slope < 0, -slope / bend.clamp_min(torch.finfo(bend.dtype).tiny), 0.0)
            return Move(rate * best.clamp(0, 1), along)
        start, accepted = self._objective(self.score), slope >= 0
        step = torch.where(accepted, 0.0, torch.full_like(slope, rate))
        for _ in range(MOST_HALVINGS):
            found = self._objective(self.score + step.unsqueeze(1) * direction)
            accepted |= found <= start + _SUFFICIENT * step * slope
            if accepted.all():
                return Move(step)
            step = torch.where(accepted, step, step / 2)
        return Move(torch.where(accepted, step, 0.0))

    def _bend(self, direction: Tensor, along: Along) -> Tensor:
        """tᵀHt, (config,)."""
        rows = self.rows
        of_loss = self.loss.curvature(self.score[:, rows.accuracy], rows.target[rows.accuracy], rows.accuracy_weight)
        return (of_loss * direction[:, rows.accuracy].square()).sum(dim=-1) + self.weight * along.curvature

    def _objective(self, score: Tensor) -> Tensor:
        value = self.penalty.step(self.loss.link(score), self.rows.window, self.state).value
        return accuracy_term(self.loss, score, self.rows).value + torch.where(self.weight > 0, self.weight * value, 0.0)


def accuracy_term(loss: Loss, score: Tensor, rows: StepRows) -> LossStep:
    """The loss of the rows that carry accuracy; its gradient, (config, row), is zero on the others."""
    found = loss.step(score[:, rows.accuracy], rows.target[rows.accuracy], rows.accuracy_weight)
    return LossStep(found.value, on_all_rows(found.gradient, score, rows))


def on_all_rows(values: Tensor, score: Tensor, rows: StepRows) -> Tensor:
    """Values of the rows that carry accuracy, with zeros for the others: (config, accuracy row) -> (config, row)."""
    if values.shape == score.shape:
        return values
    full = torch.zeros_like(score)
    full[:, rows.accuracy] = values
    return full
