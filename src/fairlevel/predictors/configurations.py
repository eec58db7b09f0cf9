"""The numbers in which the members of a grid differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput


@dataclass(frozen=True)
class Configurations:
    """Penalty weight, step size and settings of the penalty, each (config,); ``steps`` says after how many steps each
    one ends, (config,), where that is known before training.
    """

    weight: Array
    learning_rate: Array
    settings: dict[str, Array] = field(default_factory=dict)
    steps: Index | None = None

    @classmethod
    def of(
        cls,
        weight: Sequence[float] | Array,
        learning_rate: float | Sequence[float] | Array,
        **settings: float | Sequence[float] | Array,
    ) -> Configurations:
        """Numbers are repeated to the length of ``weight``."""
        weights = np.atleast_1d(np.asarray(weight, dtype=np.float64))
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise InvalidInput(f"weight={weights.tolist()} was given; finite numbers ≥ 0 are needed, such as 1.0.")

        def full(values: float | Sequence[float] | Array) -> Array:
            return np.broadcast_to(np.asarray(values, dtype=np.float64), (len(weights),)).copy()

        return cls(weights, full(learning_rate), {name: full(value) for name, value in settings.items()})

    def __len__(self) -> int:
        return len(self.weight)

    def tiles(self, size: int) -> Iterator[Configurations]:
        """Groups of at most ``size``."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            settings = {name: value[part] for name, value in self.settings.items()}
            steps = None if self.steps is None else self.steps[part]
            yield Configurations(self.weight[part], self.learning_rate[part], settings, steps)
