"""What a tile of configurations minimises, and one step against its gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairlevel.losses import Loss
from fairlevel.penalties.protocol import Settings
from fairlevel.predictors import Learner
from fairlevel.predictors.protocol import Move
from fairlevel.training.acting_penalty import BoundPenalty
from fairlevel.training.execution.cuda_graph import StepResult
from fairlevel.training.line_search import LineSearch, LossCurvature, accuracy_term
from fairlevel.training.rows import StepRows


class HeldOutRows(NamedTuple):
    """Rows that decide when to stop, the penalty bound to them, and the training rows; None where no penalty counts."""

    rows: StepRows
    penalty: BoundPenalty
    training: StepRows | None


class LossAndPenalty(NamedTuple):
    """Loss and penalty, each (config,)."""

    loss: Tensor
    value: Tensor


class Objective(NamedTuple):
    """loss + weight · penalty, with the weights, (config,), and the settings of the penalty for each configuration."""

    loss: Loss
    penalty: BoundPenalty
    weight: Tensor
    settings: Settings

    def start(self) -> Any:
        """The penalty's state before the first step."""
        return self.penalty.init(len(self.weight), self.settings)

    def on(self, rows: StepRows, learner: Learner, state: Any) -> LossAndPenalty:
        """Loss and penalty of the present models on training rows."""
        score = learner.evaluate(rows.inputs)
        error = accuracy_term(self.loss, score, rows).value
        return LossAndPenalty(error, self.penalty.step(self.loss.link(score), state).value)

    def on_held_out(self, held: HeldOutRows, learner: Learner, state: Any) -> Tensor:
        """Loss + weight · penalty of the present models on held-out rows, (config,).

        Networks start with differences between profiles, which few held-out rows may miss by chance: their penalty
        counts as no less than on the training rows, where training lowers it. Models that grow start without any.
        """
        score = learner.evaluate(held.rows.inputs)
        error = self.loss.value(score, held.rows.target, held.rows.accuracy_weight)
        value = held.penalty.value(self.loss.link(score), state)
        if held.training is not None and not learner.grows:
            on_training = self.penalty.value(self.loss.link(learner.evaluate(held.training.inputs)), state)
            value = torch.maximum(value, on_training)
        return error + torch.where(self.weight > 0, self.weight * value, 0.0)


class ObjectiveStep:
    """One step of a learner against the gradient of an objective. How predictions moved in the last step, where the
    learner tells, makes the next gradient cheaper.
    """

    def __init__(self, learner: Learner, objective: Objective) -> None:
        self._learner, self._objective = learner, objective
        self._fair = (objective.weight > 0).unsqueeze(1)
        self._all_fair = bool(self._fair.all())
        self._curvature = objective.penalty.curvature(objective.weight)
        self._loss_curvature = LossCurvature(objective.loss)
        self._move: Move | None = None

    def __call__(self, here: StepRows, state: Any) -> StepResult:
        loss, penalty, weight, _ = self._objective
        score = self._learner.predictions(here.inputs)
        accuracy = accuracy_term(loss, score, here)
        value, gradient, after = penalty.step(loss.link(score), state, self._move)
        disparity = weight.unsqueeze(1) * loss.through_link(score, gradient)
        total = accuracy.gradient + (disparity if self._all_fair else torch.where(self._fair, disparity, 0.0))
        local = LineSearch(loss, self._loss_curvature, penalty, here, weight, score, total, value, state)
        self._move = self._learner.follow(total, self._curvature, local)
        return StepResult(after, accuracy.value, value)
