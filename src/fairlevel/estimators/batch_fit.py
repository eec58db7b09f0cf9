"""A fit in batches: rows are scaled when their batch comes, never all at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Index
from fairlevel.data.scaling import Scaler
from fairlevel.data.sensitive import Sensitive
from fairlevel.estimators.grid_fit import GridFit, Table
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties import Penalty
from fairlevel.penalties.in_batches import BatchPenalty, NothingInBatches, in_batches
from fairlevel.predictors import Predictor
from fairlevel.training.engine import Progress, resolve_device
from fairlevel.training.grid import Configurations
from fairlevel.training.minibatch import Batches, ring, train_in_batches

SAMPLE = 20_000  # rows that set knots, bandwidths, ridges and the moments of A
TOLD = 5_000  # rows that figures are told on


def fit_in_batches(
    table: Table,
    weight: float,
    batch_size: Any,
    penalty: Penalty,
    predictor: Predictor,
    optimizer: Optimizer,
    seed: int,
    device: str,
    progress: Progress | None,
) -> GridFit:
    """One network, trained on ``batch_size`` rows at a time."""
    if not isinstance(batch_size, int | np.integer) or isinstance(batch_size, bool) or batch_size < 2:
        raise InvalidInput(f"batch_size={batch_size!r} was given; a whole number ≥ 2 is needed, such as 4096.")
    size = min(int(batch_size), len(table.y))
    order = ring(len(table.y), size, seed)
    y_scaler = Scaler.fit(table.y)
    y = torch.from_numpy(y_scaler.transform(table.y)[order]).float()
    first = slice(min(SAMPLE, len(table.y)))
    with ThreadPoolExecutor(1) as beside:  # scaling columns is work for one core
        acting = beside.submit(_acting, penalty, weight, table.sensitive, order, y[first], seed, resolve_device(device))
        x_scaler = Scaler.fit_blocks(table.x)
    centre, inverse = torch.from_numpy(x_scaler.mean).float(), torch.from_numpy(x_scaler.inverse_scale).float()

    def take(rows: slice) -> tuple[Tensor, Tensor]:
        x = torch.from_numpy(np.asarray(table.x.take(order[rows], axis=0), dtype=np.float32))
        return x.sub_(centre).mul_(inverse), y[rows]

    trained = train_in_batches(
        Batches(len(table.y), size, take, take(first)[0]),
        Configurations.of([weight], optimizer.learning_rate),
        predictor=predictor,
        penalty=acting.result(),
        optimizer=optimizer,
        seed=seed,
        device=device,
        progress=progress,
    )
    return GridFit(trained, x_scaler, y_scaler)


def _acting(
    penalty: Penalty,
    weight: float,
    sensitive: Sensitive | None,
    order: Index,
    target: Tensor,
    seed: int,
    device: torch.device,
) -> BatchPenalty:
    """The penalty that training meets; ``target`` is that of the first rows in ``order``."""
    if sensitive is None or weight == 0:
        return NothingInBatches()
    return in_batches(penalty, sensitive.values, order, target.double().numpy(), seed, device)


def sample_rows(rows: int, most: int, seed: int) -> Index:
    """At most ``most`` row numbers, drawn by seed, ascending."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
