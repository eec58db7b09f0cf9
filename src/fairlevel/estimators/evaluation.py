"""The points of a front measured on rows that did not set their proportions, and which budgets they keep there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from fairlevel.arrays import Array
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.evaluated_rows import EvaluatedRows
from fairlevel.estimators.selection_budget import SelectionBudget, SelectionShare
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.combiners import CandidateChoice
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.interval import DPVarInterval, Evidence, error_of, interval_of, share_error
from fairlevel.threads import on_single_threads

FEWEST_ROWS = 60  # to evaluate a front on
SHARE_POINTS = 8  # at which budgets on shares are calibrated
MARGIN = 0.5  # standard errors added to DPVar before it is compared with a budget
SHARE_MARGIN = 0.25  # the same for shares, whose errors, fold by fold, are larger


@dataclass(frozen=True)
class Evaluation:
    """The points of a front, one per budget, on rows that set nothing of theirs. Each figure is computed when it is
    first asked for.

    Parameters
    ----------
    rows : candidates on selection rows; y has mean 0 and variance 1
    budgets : on DPVar, one per point
    y_scale : the standard deviation of y in a user's units
    extra : predictions of one more point after the others, which no budget chooses, (row,); None without one
    """

    rows: EvaluatedRows
    budgets: Sequence[SelectionBudget]
    y_scale: float
    extra: Array | None = None

    @cached_property
    def predictions(self) -> Array:
        """Of all points, (point, row)."""
        return self._within_budgets if self.extra is None else np.concatenate([self._within_budgets, self.extra[None]])

    @cached_property
    def intervals(self) -> list[DPVarInterval]:
        """The 95 % interval of each point, in units of y²."""
        every = self._evidence + self._extra_evidence
        found = on_single_threads(*(partial(interval_of, each) for each in every))
        return [interval.scaled(self.y_scale**2) for interval in found]

    @property
    def extra_interval(self) -> DPVarInterval:
        """The interval of ``extra``, in units of y²; the other points are not measured for it."""
        (evidence,) = self._extra_evidence
        return interval_of(evidence).scaled(self.y_scale**2)

    def calibration(self, name: str) -> Calibration:
        """Of the user's budgets of this name, "max_dpvar" or "max_share"."""
        return self._share_calibration if name == SelectionShare.name else self._dpvar_calibration

    @cached_property
    def _dpvar_calibration(self) -> Calibration:
        """Of budgets on DPVar, in units of y²."""
        found = Calibration.of_dpvar(self.budgets, self.rows.choice, self._evidence)
        return found.scaled(self.y_scale**2)

    @cached_property
    def _share_calibration(self) -> Calibration:
        budgets = SelectionShare.grid(self.rows.choice, SHARE_POINTS)
        unseen = self.rows.cross_fitted(budgets)
        return Calibration.of_shares(budgets, unseen, self._evaluator.evidence(unseen), self.rows)

    @cached_property
    def _within_budgets(self) -> Array:
        """Predictions of the points within budgets, (budget, row)."""
        return self.rows.cross_fitted(self.budgets)

    @cached_property
    def _evaluator(self) -> DPVarEvaluator:
        return DPVarEvaluator(self.rows.attributes, self.rows.seed)

    @cached_property
    def _evidence(self) -> list[Evidence]:
        """DPVar and its uncertainty, one entry per budget."""
        return self._evaluator.evidence(self._within_budgets)

    @cached_property
    def _extra_evidence(self) -> list[Evidence]:
        """The same of ``extra``: one entry, or none."""
        return [] if self.extra is None else self._evaluator.evidence(self.extra[None])


@dataclass(frozen=True)
class Calibration:
    """What budgets on selection rows lead to on unseen rows: the limit of each on selection rows, and what was measured
    under cross-fitting, margin included, each (point,). ``largest`` is the last of the budgets.
    """

    largest: SelectionBudget
    allowed: Array
    measured: Array

    @classmethod
    def of_dpvar(
        cls, budgets: Sequence[SelectionBudget], choice: CandidateChoice, evidence: Sequence[Evidence]
    ) -> Calibration:
        """From the choice on all selection rows and the evidence of cross-fitted predictions, one entry per budget:
        their DPVar and ``MARGIN`` standard errors.
        """
        dpvar, error = np.array([error_of(each) for each in evidence]).T
        return cls._of(budgets, choice, dpvar + MARGIN * error)

    @classmethod
    def of_shares(
        cls, budgets: Sequence[SelectionBudget], unseen: Array, together: Sequence[Evidence], rows: EvaluatedRows
    ) -> Calibration:
        r"""From cross-fitted predictions, ``unseen`` (budget, row), fold by fold: the mean DPVar of the folds' models,
        at least 0, with ``SHARE_MARGIN`` standard errors, divided by their mean variance; or the share of all rows
        together, where that is larger: the rows of one fold may be too few to see all of it.

        Rows of several folds together would show the share of an average of those models. A model is level on the rows
        that fit it by adding what offsets their chance disparity, and the next fold's model the opposite of what its
        rows have: for groups with means m_k in three folds, corrected by those of the two others, the average of
        m_k − (m_l + m_j)/2 is exactly 0, while each of them moves with variance 3/2 Var(m).
        """
        sums = np.zeros((3, len(budgets)))
        for number in np.unique(rows.fold):
            inside = np.flatnonzero(rows.fold == number)
            evidence = DPVarEvaluator(rows.attributes.take(inside), rows.seed).evidence(unseen[:, inside])
            share, error, variance = np.array(
                [(each.estimate, share_error(each), each.variance) for each in evidence]
            ).T
            part = float(rows.attributes.weight[inside].sum()) * variance
            sums += part * share, (part * error) ** 2, part
        dpvar, squared_error, variance = sums
        with_margin = dpvar.clip(min=0) + SHARE_MARGIN * np.sqrt(squared_error)
        shares = np.divide(with_margin, variance, out=np.zeros_like(with_margin), where=variance > 0)
        of_all_rows = [each.estimate + SHARE_MARGIN * share_error(each) for each in together]
        return cls._of(budgets, rows.choice, np.maximum(shares, of_all_rows))

    @classmethod
    def _of(cls, budgets: Sequence[SelectionBudget], choice: CandidateChoice, measured: Array) -> Calibration:
        return cls(budgets[-1], np.array([budget.capped(choice) for budget in budgets]), measured)

    def scaled(self, factor: float) -> Calibration:
        """What was measured in other units."""
        return replace(self, measured=factor * self.measured)

    def selection_budget(self, budget: Budget) -> SelectionBudget:
        """The largest budget on selection rows, interpolated, at which the running maximum of what was measured is
        within a user's budget; the last one where all points keep it.
        """
        rising = np.maximum.accumulate(self.measured)
        if rising[0] > budget.limit:
            raise InvalidInput(
                f"{budget.name}={budget.limit:g} is out of reach: the smallest value on unseen rows is "
                f"{rising[0]:.3g}, margin included; allow at least that much, or use more rows, another predictor "
                "or other candidates." + (_NEAR_THE_CONSTANT if budget.name == SelectionShare.name else "")
            )
        if rising[-1] <= budget.limit:
            return self.largest
        return replace(self.largest, limit=float(np.interp(budget.limit, rising, self.allowed)))


_NEAR_THE_CONSTANT = (
    " Predictions close to a constant do not help: their DPVar and their variance vanish together, and the share with "
    "neither. A budget on DPVar itself, max_dpvar, is met by them."
)
