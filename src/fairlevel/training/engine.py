"""The only training loop. It knows no method's name, no predictor's parameters and no other configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlevel.arrays import AnyArray, namespace, numpy_array
from fairlevel.exceptions import InvalidInput, MissingSensitiveFeatures
from fairlevel.losses import Loss, SquaredLoss
from fairlevel.penalties import WITHIN_FACTORS, Penalty
from fairlevel.penalties.toolkit import weights_of_part
from fairlevel.predictors.protocol import Configurations, LearnerFactory, Predictor
from fairlevel.training.ending import AfterGivenSteps, Ending, OnHeldOutRows
from fairlevel.training.objective import Objective, ObjectiveStep
from fairlevel.training.outcome import WORST_LOSS, Status, TraceRecorder, Trained
from fairlevel.training.rows import AllRows, TrainingRows
from fairlevel.training.threads import Progress, StepCounter, in_threads


@dataclass(frozen=True)
class Trainer:
    """What is trained, and against what; ``optimizer`` is that of networks."""

    predictor: Predictor
    penalty: Penalty
    optimizer: Any = None
    loss: Loss = SquaredLoss()
    seed: int = 0
    device: str = "auto"

    def train(
        self,
        rows: AllRows,
        configurations: Configurations,
        held_out: TrainingRows | None = None,
        progress: Progress | None = None,
    ) -> Trained:
        r"""Minimise loss(s_c, y) + weight_c · penalty(link(s_c), A) for every configuration c by steps in prediction
        space.

        With ``held_out`` rows each configuration returns to its state with the best held-out loss + weight · penalty.
        Configurations that say so end after their own number of steps.
        """
        fair = bool((configurations.weight > 0).any())
        if fair and (not rows.has_attributes or (held_out is not None and held_out.attributes is None)):
            raise MissingSensitiveFeatures("weight > 0 asks for fairness, but the rows carry no sensitive attributes.")
        factory = self.predictor.prepare(rows.rows.x, self.seed, self.device, rows.x_scaler)
        prepared = self._prepared(rows.rows, factory)
        training = self._objective(rows.rows, factory, prepared, prepared.accuracy)
        held = None
        if held_out is not None:
            held = self._objective(held_out, factory, self._prepared(held_out, factory), slice(None))
        steps, tiling = factory.steps(self.optimizer), factory.tiling(len(rows), len(configurations))
        tiles = list(configurations.tiles(tiling.size))
        count = StepCounter(len(tiles), steps, progress)

        def train_tile(number: int, check: Callable[[], None]) -> Trained:
            def advance(step: int) -> None:
                check()
                count(number, step)

            tile = tiles[number]
            weight = factory.backend.array(tile.weight)
            ending: Ending
            if held is not None and tile.steps is None:
                floor = training if fair and not factory.grows else None
                first = 0 if factory.grows else 1
                ending = OnHeldOutRows(steps, factory.patience, weight, held, floor, first)
            else:
                ends = np.full(len(tile), steps) if tile.steps is None else tile.steps.clip(0, steps)
                ending = AfterGivenSteps(ends)
            return self._train_tile(factory, tile, training, weight, ending, TraceRecorder(steps, advance))

        return Trained.joined(in_threads(train_tile, range(len(tiles)), tiling))

    def _prepared(self, rows: TrainingRows, factory: LearnerFactory) -> Any:
        """What the penalty prepares for these rows, where the learner trains."""
        prepared = self.penalty.prepare(rows.some_attributes, self.seed).to(factory.backend)
        if rows.some_attributes.given is not None and not prepared.within_factors:
            raise InvalidInput(
                f"given was passed, but the penalty {self.penalty.name!r} cannot compare rows within legitimate "
                f"factors; use one of {', '.join(WITHIN_FACTORS)}."
            )
        return prepared

    def _objective(self, rows: TrainingRows, factory: LearnerFactory, prepared: Any, accuracy: slice) -> Objective:
        """Loss and penalty on these rows, of which some carry the accuracy term."""
        weight, array = np.zeros(len(rows)), factory.backend.array
        weight[accuracy] = weights_of_part(rows.row_weight, accuracy, len(rows))
        inputs, target = factory.inputs(rows.x), array(rows.y)
        return Objective(self.loss, self.penalty, prepared, inputs, target, array(weight), rows.count)

    def _train_tile(
        self,
        factory: LearnerFactory,
        tile: Configurations,
        training: Objective,
        weight: AnyArray,
        ending: Ending,
        recorder: TraceRecorder,
    ) -> Trained:
        learner = factory.learner(tile, self.optimizer)
        take = factory.backend.repeated(ObjectiveStep(learner, training, weight))
        ending.after(0, learner, None)
        for taken in range(1, ending.most_steps + 1):
            result = take()
            recorder.add(taken - 1, result.loss, result.value)
            if ending.after(taken, learner, result.state):
                break
        learner.restore()
        score = learner.predict(training.inputs)
        loss, penalty = training.error(score), training.disparity(score, result.state).value
        constant = numpy_array(training.error(namespace(score).zeros_like(score)))
        worst = WORST_LOSS * np.where(constant > 0, constant, 1.0)
        usable = ending.sound & (numpy_array(loss) <= worst)  # neither infinite nor no number
        return Trained(
            learner.model(),
            tuple(map(_status, usable.tolist(), ending.early.tolist())),
            numpy_array(loss),
            numpy_array(penalty),
            ending.steps,
            recorder.end(taken, loss, penalty),
            ending.held_out,
        )


def _status(usable: bool, stopped: bool) -> Status:
    if not usable:
        return Status.DIVERGED
    return Status.STOPPED_EARLY if stopped else Status.FINISHED
