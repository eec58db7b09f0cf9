"""A penalty on groups of configurations of one fixed size, inside larger or smaller tiles.

Products with a matrix that all configurations share (functions of A) round differently when the number of
configurations changes. In groups of fixed size the arithmetic of a configuration is the same, bit for bit, whatever
else is in the grid, and what depends on A is read once per group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import Along, PenaltyStep, Settings
from fairlevel.predictors.protocol import Tiling


def in_fixed_groups(penalty: Penalty, tiling: Tiling, device: torch.device) -> Penalty | FixedGroups:
    """The penalty in groups of fixed size where it needs them; a GPU promises no equal bits and needs none."""
    size = 1 if tiling.one_by_one else penalty.group_size
    return penalty if device.type != "cpu" or tiling.alone or size is None else FixedGroups(penalty, size)


@dataclass(frozen=True)
class FixedGroups:
    """``size`` configurations at a time; copies of the last one fill an incomplete group."""

    penalty: Penalty
    size: int

    def curvature(self, weight: Tensor) -> Tensor:
        """That of the penalty."""
        return self.penalty.curvature(weight)

    def init(self, prepared: Any, configs: int, settings: Settings) -> tuple[Any, ...]:
        """One state per group."""
        return tuple(
            self.penalty.init(
                prepared, self.size, {name: self._group(value, start) for name, value in settings.items()}
            )
            for start in range(0, configs, self.size)
        )

    def step(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> PenaltyStep:
        """Values (config,) and gradients (config, row) of all groups."""
        return self._joined(
            prediction,
            [
                self.penalty.step(self._group(prediction, start), prepared, own)
                for start, own in zip(range(0, len(prediction), self.size), state, strict=True)
            ],
        )

    def step_after(
        self, prediction: Tensor, move: Tensor, along: Along, prepared: Any, state: tuple[Any, ...]
    ) -> PenaltyStep:
        """The same after a move along a direction."""
        starts = range(0, len(prediction), self.size)
        return self._joined(
            prediction,
            [
                self.penalty.step_after(self._group(prediction, start), self._group(move, start), each, prepared, own)
                for start, each, own in zip(starts, along.products, state, strict=True)
            ],
        )

    def _joined(self, prediction: Tensor, steps: list[PenaltyStep]) -> PenaltyStep:
        """The steps of all groups as one, without the copies that fill the last group."""
        count, after = len(prediction), tuple(found.state for found in steps)
        if len(steps) == 1:
            return PenaltyStep(steps[0].value[:count], steps[0].gradient[:count], after)
        value, gradient = prediction.new_empty(count), torch.empty_like(prediction)
        for start, found in zip(range(0, count, self.size), steps, strict=True):
            real = slice(start, min(start + self.size, count))
            value[real], gradient[real] = found.value[: real.stop - start], found.gradient[: real.stop - start]
        return PenaltyStep(value, gradient, after)

    def along(self, direction: Tensor, value: Tensor, prepared: Any, state: tuple[Any, ...]) -> Along | None:
        """That of all groups; ``products`` are those of each."""
        starts = range(0, len(direction), self.size)
        found = [
            self.penalty.along(self._group(direction, start), self._group(value, start), prepared, own)
            for start, own in zip(starts, state, strict=True)
        ]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return Along(torch.cat([each.curvature for each in known])[: len(direction)], tuple(known))

    def value(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> Tensor:
        """Held-out values of all groups, (config,)."""
        starts = range(0, len(prediction), self.size)
        parts = zip(starts, state, strict=True)
        found = [self.penalty.value(self._group(prediction, start), prepared, own) for start, own in parts]
        return torch.cat(found)[: len(prediction)]

    def _group(self, values: Tensor, start: int) -> Tensor:
        """The members of a group, (config, …) -> (size, …)."""
        real = values[start : start + self.size]
        missing = self.size - len(real)
        return torch.cat([real, real[-1:].expand(missing, *real.shape[1:])]) if missing else real
