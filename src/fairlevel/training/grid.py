"""What a grid of configurations is trained on, and the numbers in which its members differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput

PAIR = 2
"""Configurations trained together on a CPU, at least: products of several matrices take another path than those of one,
so a single fit is padded to two and a configuration meets the same arithmetic, bit for bit, whatever stands beside it.
Two also keep the activations of a few thousand rows in cache."""

_LARGE_TILES = {500: 16, 4000: 8}  # rows up to which so many configurations are trained together
_SMALL_TILES = {1000: 16, 4000: 8, 20_000: 4}


def cpu_tile(rows: int, together: bool) -> int:
    """Configurations trained together on a CPU: more where rows are few and calls cost more than arithmetic, and where
    all cores work on a tile ``together``, as compiled code does.
    """
    tiles = _LARGE_TILES if together else _SMALL_TILES
    return next((size for most, size in tiles.items() if rows <= most), PAIR)


@dataclass(frozen=True)
class Samples:
    """Standardised rows; the first ``rows_in`` are IN, the others OUT.

    Shapes: x (row, feature), y (row,), sensitive (row, attribute) or None, sample_weight (row,) or None.
    """

    x: Array
    y: Array
    sensitive: Array | None = None
    sample_weight: Array | None = None
    rows_in: int = 0

    def __len__(self) -> int:
        return len(self.y)

    def joined(self, other: Samples) -> Samples:
        """Both sets of rows; which of them were IN is forgotten."""

        def both(name: str) -> Array | None:
            parts = getattr(self, name), getattr(other, name)
            return None if parts[0] is None or parts[1] is None else np.concatenate(parts)

        x, y = np.concatenate([self.x, other.x]), np.concatenate([self.y, other.y])
        return Samples(x, y, both("sensitive"), both("sample_weight"))


@dataclass(frozen=True)
class Configurations:
    """The numbers that vary over a grid, each (config,): penalty weight, step size, and settings of the penalty."""

    weight: Tensor
    learning_rate: Tensor
    settings: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        weight: Sequence[float] | Array,
        learning_rate: float | Sequence[float] | Array,
        **settings: float | Sequence[float] | Array,
    ) -> Configurations:
        """Numbers are repeated to the length of ``weight``."""
        weights = torch.as_tensor(np.atleast_1d(np.asarray(weight, dtype=np.float64)))
        if not (torch.isfinite(weights).all() and (weights >= 0).all()):
            raise InvalidInput(f"weight={weights.tolist()} was given; finite numbers ≥ 0 are needed, such as 1.0.")

        def full(values: float | Sequence[float] | Array) -> Tensor:
            array = np.broadcast_to(np.asarray(values, dtype=np.float64), (len(weights),))
            return torch.from_numpy(array.copy())

        return cls(weights, full(learning_rate), {name: full(value) for name, value in settings.items()})

    def __len__(self) -> int:
        return len(self.weight)

    def tiles(self, size: int) -> Iterator[tuple[int, Configurations]]:
        """Groups of at most ``size``, with the number of real members; an odd one out gets a copy of itself."""
        for start in range(0, len(self), size):
            real = min(size, len(self) - start)
            index = torch.arange(start, start + real + real % PAIR).clamp_max(start + real - 1)
            settings = {name: value[index] for name, value in self.settings.items()}
            yield real, Configurations(self.weight[index], self.learning_rate[index], settings)
