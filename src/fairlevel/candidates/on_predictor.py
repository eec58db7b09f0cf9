"""A source on a predictor of its own, whichever one the others use; stages of boosters as further candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateSet
from fairlevel.candidates.protocol import CandidateRows, CandidateSource, Limits, Report, TrainingSetup, for_columns
from fairlevel.predictors import Predictor


@dataclass(frozen=True)
class OnPredictor:
    """``source`` with ``predictor``, trained on at most ``most_rows`` rows, which come in random order."""

    predictor: Predictor
    source: CandidateSource
    most_rows: int | None = None

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return self.source.possible(rows, self._setup(rows, setup))

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        return self.source.train(self._rows(rows), self._setup(rows, setup), limits, report)

    def _rows(self, rows: CandidateRows) -> CandidateRows:
        return rows if self.most_rows is None else replace(rows, training=rows.training.limited(self.most_rows))

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
        found = self.source.train(rows, replace(setup, evaluate=None), limits, report)
        complete = found
        for share in self.shares:
            complete = complete.joined(self._stage(found.without_diverged(), share))
        return setup.evaluated(complete)

    def _stage(self, found: CandidateSet, share: float) -> CandidateSet:
        """All candidates after a share of their steps."""
        grown: Any = found.groups  # by boosting
        steps = np.maximum(1, np.round(share * found.table["steps"])).astype(np.int64)
        table = found.table.assign(family=found.table["family"] + f" after {share:g}", steps=steps, loss=np.nan)
        groups = tuple(group.after(share) for group in grown)
        stage = CandidateSet(table, groups, found.proportions, (NO_HISTORY,) * len(table))
        return stage.renumbered(0)
