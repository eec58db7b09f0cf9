"""Corrections of a model that exists, evaluated on rows that did not fit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.sensitive import Sensitive
from fairlevel.estimators.evaluated_rows import EvaluatedRows
from fairlevel.estimators.evaluation import Evaluation
from fairlevel.estimators.selection_budget import SelectionBudget
from fairlevel.fronts.stacking import without_small_proportions
from fairlevel.metrics.evaluator import with_learnt
from fairlevel.progress import stage
from fairlevel.releveling.existing import ExistingModel
from fairlevel.releveling.fitting import CrossFitted, FittedCorrections
from fairlevel.threads import numpy_on_one_thread

CHANCE_ERRORS = 2.0  # added to DPVar: of many mixtures, some look level on few rows by chance


@dataclass(frozen=True)
class RelevelledRows:
    """Rows on which a model becomes level: attributes, ready for functions of A and as columns; y where it is known,
    (row,); which rows belong together, (row,); attributes and legitimate factors as they were given.
    """

    attributes: Attributes
    columns: Sensitive
    target: Array | None
    groups: Index | None
    sensitive: pd.DataFrame | None
    factors: pd.DataFrame | None


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
        cls, model: ExistingModel, rows: RelevelledRows, points: int, fold: Index, seed: int, seen: bool
    ) -> EvaluatedCorrections:
        """What is evaluated on a fold is fitted on the others; fold (row,). Errors on rows that the model has ``seen``
        are too small to learn from. Budgets end below the DPVar of the model as it is.
        """
        attributes = with_learnt(rows.attributes, model.prediction, seed)
        weight = attributes.weight
        aim = model.prediction if rows.target is None else rows.target
        centre = float(weight @ aim)
        scale = float(np.sqrt(weight @ (aim - centre) ** 2)) or 1.0
        found = CrossFitted.of(model, attributes, None if seen else rows.target, fold, seed)
        candidates, aim = (found.predictions - centre) / scale, (aim - centre) / scale
        stage("choosing among them")
        with numpy_on_one_thread():  # its threads would keep a core busy after their work
            combiner = model.response.combiner
            evaluated = EvaluatedRows.of(candidates, aim, attributes, fold, combiner, seed, CHANCE_ERRORS)
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
        return np.asarray(self.evaluation.predictions * self.scale + self.centre)

    def proportions(self, budget: SelectionBudget) -> Array:
        """Proportions of the candidates within a budget on these rows, (candidate,)."""
        return without_small_proportions(budget.mixture(self.evaluation.rows.choice).proportions)
