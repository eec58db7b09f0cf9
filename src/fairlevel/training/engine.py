"""The only training loop. It knows no method's name, no predictor's parameters and no other configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fairlevel.arrays import AnyArray, Flags, StepResult, numpy_array
from fairlevel.exceptions import InvalidInput
from fairlevel.losses import Loss, SquaredLoss
from fairlevel.penalties import Penalty, within_factors
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Settings
from fairlevel.penalties.toolkit import check_settings
from fairlevel.predictors.configurations import Configurations
from fairlevel.predictors.protocol import Learner, LearnerFactory, Predictor
from fairlevel.training.ending import AfterAllSteps, AfterGivenSteps, Ending, OnHeldOutRows
from fairlevel.training.objective import BoundPenalty, HeldOutRows, Objective, ObjectiveStep
from fairlevel.training.outcome import WORST_LOSS, Status, TraceRecorder, Trained
from fairlevel.training.rows import AllRows, StepRows, TrainingRows, require_attributes
from fairlevel.training.threads import Progress, StepCounter, in_threads


class Length(NamedTuple):
    """How long training may take, and how many checks without a better held-out score end it."""

    steps: int
    patience: int


def train(
    rows: AllRows,
    configurations: Configurations,
    *,
    predictor: Predictor,
    penalty: Penalty,
    optimizer: Any = None,
    loss: Loss | None = None,
    held_out: TrainingRows | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> Trained:
    r"""Minimise loss(s_c, y) + weight_c · penalty(link(s_c), A) for every configuration c by steps in prediction space.

    With ``held_out`` rows each configuration returns to its state with the best held-out loss + weight · penalty.
    Configurations that say so end after their own number of steps.
    """
    check_settings(penalty, configurations.settings)
    require_attributes(rows, configurations.weight)
    factory = predictor.prepare(rows.rows.x, seed, device, rows.x_scaler)
    acting = _bound(rows, penalty, configurations.settings, factory, seed)
    ready = rows.on_backend(factory, acting.accuracy)
    held = None if held_out is None else _held_out(held_out, ready, penalty, configurations, factory, seed)
    tiling = factory.tiling(len(rows), len(configurations))
    length = Length(factory.steps(optimizer), factory.patience)
    tiles = list(configurations.tiles(tiling.size))
    count = StepCounter(len(tiles), length.steps, progress)

    def train_one(number: int, check: Callable[[], None]) -> Trained:
        def advance(step: int) -> None:
            check()
            count(number, step)

        tile = tiles[number]
        objective = Objective(loss or SquaredLoss(), acting, factory.backend.array(tile.weight), tile.settings)
        ending = _ending(tile, length, objective, held)
        recorder = TraceRecorder(length.steps, advance)
        learner = factory.learner(tile, optimizer)
        start, step = objective.start(), ObjectiveStep(learner, objective)
        take = factory.backend.repeated(step, start, ready, learner.changing)
        return _train_tile(learner, ready, objective, start, take, ending, recorder)

    return Trained.joined(in_threads(train_one, range(len(tiles)), tiling))


def _bound(rows: AllRows, penalty: Penalty, settings: Settings, factory: LearnerFactory, seed: int) -> BoundPenalty:
    """The penalty, with what it prepares for these rows."""
    attributes = rows.rows.some_attributes
    if attributes.given is not None and not penalty.within_factors:
        raise InvalidInput(
            f"given was passed, but the penalty {penalty.name!r} cannot compare rows within legitimate factors; "
            f"use one of {', '.join(within_factors())}."
        )
    assigned = (rows.plan or penalty.rows).assign(rows.rows.rows_in, len(rows))
    if assigned.accuracy.start == assigned.accuracy.stop or assigned.fit.start == assigned.fit.stop:
        raise InvalidInput(f"{len(rows)} rows cannot be split into IN and OUT; at least 2 training rows are needed.")
    prepared = penalty.prepare(attributes, assigned, settings, seed).to(factory.backend)
    return BoundPenalty(penalty, prepared, assigned.accuracy)


def _held_out(
    rows: TrainingRows,
    training: StepRows,
    penalty: Penalty,
    configurations: Configurations,
    factory: LearnerFactory,
    seed: int,
) -> HeldOutRows:
    watched = AllRows(rows, ALL_TRAINING_ROWS)
    known = training if (configurations.weight > 0).any() else None
    require_attributes(watched, configurations.weight)
    bound = _bound(watched, watched.tuned(penalty, seed), configurations.settings, factory, seed)
    return HeldOutRows(watched.on_backend(factory, bound.accuracy), bound, known)


def _ending(tile: Configurations, length: Length, objective: Objective, held: HeldOutRows | None) -> Ending:
    """Given numbers of steps come first, then held-out rows."""
    if tile.steps is not None:
        return AfterGivenSteps(tile.steps.clip(0, length.steps))
    if held is not None:
        return OnHeldOutRows(length.steps, length.patience, objective, held)
    return AfterAllSteps(len(tile), length.steps)


def _train_tile(
    learner: Learner,
    rows: StepRows,
    objective: Objective,
    start: Any,
    take: Callable[[], StepResult],
    ending: Ending,
    recorder: TraceRecorder,
) -> Trained:
    ending.before(learner, start)
    for taken in range(1, ending.most_steps + 1):
        result = take()
        recorder.add(taken - 1, result.loss, result.value)
        if ending.after(taken, learner, result.state):
            break
    ended = ending.final(learner)
    final = objective.on(rows, learner, result.state)
    trace = recorder.end(taken, final.loss, final.value)
    usable = ended.sound & _bounded(final.loss, objective.loss, rows)
    return Trained(
        learner.model(),
        tuple(map(_status, usable.tolist(), ended.early.tolist())),
        numpy_array(final.loss),
        numpy_array(final.value),
        ended.steps,
        trace,
        ended.held_out,
    )


def _bounded(error: AnyArray, loss: Loss, rows: StepRows) -> Flags:
    """Whose loss is not far above that of the constant prediction, (config,) of booleans."""
    worst = WORST_LOSS * loss.of_constant(rows.target[rows.accuracy], rows.accuracy_weight)
    errors = numpy_array(error)
    bounded: Flags = np.isfinite(errors) & (errors <= worst)
    return bounded


def _status(usable: bool, stopped: bool) -> Status:
    if not usable:
        return Status.DIVERGED
    return Status.STOPPED_EARLY if stopped else Status.FINISHED
