"""The only training loop. It knows no method's name and no configuration's neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput, MissingSensitiveFeatures, UnknownName
from fairlevel.networks.memory import keep_freed_memory_if_asked
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Penalty, Rows, check_settings
from fairlevel.predictors import InputMap, Predictor
from fairlevel.tensors import weights_of_part
from fairlevel.training.accuracy import SquaredError
from fairlevel.training.company import InCompany
from fairlevel.training.grid import Configurations, Samples, cpu_tile
from fairlevel.training.outcome import WORST_LOSS, Outcome, Status, Trace
from fairlevel.training.replay import Moving, Taken, repeated
from fairlevel.training.side_by_side import side_by_side
from fairlevel.training.stopping import CHECK_EVERY, BestSoFar

RECORDS = 100  # entries of a trace

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) over all tiles."""


class Counted:
    """Steps of all tiles, told to ``progress`` by one thread at a time."""

    def __init__(self, tiles: int, steps: int, progress: Progress | None) -> None:
        self._done, self._all, self._progress, self._lock = [0] * tiles, tiles * steps, progress, Lock()

    def __call__(self, tile: int, step: int) -> None:
        if self._progress is not None:
            with self._lock:
                self._done[tile] = step
                self._progress(sum(self._done), self._all)


@dataclass(frozen=True)
class Part:
    """Rows on the device with all that the loop needs of them; x (row, input), y (row,)."""

    x: Tensor
    y: Tensor
    rows: Rows
    accuracy_weight: Tensor
    prepared: Any


@dataclass(frozen=True)
class Trained:
    """A trained grid and the input map that its networks stand on."""

    outcome: Outcome
    input_map: InputMap
    network: Network


def train(
    samples: Samples,
    configurations: Configurations,
    *,
    predictor: Predictor,
    penalty: Penalty,
    optimizer: Optimizer,
    held_out: Samples | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> Trained:
    r"""Minimise accuracy(f_c, y) + weight_c · penalty(f_c, A) for every configuration c by steps in prediction space.

    With ``held_out`` rows each configuration keeps its best parameters by held-out accuracy + weight · penalty.
    """
    target = resolve_device(device)
    check_settings(penalty, configurations.settings)
    input_map = predictor.input_map(torch.from_numpy(samples.x), seed)
    network = predictor.network(input_map(torch.from_numpy(samples.x[:1])).shape[1])
    part = _part(
        samples, penalty, penalty.rows.assign(samples.rows_in, len(samples)), configurations, input_map, seed, target
    )
    watched = None
    if held_out is not None:
        watched = _part(
            held_out, penalty, ALL_TRAINING_ROWS.assign(0, len(held_out)), configurations, input_map, seed, target
        )
    size, workers = len(configurations), 1
    acting: Penalty | InCompany = penalty
    if target.type == "cpu":
        keep_freed_memory_if_asked()
        together = network.backend(network.init(seed).unsqueeze(0), part.x) is not None
        size, workers = cpu_tile(len(samples), together), 1 if together else torch.get_num_threads()
        acting = penalty if penalty.company is None else InCompany(penalty, penalty.company)
    tiles = list(configurations.tiles(size))
    done = Counted(len(tiles), optimizer.steps, progress)

    def train_one(number: int, go_on: Callable[[], None]) -> tuple[int, Outcome]:
        def advance(step: int) -> None:
            go_on()
            done(number, step)

        real, tile = tiles[number]
        return real, _train_tile(part, watched, tile, network, acting, optimizer, seed, advance)

    outcomes = side_by_side(train_one, range(len(tiles)), min(workers, len(tiles)))
    return Trained(Outcome.joined(outcomes), input_map, network)


@torch.no_grad()
def _train_tile(
    part: Part,
    watched: Part | None,
    tile: Configurations,
    network: Network,
    penalty: Penalty | InCompany,
    optimizer: Optimizer,
    seed: int,
    advance: Callable[[int], None],
) -> Outcome:
    accuracy, x = SquaredError(), part.x
    start = network.init(seed).to(x).repeat(len(tile), 1)
    weight, rate = tile.weight.to(x), tile.learning_rate.to(x)
    fair = (weight > 0).unsqueeze(1)
    scale = penalty.curvature(weight).reciprocal().unsqueeze(1)

    def step(moving: Moving) -> Taken:
        parameters, moments, state, count = moving
        prediction, residuals = network.forward(parameters, x)
        push = accuracy.gradient(prediction, part.y, part.rows.accuracy, part.accuracy_weight)
        value, level, state = penalty.step(prediction, part.prepared, state)
        descent = push.gradient + torch.where(fair, weight.unsqueeze(1) * level, 0.0)
        gradient = network.pullback(parameters, residuals, descent * scale)
        parameters, moments = optimizer.update(parameters, gradient, moments, rate, count)
        return Taken(Moving(parameters, moments, state, count + 1), push.loss, value)

    state = penalty.init(part.prepared, len(tile), tile.settings)
    count = torch.zeros((), dtype=torch.float64, device=x.device)
    best = BestSoFar.start(start)
    take = repeated(step, Moving(start, optimizer.init(start), state, count))
    record_every = max(1, optimizer.steps // RECORDS)
    records: list[tuple[int, Tensor, Tensor]] = []
    status, number = Status.FINISHED, 0
    for number in range(optimizer.steps):
        taken = take()
        if number % record_every == 0:
            records.append((number, taken.loss.clone(), taken.value.clone()))
            advance(number)
        if watched is not None and ((number + 1) % CHECK_EVERY == 0 or number + 1 == optimizer.steps):
            score = _held_out_score(watched, taken.moving.parameters, network, penalty, taken.moving.state, weight)
            best.offer(score, taken.moving.parameters, number + 1)
            if best.done:
                status = Status.STOPPED_EARLY
                break
    parameters = best.parameters if watched is not None else taken.moving.parameters
    advance(optimizer.steps)

    prediction = network.predict(parameters, x)
    loss = accuracy.gradient(prediction, part.y, part.rows.accuracy, part.accuracy_weight).loss
    records.append((number + 1, loss, penalty.step(prediction, part.prepared, taken.moving.state).value))
    alive = torch.isfinite(loss) & (loss <= WORST_LOSS)
    if watched is not None:
        alive &= torch.isfinite(best.score)
    steps = best.step if watched is not None else torch.full_like(best.step, number + 1)
    return Outcome(
        parameters.cpu(),
        tuple(status if fine else Status.DIVERGED for fine in alive.tolist()),
        loss.cpu(),
        records[-1][2].cpu(),
        steps.cpu(),
        Trace(
            torch.tensor([when for when, _, _ in records]),
            torch.stack([each for _, each, _ in records]).cpu(),
            torch.stack([each for _, _, each in records]).cpu(),
        ),
    )


def _held_out_score(
    watched: Part, parameters: Tensor, network: Network, penalty: Penalty | InCompany, state: Any, weight: Tensor
) -> Tensor:
    prediction = network.predict(parameters, watched.x)
    loss = SquaredError().value(prediction, watched.y, watched.accuracy_weight)
    value = penalty.value(prediction, watched.prepared, state)
    return loss + torch.where(weight > 0, weight * value, 0.0)


def _part(
    samples: Samples,
    penalty: Penalty,
    rows: Rows,
    configurations: Configurations,
    input_map: InputMap,
    seed: int,
    device: torch.device,
) -> Part:
    if rows.accuracy.start == rows.accuracy.stop or rows.fit.start == rows.fit.stop:
        raise InvalidInput(f"{len(samples)} rows cannot be split into IN and OUT; at least 2 training rows are needed.")
    if samples.sensitive is None and bool((configurations.weight > 0).any()):
        raise MissingSensitiveFeatures("weight > 0 asks for fairness, but the rows carry no sensitive attributes.")
    sensitive = np.empty((len(samples), 0)) if samples.sensitive is None else samples.sensitive
    prepared = penalty.prepare(
        Attributes(sensitive, row_weight=samples.sample_weight), rows, configurations.settings, seed
    )
    weight = weights_of_part(samples.sample_weight, rows.accuracy, len(samples))
    return Part(
        input_map(torch.from_numpy(samples.x)).to(device, torch.float32),
        torch.from_numpy(samples.y).to(device, torch.float32),
        rows,
        weight.to(device, torch.float32),
        prepared.to(torch.float32, device),
    )


def resolve_device(device: str) -> torch.device:
    """``auto`` takes CUDA when there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device not in ("cpu", "cuda"):
        raise UnknownName("device", device, ("auto", "cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device='cuda' was given, but PyTorch sees no CUDA device here; use device='cpu' or 'auto'.")
    return torch.device(device)
