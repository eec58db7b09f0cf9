"""Training in batches of rows, for tables that do not fit, or need not all be seen at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Index
from fairlevel.networks.memory import keep_freed_memory_if_asked
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties.in_batches import BatchPenalty
from fairlevel.predictors import Predictor
from fairlevel.training.engine import Progress, Trained, resolve_device
from fairlevel.training.grid import Configurations
from fairlevel.training.outcome import WORST_LOSS, Outcome, Status, Trace

RECORDS = 100

Take = Callable[[slice], tuple[Tensor, Tensor]]
"""Rows that follow each other on the ring -> standardised x (row, feature) and y (row,) in float32."""


@dataclass(frozen=True)
class Batches:
    """Windows on a ring of rows that was shuffled once; ``first`` are some rows to fit an input map on, (row, feature).

    What is laid out along the ring is read from one place, where scattered rows would cost a multiple.
    """

    rows: int
    size: int
    take: Take
    first: Tensor

    def windows(self, steps: int, seed: int) -> Iterator[slice]:
        """The batches; each time they have gone round, they begin elsewhere and come in another order."""
        random = np.random.default_rng(seed)
        waiting: list[int] = []
        for _ in range(steps):
            if not waiting:
                turned = random.integers(self.rows) + self.size * random.permutation(self.rows // self.size)
                waiting = (turned % self.rows).tolist()
            start = waiting.pop()
            yield slice(start, start + self.size)


def ring(rows: int, size: int, seed: int) -> Index:
    """Row numbers in random order; the first ``size`` come again at the end, so that any window is one slice."""
    order = np.random.default_rng(seed).permutation(rows)
    return np.concatenate([order, order[:size]])


@torch.no_grad()
def train_in_batches(
    batches: Batches,
    configurations: Configurations,
    *,
    predictor: Predictor,
    penalty: BatchPenalty,
    optimizer: Optimizer,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> Trained:
    """Minimise mean((f_c − y)²) + weight_c · penalty, one batch a step; the optimiser's steps are batches."""
    where = resolve_device(device)
    keep_freed_memory_if_asked()
    input_map = predictor.input_map(batches.first, seed)
    network = predictor.network(input_map(batches.first[:1]).shape[1])
    parameters = network.init(seed).to(where).repeat(len(configurations), 1)
    weight, rate = configurations.weight.to(parameters), configurations.learning_rate.to(parameters)
    moments, state = optimizer.init(parameters), penalty.init(len(configurations))
    every = max(1, optimizer.steps // RECORDS)
    records: list[tuple[int, Tensor, Tensor]] = []
    for step, window in enumerate(batches.windows(optimizer.steps, seed)):
        x, y = (part.to(where) for part in batches.take(window))
        x = input_map(x)
        prediction, residuals = network.forward(parameters, x)
        error = prediction - y
        level, after = penalty.step(prediction, window, state)
        descent = error * (2 / len(y)) + weight.unsqueeze(1) * level
        gradient = network.pullback(parameters, residuals, descent)
        parameters, moments = optimizer.update(parameters, gradient, moments, rate, step)
        if step % every == 0 or step + 1 == optimizer.steps:
            records.append((step, error.square().mean(dim=-1), penalty.value(state)))
            if progress is not None:
                progress(step + 1, optimizer.steps)
        state = after
    when, losses, values = zip(*records, strict=True)
    alive = torch.isfinite(losses[-1]) & (losses[-1] <= WORST_LOSS)
    trace = Trace(torch.tensor(when), torch.stack(losses).cpu(), torch.stack(values).cpu())
    status = tuple(Status.FINISHED if fine else Status.DIVERGED for fine in alive.tolist())
    taken = torch.full((len(configurations),), optimizer.steps)
    outcome = Outcome(parameters.cpu(), status, losses[-1].cpu(), values[-1].cpu(), taken, trace)
    return Trained(outcome, input_map, network)
