"""Candidates from one booster: its trees are weighted anew on rows that it has not seen, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import lightgbm as lgb
import numpy as np

from fairlevel.arrays import Index
from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, CandidateSet, candidate_table
from fairlevel.candidates.penalty_grid import PenaltyGrid
from fairlevel.candidates.protocol import CandidateRows, Limits, Report, TrainingSetup, for_columns
from fairlevel.corrections.closed_form import LEFT, RIDGES, CorrectionPath, Disparity
from fairlevel.data.splitting import WholeGroups
from fairlevel.exceptions import InvalidInput
from fairlevel.members.boosters import BoosterMembers, FittedTrees
from fairlevel.penalties import NoPenalty
from fairlevel.predictors import Boosting
from fairlevel.training.rows import TrainingRows
from fairlevel.trees.lightgbm_model import LightGBMEnsemble
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.protocol import by_tree

NEW_ROWS = 0.3  # share of the training rows that weight the trees; the others grow them
FAMILY = "reweighted"


@dataclass(frozen=True)
class ReweightedTrees:
    """One plain booster, and corrections of it that leave ever less disparity; only the booster is trained."""

    predictor: Boosting = Boosting(rounds=300)
    ridges: tuple[float, ...] = RIDGES

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return rows.training.has_attributes and setup.loss.quadratic

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        if not setup.loss.quadratic:
            raise InvalidInput("Trees are weighted anew for regression only; use solver='boosting'.")
        training = rows.training
        known = training.rows
        grown_on, new = split_for_weights(known, setup.seed)
        steps = None if rows.steps is None else {CandidateKey(NoPenalty.name, 0.0, 0): self._steps(rows)}
        grown = replace(rows, training=replace(training, rows=known.take(grown_on)), steps=steps)
        of_trees = replace(setup, predictor=for_columns(self.predictor, rows.categorical))
        plain = PenaltyGrid.over(NoPenalty(), (0.0,)).train(grown, of_trees, limits, report)
        return self._corrected(plain, known.take(new), setup.seed)

    def _steps(self, rows: CandidateRows) -> int:
        assert rows.steps is not None
        return rows.steps[CandidateKey(FAMILY, 1.0, 0)]

    def _corrected(self, plain: CandidateSet, rows: TrainingRows, seed: int) -> CandidateSet:
        """The booster as it is, and re-weighted on new rows. The column ``weight`` of their table, for other candidates
        that of the penalty, holds the share of disparity that is left.
        """
        (members,) = plain.groups
        if not isinstance(members, BoosterMembers):
            raise TypeError(f"{type(members).__name__} has no trees.")
        text = LightGBMText.read(members.boosters[0].text)
        ensemble = LightGBMEnsemble(lgb.Booster(model_str=members.boosters[0].text))
        leaves, values = ensemble.leaves(rows.x), text.leaf_values
        parts = by_tree(leaves, values)
        prediction = parts.sum(axis=1)
        disparity = Disparity.of(prediction, rows.some_attributes, seed)
        texts, keys = [members.boosters[0]], [CandidateKey(FAMILY, 1.0, 0)]
        for setting, path in enumerate(CorrectionPath.all(parts, prediction, disparity, self.ridges)):
            for left, change in zip(LEFT, path.coefficients(), strict=True):
                intercept = -float(disparity.row_weight @ (parts @ change))
                changed = [(1 + more) * of_tree for more, of_tree in zip(change, values, strict=True)]
                changed[0] = changed[0] + intercept
                texts.append(FittedTrees(text.with_leaf_values(changed).write()))
                keys.append(CandidateKey(FAMILY, left, setting))
        table = candidate_table(keys, self.predictor.name, int(plain.table["steps"].iloc[0]))
        group = BoosterMembers(tuple(texts), tuple(range(len(texts))), (len(values),) * len(texts))
        return CandidateSet(table, (group,), np.eye(len(table)), (NO_HISTORY,) * len(table))


def split_for_weights(rows: TrainingRows, seed: int) -> tuple[Index, Index]:
    """Row numbers to grow the booster on, and others that are new to it: rows come shuffled, and groups stay whole."""
    groups = rows.some_attributes.groups
    if groups is not None:
        return WholeGroups(groups).split_off(NEW_ROWS, seed)
    count = round((1 - NEW_ROWS) * len(rows))
    return np.arange(count), np.arange(count, len(rows))
