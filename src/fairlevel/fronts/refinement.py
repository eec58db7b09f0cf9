"""Where to put the next penalty weights: into the largest gaps of a method's validation front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import finite, non_dominated

SMALLEST_GAP = 0.05  # of the range in both figures: closer neighbours need nobody between them
_WIDENING = 10.0  # factor by which the largest weight grows, and the smallest shrinks


class Proposal(NamedTuple):
    """A configuration worth training."""

    setting: int
    weight: float


class _Tried(NamedTuple):
    weight: float
    mse: float
    dpvar: float
    on_front: bool


class _Gap(NamedTuple):
    size: float
    proposal: Proposal


def check_weights(weights: Sequence[float]) -> Array:
    """Penalty weights of a grid: finite, not negative, ascending, none twice."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(f"weights={values.tolist()} were given; finite numbers ≥ 0 are needed, such as [0, 1, 10].")
    if (np.diff(values) <= 0).any():
        raise InvalidInput(f"weights={values.tolist()} were given; each must be larger than the one before it.")
    return values


def coarse(weights: Sequence[float], count: int) -> Array:
    """The first of a list and ``count`` − 1 more at even distances up to the last: where refinement starts."""
    values = check_weights(weights)
    if not 2 <= count < len(values):
        return values if count >= len(values) else values[:1]
    positions = [0, *(max(k, len(values) * k // (count - 1) - 1) for k in range(1, count))]
    spread: Array = values[positions]
    return spread


def propose(trained: pd.DataFrame, count: int, most_weights: int) -> list[Proposal]:
    r"""Up to ``count`` new configurations for a grid with columns setting, weight, mse, dpvar (on validation rows).

    Neighbouring weights of a setting that has a point on the front leave a gap, measured in both figures divided by
    their range; the largest gaps get the geometric mean of their ends. A front that ends at the largest weight while
    DPVar is still above 1 % of its maximum is continued beyond it; one that ends because the next weight diverged is
    continued towards that weight. No setting gets more than ``most_weights``.
    """
    usable = finite(trained).points
    if usable.empty or count < 1:
        return []
    on_front = trained.index.isin(non_dominated(usable).points.index)
    span = usable[["mse", "dpvar"]].max() - usable[["mse", "dpvar"]].min()
    ranges = (float(span["mse"]) or 1.0, float(span["dpvar"]) or 1.0)
    worth_less = 0.01 * float(usable["dpvar"].max())
    gaps: list[_Gap] = []
    room: dict[int, int] = {}
    for setting in trained.loc[on_front, "setting"].unique():
        rows = trained[trained["setting"] == setting]
        numbers = rows[["weight", "mse", "dpvar"]].to_numpy(dtype=np.float64).tolist()
        shown = on_front[trained["setting"] == setting].tolist()
        tried = sorted(
            _Tried(weight, mse, dpvar, flag) for (weight, mse, dpvar), flag in zip(numbers, shown, strict=True)
        )
        room[int(setting)] = most_weights - len({row.weight for row in tried})
        gaps += _gaps(int(setting), tried, ranges, worth_less)
    chosen: list[Proposal] = []
    for _, proposal in sorted(gaps, key=lambda gap: -gap.size):
        if len(chosen) < count and room[proposal.setting] > 0:
            room[proposal.setting] -= 1
            chosen.append(proposal)
    return chosen


def _gaps(setting: int, tried: list[_Tried], ranges: tuple[float, float], worth_less: float) -> Iterator[_Gap]:
    def goes_on(row: _Tried) -> bool:
        return row.on_front and row.dpvar > worth_less

    for low, high in pairwise(tried):
        if not np.isfinite(low.mse):
            continue
        if np.isfinite(high.mse):
            size = float(np.hypot((high.mse - low.mse) / ranges[0], (high.dpvar - low.dpvar) / ranges[1]))
        else:
            size = 1.0 if goes_on(low) else 0.0
        between = np.sqrt(low.weight * high.weight) if low.weight > 0 else high.weight / _WIDENING
        if size >= SMALLEST_GAP:
            yield _Gap(size, Proposal(setting, float(between)))
    if goes_on(tried[-1]) and tried[-1].weight > 0:
        yield _Gap(1.0, Proposal(setting, tried[-1].weight * _WIDENING))
