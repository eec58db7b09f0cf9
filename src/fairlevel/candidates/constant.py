"""The constant as a candidate: no disparity, no accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, CandidateSet, candidate_table
from fairlevel.candidates.protocol import CandidateRows, CandidateSource, Limits, Report, TrainingSetup
from fairlevel.members.boosters import BoosterMembers, FittedTrees
from fairlevel.trees.lightgbm_text import LightGBMText

FAMILY = "constant"


@dataclass(frozen=True)
class WithConstant:
    """The candidates of a source and the mean of y; mixed with any other candidate, it shrinks that one."""

    source: CandidateSource

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return self.source.possible(rows, setup)

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        found = self.source.train(rows, setup, limits, report)
        text = LightGBMText.constant(rows.training.rows.x.shape[1]).write()
        members = BoosterMembers((FittedTrees(text),), (0,), (1,))
        table = candidate_table([CandidateKey(FAMILY, 0.0, 0)], "none", 0)
        constant = CandidateSet(table, (members,), np.ones((1, 1)), (NO_HISTORY,))
        return found.followed_by(setup.evaluated(constant))
