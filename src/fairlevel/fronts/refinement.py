"""Choose the next penalty weights to train: those that fill the largest gaps of the front on validation rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import finite, non_dominated

SMALLEST_GAP = 0.05  # smaller gaps, as a share of the range of mse and dpvar, are left as they are
_WIDENING = 10.0  # factor by which the largest weight grows, and the smallest shrinks


class Proposal(NamedTuple):
    """A configuration to train next: the number of a setting, and a weight."""

    setting: int
    weight: float


class _Tried(NamedTuple):
    weight: float
    mse: float
    dpvar: float
    on_front: bool


class _Gap(NamedTuple):
    """Two neighbouring weights of a setting and their distance on the front; beyond the largest weight ``high`` is
    infinite. ``known`` says whether there are models at both ends.
    """

    size: float
    setting: int
    low: float
    high: float
    known: bool = True

    @property
    def between(self) -> float:
        if np.isinf(self.high):
            return self.low * _WIDENING
        return float(np.sqrt(self.low * self.high)) if self.low > 0 else self.high / _WIDENING

    @property
    def halves(self) -> tuple[_Gap, ...]:
        """What is left of it with a model in between, as far as can be told before that is trained."""
        if not self.known or self.size / 2 < SMALLEST_GAP:
            return ()
        half = self._replace(size=self.size / 2)
        return half._replace(high=self.between), half._replace(low=self.between)


def check_weights(weights: Sequence[float]) -> Array:
    """Penalty weights of a grid as an array, if they are finite, not negative and strictly ascending."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(f"weights={values.tolist()} were given; finite numbers ≥ 0 are needed, such as [0, 1, 10].")
    if (np.diff(values) <= 0).any():
        raise InvalidInput(f"weights={values.tolist()} were given; each must be larger than the one before it.")
    return values


def coarse(weights: Sequence[float], count: int) -> Array:
    """``count`` of the weights, from the first to the last, evenly spaced in the list: the grid before refinement."""
    values = check_weights(weights)
    if not 2 <= count < len(values):
        return values if count >= len(values) else values[:1]
    positions = [0, *(max(k, len(values) * k // (count - 1) - 1) for k in range(1, count))]
    spread: Array = values[positions]
    return spread


def propose(trained: pd.DataFrame, count: int, most_weights: int) -> list[Proposal]:
    r"""Up to ``count`` new configurations for a grid with columns setting, weight, mse, dpvar (on validation rows).

    Only settings with a point on the front are refined. A gap is the distance between models with neighbouring
    weights, in mse and dpvar divided by their ranges. The largest gap gets the geometric mean of its two weights and
    counts as two gaps of half its size from then on. If the front ends at the largest weight while DPVar is still above
    1 % of its maximum, a larger weight is proposed; if it ends because the next weight diverged, one between the two.
    No setting gets more than ``most_weights``.
    """
    usable = finite(trained)
    if usable.empty or count < 1:
        return []
    on_front = trained.index.isin(non_dominated(usable).index)
    span = usable[["mse", "dpvar"]].max() - usable[["mse", "dpvar"]].min()
    ranges = (float(span["mse"]) or 1.0, float(span["dpvar"]) or 1.0)
    negligible = 0.01 * float(usable["dpvar"].max())
    gaps: list[_Gap] = []
    allowed: dict[int, int] = {}
    for setting in trained.loc[on_front, "setting"].unique():
        rows = trained[trained["setting"] == setting]
        numbers = rows[["weight", "mse", "dpvar"]].to_numpy(dtype=np.float64).tolist()
        flags = on_front[trained["setting"] == setting].tolist()
        tried = sorted(
            _Tried(weight, mse, dpvar, flag) for (weight, mse, dpvar), flag in zip(numbers, flags, strict=True)
        )
        allowed[int(setting)] = most_weights - len({row.weight for row in tried})
        gaps += _gaps(int(setting), tried, ranges, negligible)
    chosen: list[Proposal] = []
    while gaps and len(chosen) < count:
        gap = max(gaps, key=lambda each: each.size)
        gaps.remove(gap)
        if allowed[gap.setting] > 0:
            allowed[gap.setting] -= 1
            chosen.append(Proposal(gap.setting, gap.between))
            gaps += gap.halves
    return chosen


def _gaps(setting: int, tried: list[_Tried], ranges: tuple[float, float], negligible: float) -> Iterator[_Gap]:
    def may_continue(row: _Tried) -> bool:
        return row.on_front and row.dpvar > negligible

    for low, high in pairwise(tried):
        if not np.isfinite(low.mse):
            continue
        if np.isfinite(high.mse):
            size = float(np.hypot((high.mse - low.mse) / ranges[0], (high.dpvar - low.dpvar) / ranges[1]))
            if size >= SMALLEST_GAP:
                yield _Gap(size, setting, low.weight, high.weight)
        elif may_continue(low):
            yield _Gap(1.0, setting, low.weight, high.weight, known=False)
    if may_continue(tried[-1]) and tried[-1].weight > 0:
        yield _Gap(1.0, setting, tried[-1].weight, np.inf, known=False)
