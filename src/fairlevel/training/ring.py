"""Batches: slices of rows that are shuffled once and read in a circle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.data.splitting import rare_rows
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties import Penalty, batch_form
from fairlevel.penalties.protocol import BatchAttributes, Settings
from fairlevel.predictors.protocol import LearnerFactory, Tiling
from fairlevel.training.acting_penalty import BatchedPenalty
from fairlevel.training.rows import AllRows, StepRows

SAMPLE = 20_000
"""How many first rows of the ring, at most, are used to fit functions of A, to prepare the predictor and to compute
final figures."""


TakeRows = Callable[[slice], Tensor]
"""A window on the ring -> features as given, (row, feature)."""


@dataclass(frozen=True)
class RingWindows:
    """Windows of ``size`` rows on a ring of rows that was shuffled once.

    The target and the penalty's functions of A are stored in ring order, so that a batch of them is one slice, which is
    several times faster than gathering rows. Features stay in the table and are gathered per batch. The first ``size``
    rows are repeated at the end, so that a window is always one slice.

    Parameters
    ----------
    order : row numbers in the whole table, in ring order, the first ``size`` repeated, (ring row + size,)
    size : rows per step
    take : features of a window
    target : standardised target in ring order, (ring row + size,) in float32
    attributes : attributes of all rows of the table as given, held-out rows included, (table row, attribute), or None
    find_scaler : what standardises the features; called when functions of A are known
    """

    order: Index
    size: int
    take: TakeRows
    target: Tensor
    attributes: Array | None
    find_scaler: Callable[[], Scaler | None] = lambda: None

    @classmethod
    def ring_order(cls, rows: Index, size: int, seed: int, attributes: Array | None = None) -> Index:
        """These row numbers in random order; the first ``size`` come again at the end. An attribute that varies at all
        varies among the first ``SAMPLE`` rows, on which functions of A are fitted.
        """
        order = np.random.default_rng(seed).permutation(rows)
        if attributes is not None and len(order) > SAMPLE:
            rare = np.intersect1d(rare_rows(attributes, order[:SAMPLE]), order)
            if len(rare):
                others = order[~np.isin(order, rare)]
                kept = SAMPLE - len(rare)
                order = np.concatenate([others[:kept], rare, others[kept:]])
        return np.concatenate([order, order[:size]])

    def __len__(self) -> int:
        return len(self.order) - self.size

    @property
    def has_attributes(self) -> bool:
        return self.attributes is not None

    @property
    def first(self) -> slice:
        """The first rows, at most ``SAMPLE``."""
        return slice(min(SAMPLE, len(self)))

    @property
    def sample(self) -> Tensor:
        return self.take(self.first)

    @property
    def x_scaler(self) -> Scaler | None:
        return self.find_scaler()

    def all_rows(self, needed_by: str) -> AllRows:
        raise InvalidInput(f"{needed_by} needs all rows at once; leave batch_size=None.")

    def limited(self, most: int) -> RingWindows:
        return self

    def tiling(self, factory: LearnerFactory, configs: int) -> Tiling:
        """All configurations in one tile: a batch is read from memory once for all of them."""
        return Tiling(configs)

    def tuned(self, penalty: Penalty, seed: int) -> Penalty:
        """Unchanged: a ridge of None is chosen in :meth:`bind`, on the first rows."""
        return penalty

    def bind(self, penalty: Penalty, settings: Settings, seed: int, device: torch.device) -> BatchedPenalty:
        if settings:
            raise InvalidInput(
                f"{', '.join(settings)} differ between the settings of {penalty.name}; batches need one value for all: "
                "give it to the penalty object, or leave batch_size=None."
            )
        values = np.empty((len(self), 0)) if self.attributes is None else self.attributes
        target = self.target[self.first].double().numpy()
        form = batch_form(penalty, BatchAttributes(values, self.order, target, seed, device))
        return BatchedPenalty(penalty, form, slice(None))  # every row of a batch carries accuracy

    def on_device(self, factory: LearnerFactory, accuracy: slice, seed: int, device: torch.device) -> BatchesOnDevice:
        return BatchesOnDevice(self, factory, seed, device)

    def windows(self, steps: int, seed: int) -> Iterator[slice]:
        """Slices of ``size`` rows. Each round has len // size windows without overlap, from a new random offset and in
        a new random order; the remaining rows are left out of that round.
        """
        random = np.random.default_rng(seed)
        waiting: list[int] = []
        for _ in range(steps):
            if not waiting:
                starts = random.integers(len(self)) + self.size * random.permutation(len(self) // self.size)
                waiting = (starts % len(self)).tolist()
            start = waiting.pop()
            yield slice(start, start + self.size)


@dataclass(frozen=True)
class BatchesOnDevice:
    """Batches on the device, one at a time."""

    ring: RingWindows
    factory: LearnerFactory
    seed: int
    device: torch.device

    same_every_step: ClassVar[bool] = False

    @property
    def final(self) -> StepRows:
        return self._rows(self.ring.first)

    def steps(self, count: int) -> Iterator[StepRows]:
        return map(self._rows, self.ring.windows(count, self.seed))

    def _rows(self, window: slice) -> StepRows:
        target = self.ring.target[window].to(self.device)
        weight, count = target.new_full((1,), 1 / len(target)).expand(len(target)), float(len(target))
        return StepRows(self.factory.inputs(self.ring.take(window)), target, slice(None), weight, window, count)
