"""What a tile of configurations minimises, one step against its gradient, and how far to go along a direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairlevel.arrays import AnyArray, StepResult, namespace
from fairlevel.losses import Loss
from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import PenaltyStep
from fairlevel.predictors.protocol import Learner

MOST_TRIALS = 12
_SUFFICIENT = 1e-4  # of the decrease that the slope promises


@dataclass(frozen=True)
class Objective:
    """Loss and penalty on some rows, where a learner trains.

    Shapes: inputs (row, …), target (row,), row_weight (row,), which sums to 1 and is 0 on rows that do not carry the
    accuracy term; ``count`` is how many rows the weights stand for. Scores are (config, row).
    """

    loss: Loss
    penalty: Penalty
    prepared: Any
    inputs: AnyArray
    target: AnyArray
    row_weight: AnyArray
    count: float

    def error(self, score: AnyArray) -> AnyArray:
        """The loss, (config,)."""
        return self.loss.value(score, self.target, self.row_weight)

    def curvature(self, score: AnyArray) -> AnyArray:
        """The second derivative of the loss in each score, (config, row). That of a quadratic loss does not depend on
        the scores: the same array is given again.
        """
        if not self.loss.quadratic:
            return self.loss.curvature(score, self.target, self.row_weight)
        if len(score) not in self._curvatures:
            self._curvatures[len(score)] = self.loss.curvature(score, self.target, self.row_weight)
        return self._curvatures[len(score)]

    @cached_property
    def _curvatures(self) -> dict[int, AnyArray]:
        """Those of a quadratic loss, by the number of configurations."""
        return {}

    def disparity(self, score: AnyArray, state: Any) -> PenaltyStep:
        """The penalty's step; its gradient is in link(score)."""
        return self.penalty.step(self.loss.link(score), self.prepared, state)

    def held_out_disparity(self, score: AnyArray, state: Any) -> AnyArray:
        """The penalty with the state of training, (config,): critics and trained means as they are."""
        return self.penalty.value(self.loss.link(score), self.prepared, state)


def weighted(weight: AnyArray, value: AnyArray) -> AnyArray:
    """weight · penalty, (config,); 0 without a weight, whatever the penalty says."""
    xp = namespace(value)
    return xp.where(weight > 0, weight * value, xp.zeros_like(value))


class ObjectiveStep:
    """One step of a learner against the gradient of loss + weight · penalty; weights (config,)."""

    def __init__(self, learner: Learner, objective: Objective, weight: AnyArray) -> None:
        self._learner, self._objective, self._weight = learner, objective, weight
        self._fair = (weight > 0)[:, None]
        self._all_fair = bool(self._fair.all())

    def __call__(self, state: Any) -> StepResult:
        objective = self._objective
        score = self._learner.forward(objective.inputs)
        penalty = objective.disparity(score, state)
        disparity = penalty.gradient * (self._weight[:, None] * objective.loss.link.slope(score))
        if not self._all_fair:
            xp = namespace(disparity)
            disparity = xp.where(self._fair, disparity, xp.zeros_like(disparity))
        gradient = objective.loss.gradient(score, objective.target, objective.row_weight) + disparity
        error = objective.error(score)
        self._learner.follow(gradient, LocalObjective(objective, self._weight, score, gradient, penalty, state))
        return StepResult(penalty.state, error, penalty.value)


@dataclass(frozen=True)
class LocalObjective:
    """The objective at these scores, with its gradient, each (config, row): what learners ask about its curvature.
    ``penalty`` is the penalty's step, ``state`` its state before it.
    """

    objective: Objective
    weight: AnyArray
    score: AnyArray
    gradient: AnyArray
    penalty: PenaltyStep
    state: Any

    @property
    def bound(self) -> AnyArray:
        return 1 + self.weight * self.penalty.curvature

    @property
    def row_count(self) -> float:
        return self.objective.count

    def of_rows(self) -> AnyArray:
        return self.objective.curvature(self.score)

    def step_along(self, direction: AnyArray, rate: float, slope: AnyArray = 0.0, bend: AnyArray = 0.0) -> AnyArray:
        r"""A step in [0, rate] that lowers the objective at f + s t; slope and bend are those of a further term.

        Where loss and penalty are quadratic, s = rate · min(1, −⟨g, t⟩ / tᵀHt). Elsewhere s goes down from ``rate``, to
        the minimum of the parabola through what is known and at least by half, until the objective has fallen by a
        share of what the slope promises.
        """
        xp, objective = namespace(direction), self.objective
        total = (self.gradient * direction).sum(-1) + slope
        quadratic = objective.loss.quadratic
        along = objective.penalty.along(direction, self.penalty, objective.prepared) if quadratic else None
        if along is not None:
            curvature = (self.of_rows() * direction**2).sum(-1) + self.weight * along + bend
            smallest = float(xp.finfo(curvature.dtype).smallest_normal)
            best = xp.where(total < 0, -total / xp.clip(curvature, min=smallest), xp.zeros_like(total))
            return rate * xp.clip(best, min=0.0, max=1.0)
        start, accepted = self._at(self.score), total >= 0
        step = xp.where(accepted, xp.zeros_like(total), xp.full_like(total, rate))
        for _ in range(MOST_TRIALS):
            further = self._at(self.score + step[:, None] * direction) + step * slope + step**2 * bend / 2
            accepted = accepted | (further <= start + _SUFFICIENT * step * total)
            if accepted.all():
                break
            rise = further - start - step * total  # what bends the objective up
            lowest = -total * step**2 / (2 * xp.where(rise > 0, rise, xp.ones_like(rise)))
            lower = xp.clip(lowest, min=1e-3 * step, max=0.5 * step)
            lower = xp.where((rise > 0) & xp.isfinite(rise), lower, 0.5 * step)
            step = xp.where(accepted, step, lower)
        return xp.where(accepted, step, xp.zeros_like(step))

    def _at(self, score: AnyArray) -> AnyArray:
        """The objective at other scores, (config, row) -> (config,)."""
        value = self.objective.disparity(score, self.state).value
        return self.objective.error(score) + weighted(self.weight, value)
