"""What a tile of configurations minimises, one step against its gradient, and how far to go along a direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fairlevel.arrays import AnyArray, StepResult, namespace
from fairlevel.losses import Loss, LossStep
from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import Along, PenaltyStep, Settings
from fairlevel.predictors.protocol import Learner, Move, Parabola
from fairlevel.training.rows import StepRows

MOST_TRIALS = 12
_SUFFICIENT = 1e-4  # of the decrease that the slope promises


@dataclass(frozen=True)
class BoundPenalty:
    """A penalty, what it prepared for some rows, and which of them carry the accuracy term."""

    penalty: Penalty
    prepared: Any
    accuracy: slice

    def init(self, configs: int, settings: Settings) -> Any:
        """The state before the first step."""
        return self.penalty.init(self.prepared, configs, settings)

    def step(self, prediction: AnyArray, state: Any, move: Move | None = None) -> PenaltyStep:
        """Value, gradient and next state; prediction (config, row). ``move`` is how predictions have moved since the
        last step, where that is known.
        """
        if move is None or move.along is None:
            return self.penalty.step(prediction, self.prepared, state)
        return self.penalty.step_after(prediction, move.step, move.along, self.prepared, state)

    def along(self, direction: AnyArray, value: AnyArray, state: Any) -> Along | None:
        """The penalty along a direction, (config, row), where its curvature is known."""
        return self.penalty.along(direction, value, self.prepared, state)

    def value(self, prediction: AnyArray, state: Any) -> AnyArray:
        """The value on these rows, (config,), with the state of training: critics and trained means as they are."""
        return self.penalty.value(prediction, self.prepared, state)


class HeldOutRows(NamedTuple):
    """Rows that decide when to stop, the penalty bound to them, and the training rows; None where no penalty counts."""

    rows: StepRows
    penalty: BoundPenalty
    training: StepRows | None


class LossAndPenalty(NamedTuple):
    """Loss and penalty, each (config,)."""

    loss: AnyArray
    value: AnyArray


class Objective(NamedTuple):
    """loss + weight · penalty, with the weights, (config,), and the settings of the penalty for each configuration."""

    loss: Loss
    penalty: BoundPenalty
    weight: AnyArray
    settings: Settings

    def start(self) -> Any:
        """The penalty's state before the first step."""
        return self.penalty.init(len(self.weight), self.settings)

    def weighted(self, value: AnyArray) -> AnyArray:
        """weight · penalty, (config,); 0 without a weight, whatever the penalty says."""
        xp = namespace(value)
        return xp.where(self.weight > 0, self.weight * value, xp.zeros_like(value))

    def on(self, rows: StepRows, learner: Learner, state: Any) -> LossAndPenalty:
        """Loss and penalty of the present models on training rows."""
        score = learner.evaluate(rows.inputs)
        error = accuracy_term(self.loss, score, rows).value
        return LossAndPenalty(error, self.penalty.step(self.loss.link(score), state).value)

    def on_held_out(self, held: HeldOutRows, learner: Learner, state: Any) -> AnyArray:
        """Loss + weight · penalty of the present models on held-out rows, (config,).

        Networks start with differences between profiles, which few held-out rows may miss by chance: their penalty
        counts as no less than on the training rows, where training lowers it. Models that grow start without any.
        """
        score = learner.evaluate(held.rows.inputs)
        error = self.loss.value(score, held.rows.target, held.rows.accuracy_weight)
        value = held.penalty.value(self.loss.link(score), state)
        if held.training is not None and not learner.grows:
            on_training = self.penalty.value(self.loss.link(learner.evaluate(held.training.inputs)), state)
            value = namespace(value).maximum(value, on_training)
        return error + self.weighted(value)


class ObjectiveStep:
    """One step of a learner against the gradient of an objective. How predictions moved in the last step, where the
    learner tells, makes the next gradient cheaper.
    """

    def __init__(self, learner: Learner, objective: Objective) -> None:
        self._learner, self._objective = learner, objective
        self._fair = (objective.weight > 0)[:, None]
        self._all_fair = bool(self._fair.all())
        self._curvature = objective.penalty.penalty.curvature(objective.weight)
        self._loss_curvature = LossCurvature(objective.loss)
        self._move: Move | None = None

    def __call__(self, here: StepRows, state: Any) -> StepResult:
        loss, penalty, weight, _ = self._objective
        score = self._learner.predictions(here.inputs)
        accuracy = accuracy_term(loss, score, here)
        value, gradient, after = penalty.step(loss.link(score), state, self._move)
        disparity = weight[:, None] * loss.through_link(score, gradient)
        if not self._all_fair:
            xp = namespace(disparity)
            disparity = xp.where(self._fair, disparity, xp.zeros_like(disparity))
        total = accuracy.gradient + disparity
        local = LineSearch(self._objective, self._loss_curvature, here, score, total, value, state)
        self._move = self._learner.follow(total, self._curvature, local)
        return StepResult(after, accuracy.value, value)


class RowCurvature(NamedTuple):
    """Second derivatives of the loss in each score: of the rows that carry accuracy, (config, accuracy row), and of all
    rows, (config, row), with zeros for the others.
    """

    of_accuracy_rows: AnyArray
    of_all_rows: AnyArray


class LossCurvature:
    """Second derivatives of the loss at given scores. Those of a quadratic loss do not depend on the scores: the same
    arrays are given for the same rows.
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._known: tuple[StepRows, RowCurvature] | None = None

    def at(self, score: AnyArray, rows: StepRows) -> RowCurvature:
        """At scores (config, row)."""
        if self._known is None or self._known[0] is not rows or not self._loss.quadratic:
            accuracy = rows.accuracy
            curvature = self._loss.curvature(score[:, accuracy], rows.target[accuracy], rows.accuracy_weight)
            self._known = rows, RowCurvature(curvature, on_all_rows(curvature, score, rows))
        return self._known[1]


class LineSearch(NamedTuple):
    """Loss + weight · penalty at these scores, with its gradient. Shapes: score and gradient (config, row), value
    (config,), that of the penalty; ``state`` is the penalty's before the step.
    """

    objective: Objective
    curvature: LossCurvature
    rows: StepRows
    score: AnyArray
    gradient: AnyArray
    value: AnyArray
    state: Any

    @property
    def row_count(self) -> float:
        return self.rows.count

    def row_curvature(self) -> AnyArray:
        """Second derivative of the loss in each score, (config, row); 0 on rows that do not carry accuracy."""
        return self.curvature.at(self.score, self.rows).of_all_rows

    def step_along(self, direction: AnyArray, rate: float, beside: Parabola | None = None) -> Move:
        r"""A step in [0, rate] that lowers the objective, and the learner's own term ``beside`` it, at f + s t.

        Where loss and penalty are quadratic, s = rate · min(1, −⟨g, t⟩ / tᵀHt). Elsewhere s goes down from ``rate``, to
        the minimum of the parabola through what is known and at least by half, until the objective has fallen by a
        share of what the slope promises.
        """
        xp = namespace(direction)
        slope, bend = (self.gradient * direction).sum(-1), 0.0
        if beside is not None:
            slope, bend = slope + beside.slope, beside.curvature
        zeros = xp.zeros_like(slope)
        quadratic = self.objective.loss.quadratic
        along = self.objective.penalty.along(direction, self.value, self.state) if quadratic else None
        if along is not None:
            curvature = self._curvature_along(direction, along) + bend
            smallest = float(xp.finfo(curvature.dtype).smallest_normal)
            best = xp.where(slope < 0, -slope / xp.clip(curvature, min=smallest), zeros)
            return Move(rate * xp.clip(best, min=0.0, max=1.0), along)
        start, accepted = self._at(self.score), slope >= 0
        step = xp.where(accepted, zeros, xp.full_like(slope, rate))
        for _ in range(MOST_TRIALS):
            further = self._at(self.score + step[:, None] * direction)
            if beside is not None:
                further = further + step * beside.slope + step**2 * beside.curvature / 2
            accepted = accepted | (further <= start + _SUFFICIENT * step * slope)
            if accepted.all():
                return Move(step)
            rise = further - start - step * slope  # what bends the objective up
            lowest = -slope * step**2 / (2 * xp.where(rise > 0, rise, xp.ones_like(rise)))
            lower = xp.where(lowest > 0.5 * step, 0.5 * step, xp.where(lowest > 1e-3 * step, lowest, 1e-3 * step))
            lower = xp.where((rise > 0) & xp.isfinite(rise), lower, 0.5 * step)
            step = xp.where(accepted, step, lower)
        return Move(xp.where(accepted, step, zeros))

    def _curvature_along(self, direction: AnyArray, along: Along) -> AnyArray:
        """tᵀHt, (config,)."""
        of_loss = self.curvature.at(self.score, self.rows).of_accuracy_rows
        on_accuracy_rows = (of_loss * direction[:, self.rows.accuracy] ** 2).sum(-1)
        return on_accuracy_rows + self.objective.weight * along.curvature

    def _at(self, score: AnyArray) -> AnyArray:
        """The objective at other scores, (config, row) -> (config,)."""
        loss, penalty = self.objective.loss, self.objective.penalty
        value = penalty.step(loss.link(score), self.state).value
        return accuracy_term(loss, score, self.rows).value + self.objective.weighted(value)


def accuracy_term(loss: Loss, score: AnyArray, rows: StepRows) -> LossStep:
    """The loss of the rows that carry accuracy; its gradient, (config, row), is zero on the others."""
    step = loss.step(score[:, rows.accuracy], rows.target[rows.accuracy], rows.accuracy_weight)
    return LossStep(step.value, on_all_rows(step.gradient, score, rows))


def on_all_rows(values: AnyArray, score: AnyArray, rows: StepRows) -> AnyArray:
    """Values of the rows that carry accuracy, with zeros for the others: (config, accuracy row) -> (config, row)."""
    if values.shape == score.shape:
        return values
    full = namespace(score).zeros_like(score)
    full[:, rows.accuracy] = values
    return full
