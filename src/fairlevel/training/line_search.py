"""The objective around present predictions: how far to go along a direction."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairlevel.losses import Loss, LossStep
from fairlevel.penalties.protocol import Along
from fairlevel.predictors.protocol import Move
from fairlevel.training.acting_penalty import BoundPenalty
from fairlevel.training.rows import StepRows

MOST_HALVINGS = 12
_SUFFICIENT = 1e-4  # of the decrease that the slope promises


class RowCurvature(NamedTuple):
    """Second derivatives of the loss in each score: of the rows that carry accuracy, (config, accuracy row), and of all
    rows, (config, row), with zeros for the others.
    """

    of_accuracy_rows: Tensor
    of_all_rows: Tensor


class LossCurvature:
    """Second derivatives of the loss at given scores. Those of a quadratic loss do not depend on the scores: the same
    tensors are given for the same rows.
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._known: tuple[StepRows, RowCurvature] | None = None

    def at(self, score: Tensor, rows: StepRows) -> RowCurvature:
        """At scores (config, row)."""
        if self._known is None or self._known[0] is not rows or not self._loss.quadratic:
            accuracy = rows.accuracy
            found = self._loss.curvature(score[:, accuracy], rows.target[accuracy], rows.accuracy_weight)
            self._known = rows, RowCurvature(found, on_all_rows(found.expand(len(score), -1), score, rows))
        return self._known[1]


class LineSearch(NamedTuple):
    """Loss + weight · penalty at these scores, with its gradient. Shapes: weight and value (config,), score and
    gradient (config, row); ``value`` is that of the penalty, ``state`` its state before the step.
    """

    loss: Loss
    curvature: LossCurvature
    penalty: BoundPenalty
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
        return self.curvature.at(self.score, self.rows).of_all_rows

    def step_along(self, direction: Tensor, rate: float) -> Move:
        r"""A step in [0, rate] that lowers the objective at f + s t.

        Where loss and penalty are quadratic, s = rate · min(1, −⟨g, t⟩ / tᵀHt). Elsewhere s is halved, from ``rate``,
        until the objective has fallen by a share of what the slope promises.
        """
        slope = (self.gradient * direction).sum(dim=-1)
        along = self.penalty.along(direction, self.value, self.state) if self.loss.quadratic else None
        if along is not None:
            curvature = self._curvature_along(direction, along)
            best = torch.where(slope < 0, -slope / curvature.clamp_min(torch.finfo(curvature.dtype).tiny), 0.0)
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

    def _curvature_along(self, direction: Tensor, along: Along) -> Tensor:
        """tᵀHt, (config,)."""
        of_loss = self.curvature.at(self.score, self.rows).of_accuracy_rows
        return (of_loss * direction[:, self.rows.accuracy].square()).sum(dim=-1) + self.weight * along.curvature

    def _objective(self, score: Tensor) -> Tensor:
        value = self.penalty.step(self.loss.link(score), self.state).value
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
