"""The only training loop. It knows no method's name, no predictor's parameters and no other configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.losses import Loss, SquaredLoss
from fairlevel.networks.memory import keep_freed_memory_if_asked
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS
from fairlevel.penalties.toolkit import check_settings
from fairlevel.predictors import Configurations, Learner, Predictor
from fairlevel.training.acting_penalty import ActingPenalty, AllRowsPenalty
from fairlevel.training.execution.cuda_graph import RecordedStep, RepeatedStep, StepResult
from fairlevel.training.execution.progress import Progress, StepCounter
from fairlevel.training.execution.threads import in_threads
from fairlevel.training.line_search import LineSearch, accuracy_term
from fairlevel.training.outcome import WORST_LOSS, HeldOutScores, Status, Trace, Trained
from fairlevel.training.rows import AllRows, RowSampler, RowsOnDevice, StepRows, TrainingRows, require_attributes
from fairlevel.training.stopping import CHECK_EVERY, EarlyStopping

RECORDS = 100  # entries of a trace


class HeldOut(NamedTuple):
    """Rows that decide when to stop, and the penalty bound to them."""

    rows: StepRows
    penalty: AllRowsPenalty


class Objective(NamedTuple):
    """What a tile minimises: loss + weight · penalty, with the numbers of its configurations."""

    loss: Loss
    penalty: ActingPenalty
    configurations: Configurations
    held_out: HeldOut | None


class Length(NamedTuple):
    """How long training may take, and how many checks without a better held-out score end it."""

    steps: int
    patience: int


def train(
    rows: RowSampler,
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
    ready = rows.on_device(factory, acting.accuracy, seed, target)
    held = None
    if held_out is not None:
        watched = AllRows(held_out, ALL_TRAINING_ROWS)
        require_attributes(watched, configurations.weight)
        held_penalty = watched.bind(watched.tuned(penalty, seed), configurations.settings, seed, target)
        held = HeldOut(watched.on_device(factory, held_penalty.accuracy, seed, target).final, held_penalty)
    tiling, length = rows.tiling(factory, len(configurations)), Length(factory.steps(optimizer), factory.patience)
    acting = acting.grouped(tiling, target)
    held = held and held._replace(penalty=held.penalty.grouped(tiling, target))
    tiles = list(configurations.tiles(tiling.size, tiling.multiple))
    count = StepCounter(len(tiles), length.steps, progress)

    def train_one(number: int, check: Callable[[], None]) -> tuple[int, Trained]:
        def advance(step: int) -> None:
            check()
            count(number, step)

        real, tile = tiles[number]
        objective = Objective(loss or SquaredLoss(), acting, tile, held)
        return real, _train_tile(factory.learner(tile, optimizer), length, ready, objective, real, advance)

    return Trained.joined(in_threads(train_one, range(len(tiles)), tiling))


@torch.no_grad()
def _train_tile(
    learner: Learner,
    length: Length,
    rows: RowsOnDevice,
    objective: Objective,
    real: int,
    advance: Callable[[int], None],
) -> Trained:
    loss, penalty, tile, held_out = objective
    final = rows.final
    ends = None if tile.steps is None else tile.steps.clamp(0, length.steps).to(final.target.device)
    steps = length.steps if ends is None else max(1, int(ends.max()))
    weight = tile.weight.to(final.target)
    fair, curvature = (weight > 0).unsqueeze(1), penalty.curvature(weight)

    everywhere, move = bool(fair.all()), None

    def step(here: StepRows, state: object) -> StepResult:
        nonlocal move
        score = learner.predictions(here.inputs)
        accuracy = accuracy_term(loss, score, here)
        value, gradient, after = penalty.step(loss.link(score), here.window, state, move)
        disparity = weight.unsqueeze(1) * loss.through_link(score, gradient)
        total = accuracy.gradient + (disparity if everywhere else torch.where(fair, disparity, 0.0))
        move = learner.follow(total, curvature, LineSearch(loss, penalty, here, weight, score, total, value, state))
        return StepResult(after, accuracy.value, value)

    state = penalty.init(len(tile), tile.settings)
    take: RepeatedStep | RecordedStep = RepeatedStep(step, state)
    if final.target.is_cuda and rows.same_every_step and learner.changing is not None:
        take = RecordedStep(step, state, final, learner.changing)
    stopping = EarlyStopping(len(tile), length.patience, final.target.device)
    record_every = max(1, length.steps // RECORDS)
    records: list[tuple[int, Tensor, Tensor]] = []
    checks: list[tuple[int, Tensor]] = []
    taken = 0

    def check(held: HeldOut, state: object) -> Tensor:
        score = learner.evaluate(held.rows.inputs)
        error = loss.value(score, held.rows.target, held.rows.accuracy_weight)
        value = penalty.value_on(held.penalty, loss.link(score), tile.settings, state)
        found = error + torch.where(weight > 0, weight * value, 0.0)
        checks.append((taken, found))
        return found

    if ends is not None:
        learner.snapshot(ends == taken)
    elif held_out is not None and learner.grows:
        check(held_out, state)
    for number, here in enumerate(rows.steps(steps)):
        result, taken = take(here), number + 1
        if number % record_every == 0:
            records.append((number, result.loss.clone(), result.value.clone()))
            advance(number)
        if ends is not None:
            learner.snapshot(ends == taken)
        elif held_out is not None and (taken % CHECK_EVERY == 0 or taken == steps):
            learner.snapshot(stopping.improved(check(held_out, result.state), taken))
            if stopping.done.all():
                break
    if ends is not None or held_out is not None:
        learner.restore()
    advance(length.steps)

    score = learner.evaluate(final.inputs)
    error = accuracy_term(loss, score, final).value
    records.append((taken, error, penalty.step(loss.link(score), final.window, result.state).value))
    worst = WORST_LOSS * loss.of_constant(final.target[final.accuracy], final.accuracy_weight)
    usable = torch.isfinite(error) & (error <= worst)
    if ends is None and held_out is not None:
        usable &= torch.isfinite(stopping.score)
    return Trained(
        learner.model(real),
        tuple(map(_status, usable.tolist(), stopping.done.tolist())),
        error.cpu(),
        records[-1][2].cpu(),
        _steps(ends, stopping, held_out, taken).cpu(),
        Trace(
            torch.tensor([when for when, _, _ in records]),
            torch.stack([each for _, each, _ in records]).cpu(),
            torch.stack([each for _, _, each in records]).cpu(),
        ),
        HeldOutScores.of(checks, len(tile)),
    )


def _steps(ends: Tensor | None, stopping: EarlyStopping, held_out: HeldOut | None, taken: int) -> Tensor:
    """Steps behind the final state of each configuration, (config,)."""
    if ends is not None:
        return ends
    return torch.full_like(stopping.step, taken) if held_out is None else stopping.step


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
