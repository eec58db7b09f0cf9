"""Sources made of other sources: several families, a predictor of their own, stages of boosters, the constant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, CandidateSet, candidate_table
from fairlevel.candidates.protocol import (
    CandidateRows,
    CandidateSource,
    Limits,
    Report,
    TrainingSetup,
    for_columns,
    portion,
)
from fairlevel.members.boosters import BoosterMembers, FittedTrees
from fairlevel.predictors import Predictor
from fairlevel.trees.lightgbm_text import LightGBMText

CONSTANT = "constant"  # the family of the mean of y
FEWEST_WEIGHTS = 4  # fewer weights are not worth the training of a setting


@dataclass(frozen=True)
class Families:
    """Families that err in different ways; together they train no more models than any other source.

    Families that cannot read the rows, or that need a linear head which the predictor does not have, are left out.
    """

    parts: tuple[CandidateSource, ...]

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        parts = [part for part in self.parts if part.possible(rows, setup)]
        of_one, families, first = self.limits_of_one(limits, len(parts)), [], 0
        for number, part in enumerate(parts):
            steps = rows.steps
            if steps is not None:
                steps = {key._replace(setting=key.setting - first): count for key, count in steps.items()}
            family = part.train(replace(rows, steps=steps), setup, of_one, portion(report, number, len(parts)))
            families.append(family.renumbered(first))
            first += 1 + int(family.table["setting"].max())
        return reduce(CandidateSet.joined, families)

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return any(part.possible(rows, setup) for part in self.parts)

    @staticmethod
    def limits_of_one(limits: Limits, families: int) -> Limits:
        """Limits of each of several families."""
        models = max(1, limits.models // families)
        settings = max(1, min(limits.settings // 2, models // FEWEST_WEIGHTS))
        weights = max(1, models // settings)
        return replace(limits, models=settings * weights, settings=settings, weights=weights)


@dataclass(frozen=True)
class OnPredictor:
    """``source`` with ``predictor``, whichever one other sources use, trained on at most ``most_rows`` rows, which come
    in random order.
    """

    predictor: Predictor
    source: CandidateSource
    most_rows: int | None = None

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return self.source.possible(rows, self._setup(rows, setup))

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        if self.most_rows is not None:
            rows = replace(rows, training=rows.training.limited(self.most_rows))
        return self.source.train(rows, self._setup(rows, setup), limits, report)

    def _setup(self, rows: CandidateRows, setup: TrainingSetup) -> TrainingSetup:
        return replace(setup, predictor=for_columns(self.predictor, rows.categorical))


@dataclass(frozen=True)
class WithStages:
    """The candidates of a source, and those that they were after a share of their steps; the latter cost nothing."""

    source: CandidateSource
    shares: tuple[float, ...] = (0.125, 0.25, 0.5)

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return self.source.possible(rows, setup)

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        complete = self.source.train(rows, setup, limits, report)
        finished = complete.without_diverged()
        stages = [self._stage(finished, share) for share in self.shares]
        return reduce(CandidateSet.joined, stages, complete)

    def _stage(self, finished: CandidateSet, share: float) -> CandidateSet:
        """All candidates after a share of their steps."""
        grown: Any = finished.groups  # by boosting
        groups = tuple(group.after(share) for group in grown)
        steps = np.maximum(1, np.round(share * finished.table["steps"])).astype(np.int64)
        family = finished.table["family"] + f" after {share:g}"
        table = finished.table.assign(family=family, steps=steps, loss=np.nan)
        stage = CandidateSet(table, groups, finished.proportions, (NO_HISTORY,) * len(table))
        return stage.renumbered(0)


@dataclass(frozen=True)
class WithConstant:
    """The candidates of a source and the mean of y: no disparity, no accuracy. Mixed with any other candidate, it
    shrinks that one.
    """

    source: CandidateSource

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return self.source.possible(rows, setup)

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        others = self.source.train(rows, setup, limits, report)
        text = LightGBMText.constant(rows.training.rows.x.shape[1]).write()
        table = candidate_table([CandidateKey(CONSTANT, 0.0, 0)], "none", 0)
        members = BoosterMembers((FittedTrees(text),), (0,), (1,))
        constant = CandidateSet(table, (members,), np.ones((1, 1)), (NO_HISTORY,))
        return others.followed_by(constant)
