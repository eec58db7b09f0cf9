"""Penalty weights for the gaps of the front on validation rows: a coarse grid first, then what fills the largest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairlevel.candidates import CandidateSet, Limits, PenaltyGrid, TrainingSetup
from fairlevel.candidates.penalty_grid import Configuration, coarse
from fairlevel.candidates.protocol import CandidateRows, Report, portion
from fairlevel.fronts.points import finite, non_dominated

SMALLEST_GAP = 0.05  # smaller gaps, as a share of the range of mse and dpvar, are left as they are
_WIDENING = 10.0  # factor by which the largest weight grows, and the smallest shrinks


@dataclass(frozen=True)
class StudySetup(TrainingSetup):
    """``evaluate`` adds columns mse and dpvar, measured on validation rows, for candidates that have none yet."""

    evaluate: Callable[[CandidateSet], CandidateSet] = lambda candidates: candidates


@dataclass(frozen=True)
class StudyLimits(Limits):
    """``coarse`` weights come before refinement, in this number of rounds."""

    coarse: int = 12
    rounds: int = 0


@dataclass(frozen=True)
class RefinedGrid(PenaltyGrid):
    """A grid whose further weights fill the gaps of the front that the first ones leave."""

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        if not isinstance(setup, StudySetup) or not isinstance(limits, StudyLimits) or not limits.rounds:
            return super().train(rows, setup, limits, report)
        settings, most = self.settings[: limits.settings], self.most_weights(limits)
        weights = coarse(self.weights, min(limits.coarse, most))
        pairs = [Configuration(*pair) for pair in product(range(len(settings)), weights)]
        grid, rounds = replace(self, settings=settings), limits.rounds
        trained = setup.evaluate(grid.trained(pairs, rows, setup, portion(report, 0, 1 + rounds)))
        for number in range(rounds):
            count = -(-(limits.models - len(trained)) // (rounds - number))
            proposals = propose(trained.table, count, most)
            if not proposals:
                break
            more = grid.trained(proposals, rows, setup, portion(report, 1 + number, 1 + rounds))
            trained = setup.evaluate(trained.joined(more))
        return trained


class Gap(NamedTuple):
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
    def halves(self) -> tuple[Gap, ...]:
        """What is left of it with a model in between, as far as can be told before that is trained."""
        if not self.known or self.size / 2 < SMALLEST_GAP:
            return ()
        half = self._replace(size=self.size / 2)
        return half._replace(high=self.between), half._replace(low=self.between)


def propose(trained: pd.DataFrame, count: int, most_weights: int) -> list[Configuration]:
    r"""Up to ``count`` new configurations for a grid with columns setting, weight, mse, dpvar (on validation rows).

    Only settings with a point on the front are refined. A gap is the distance between models with neighbouring
    weights, in mse and dpvar divided by their ranges. The largest gap gets the geometric mean of its two weights and
    counts as two gaps of half its size from then on. If the front ends at the largest weight while DPVar is still above
    1 % of its maximum, a larger weight is proposed; if it ends because the next weight diverged, one between the two.
    No setting gets more than ``most_weights``.
    """
    usable = finite(trained)[["mse", "dpvar"]]
    if usable.empty:
        return []
    ranges = (usable.max() - usable.min()).replace(0.0, 1.0)
    on_front = trained.index.isin(non_dominated(usable).index)
    models = trained[["setting", "weight"]].join(usable / ranges)  # NaN where they diverged
    models["open"] = on_front & (trained["dpvar"] > 0.01 * usable["dpvar"].max())
    gaps: list[Gap] = []
    free: dict[int, int] = {}
    for setting in models.loc[on_front, "setting"].unique():
        of_setting = models[models["setting"] == setting].sort_values("weight")
        free[setting] = most_weights - of_setting["weight"].nunique()
        gaps += _gaps(of_setting)
    chosen: list[Configuration] = []
    while gaps and len(chosen) < count:
        gap = max(gaps, key=lambda gap: gap.size)
        gaps.remove(gap)
        if free[gap.setting] > 0:
            free[gap.setting] -= 1
            chosen.append(Configuration(gap.setting, gap.between))
            gaps += gap.halves
    return chosen


def _gaps(of_setting: pd.DataFrame) -> Iterator[Gap]:
    """Between the models of a setting by ascending weight, and beyond the last one; ``open`` says whether the front
    would go on beyond a model.
    """
    models: list[Any] = list(of_setting.itertuples())
    for low, high in pairwise(models):
        size = float(np.hypot(high.mse - low.mse, high.dpvar - low.dpvar))
        if size >= SMALLEST_GAP:
            yield Gap(size, low.setting, low.weight, high.weight)
        elif low.open and np.isnan(high.mse):
            yield Gap(1.0, low.setting, low.weight, high.weight, known=False)
    last = models[-1]
    if last.open and last.weight > 0:
        yield Gap(1.0, last.setting, last.weight, np.inf, known=False)
