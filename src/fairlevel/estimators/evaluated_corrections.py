"""Corrections of a model that exists, evaluated on rows that did not fit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.estimators.evaluated_rows import EvaluatedRows
from fairlevel.estimators.evaluation import Evaluation
from fairlevel.estimators.selection_budget import SelectionBudget
from fairlevel.fronts.stacking import without_small_proportions
from fairlevel.metrics.learnt_attributes import with_learnt
from fairlevel.progress import stage
from fairlevel.releveling.existing import ExistingModel
from fairlevel.releveling.fitting import CrossFitted, FittedCorrections
from fairlevel.threads import numpy_on_one_thread

CHANCE_ERRORS = 2.0  # added to DPVar: of many mixtures, some look level on few rows by chance


@dataclass(frozen=True)
class EvaluatedCorrections:
    """Candidates evaluated on rows that did not fit them; the last point is the model as it is. ``centre`` and
    ``scale`` are mean and standard deviation of the aim: y, or the model's predictions where there is none.
    """

    fitted: FittedCorrections
    evaluation: Evaluation
    centre: float
    scale: float

    @classmethod
    def of(
        cls,
        model: ExistingModel,
        attributes: Attributes,
        target: Array | None,
        points: int,
        fold: Index,
        seed: int,
        seen: bool,
    ) -> EvaluatedCorrections:
        """What is evaluated on a fold is fitted on the others; fold (row,). Errors on rows that the model has ``seen``
        are too small to learn from. Budgets end below the DPVar of the model as it is.
        """
        rows = with_learnt(attributes, model.prediction, seed)
        weight = rows.weight
        aim = model.prediction if target is None else target
        centre = float(weight @ aim)
        scale = float(np.sqrt(weight @ (aim - centre) ** 2)) or 1.0
        learned = None if seen else target
        found = CrossFitted.of(model, rows, learned, fold, seed)
        candidates = (found.predictions - centre) / scale
        stage("choosing among them")
        with numpy_on_one_thread():  # its threads would keep a core busy after their work
            combiner = model.response.combiner
            evaluated = EvaluatedRows.of(candidates, (aim - centre) / scale, rows, fold, combiner, seed, CHANCE_ERRORS)
            most = evaluated.choice.figures(np.eye(len(candidates))[0]).dpvar
            budgets = SelectionBudget.grid(evaluated.choice, points + 1, most)[1:-1]  # the first is the constant
        return cls(found.fitted, Evaluation(evaluated, budgets, scale, extra=candidates[0]), centre, scale)

    @property
    def budgets(self) -> Sequence[SelectionBudget]:
        """One per point but the last."""
        return self.evaluation.budgets

    @property
    def weight(self) -> Array:
        """Of the rows, summing to 1, (row,)."""
        return self.evaluation.rows.attributes.weight

    @cached_property
    def predictions(self) -> Array:
        """Of the points, in units of y, (point, row)."""
        shown: Array = self.evaluation.predictions * self.scale + self.centre
        return shown

    @cached_property
    def means(self) -> Array:
        """E[f | A] of the points, (point, row)."""
        evaluated = self.evaluation.rows
        return evaluated.mean.fitted(self.predictions, evaluated.attributes, evaluated.seed)

    @cached_property
    def rows_below_zero(self) -> int:
        """Of the model that predicts the most rows below 0, how many; 0 where the model as it is predicts some."""
        if (self._candidates[0] < 0).any():
            return 0
        chosen = np.stack([self.proportions(budget) for budget in self.budgets])
        return int((chosen @ self._candidates < 0).sum(axis=1).max())

    @property
    def _candidates(self) -> Array:
        """Predictions of the candidates, in units of y, (candidate, row)."""
        candidates: Array = self.evaluation.rows.predictions * self.scale + self.centre
        return candidates

    def proportions(self, budget: SelectionBudget) -> Array:
        """Proportions of the candidates within a budget on these rows, (candidate,)."""
        return without_small_proportions(budget.mixture(self.evaluation.rows.choice).proportions)
