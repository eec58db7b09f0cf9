"""The only training loop. It knows no method's name, no predictor's parameters and no other configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.losses import Loss, SquaredLoss
from fairlevel.memory import keep_freed_memory_if_asked
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS
from fairlevel.penalties.toolkit import check_settings
from fairlevel.predictors import Configurations, Learner, Predictor
from fairlevel.predictors.protocol import LearnerFactory
from fairlevel.training.ending import AfterAllSteps, AfterGivenSteps, Ending, OnHeldOutRows
from fairlevel.training.execution.cuda_graph import RecordedStep, RepeatedStep
from fairlevel.training.execution.threads import Progress, StepCounter, in_threads
from fairlevel.training.objective import HeldOutRows, Objective, ObjectiveStep
from fairlevel.training.outcome import WORST_LOSS, Status, TraceRecorder, Trained
from fairlevel.training.rows import AllRows, StepRows, TrainingRows, require_attributes


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
    optimizer: Optimizer,
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
    target = resolve_device(device)
    check_settings(penalty, configurations.settings)
    require_attributes(rows, configurations.weight)
    if target.type == "cpu":
        keep_freed_memory_if_asked()
    acting = rows.bind(penalty, configurations.settings, seed, target)
    factory = predictor.prepare(rows.sample, seed, target, rows.x_scaler)
    ready = rows.on_device(factory, acting.accuracy, target)
    held = None if held_out is None else _held_out(held_out, ready, penalty, configurations, factory, seed, target)
    tiling = factory.tiling(len(rows), len(configurations))
    length = Length(factory.steps(optimizer), factory.patience)
    tiles = list(configurations.tiles(tiling.size))
    count = StepCounter(len(tiles), length.steps, progress)

    def train_one(number: int, check: Callable[[], None]) -> Trained:
        def advance(step: int) -> None:
            check()
            count(number, step)

        tile = tiles[number]
        objective = Objective(loss or SquaredLoss(), acting, tile.weight.to(target, torch.float32), tile.settings)
        ending = _ending(tile, length, objective, held)
        recorder = TraceRecorder(length.steps, advance)
        return _train_tile(factory.learner(tile, optimizer), ready, objective, ending, recorder)

    return Trained.joined(in_threads(train_one, range(len(tiles)), tiling))


def _held_out(
    rows: TrainingRows,
    training: StepRows,
    penalty: Penalty,
    configurations: Configurations,
    factory: LearnerFactory,
    seed: int,
    device: torch.device,
) -> HeldOutRows:
    watched = AllRows(rows, ALL_TRAINING_ROWS)
    known = training if bool((configurations.weight > 0).any()) else None
    require_attributes(watched, configurations.weight)
    bound = watched.bind(watched.tuned(penalty, seed), configurations.settings, seed, device)
    return HeldOutRows(watched.on_device(factory, bound.accuracy, device), bound, known)


def _ending(tile: Configurations, length: Length, objective: Objective, held: HeldOutRows | None) -> Ending:
    """Given numbers of steps come first, then held-out rows."""
    device = objective.weight.device
    if tile.steps is not None:
        return AfterGivenSteps(tile.steps.clamp(0, length.steps).to(device))
    if held is not None:
        return OnHeldOutRows(length.steps, length.patience, objective, held)
    return AfterAllSteps(len(tile), length.steps, device)


@torch.no_grad()
def _train_tile(
    learner: Learner, rows: StepRows, objective: Objective, ending: Ending, recorder: TraceRecorder
) -> Trained:
    state = objective.start()
    take = _repeated(ObjectiveStep(learner, objective), state, rows, learner)
    ending.before(learner, state)
    for taken in range(1, ending.most_steps + 1):
        result = take()
        recorder.add(taken - 1, result.loss, result.value)
        if ending.after(taken, learner, result.state):
            break
    ended = ending.final(learner)
    found = objective.on(rows, learner, result.state)
    trace = recorder.end(taken, found.loss, found.value)
    usable = ended.sound & _bounded(found.loss, objective.loss, rows)
    return Trained(
        learner.model(),
        tuple(map(_status, usable.tolist(), ended.early.tolist())),
        found.loss.cpu(),
        found.value.cpu(),
        ended.steps.cpu(),
        trace,
        ended.held_out,
    )


def _repeated(step: ObjectiveStep, state: Any, rows: StepRows, learner: Learner) -> RepeatedStep | RecordedStep:
    """The step as a CUDA graph where it can be recorded."""
    if rows.target.is_cuda and learner.changing is not None:
        return RecordedStep(step, state, rows, learner.changing)
    return RepeatedStep(step, state, rows)


def _bounded(error: Tensor, loss: Loss, rows: StepRows) -> Tensor:
    """Whose loss is not far above that of the constant prediction, (config,) of booleans."""
    worst = WORST_LOSS * loss.of_constant(rows.target[rows.accuracy], rows.accuracy_weight)
    return torch.isfinite(error) & (error <= worst)


def _status(usable: bool, stopped: bool) -> Status:
    if not usable:
        return Status.DIVERGED
    return Status.STOPPED_EARLY if stopped else Status.FINISHED


def resolve_device(device: str) -> torch.device:
    """``auto`` takes CUDA when there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device not in ("cpu", "cuda"):
        raise UnknownName("device", device, ("auto", "cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device='cuda' was given, but PyTorch sees no CUDA device here; use device='cpu' or 'auto'.")
    return torch.device(device)
