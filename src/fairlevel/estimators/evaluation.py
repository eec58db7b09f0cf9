"""Mixtures of candidates chosen on selection rows, and their DPVar on rows that did not set their proportions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes, KeptAttributes
from fairlevel.estimators.budget import Budget
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.combiners import CandidateChoice, Combiner
from fairlevel.fronts.points import non_dominated
from fairlevel.fronts.stacking import DPVAR, SHARE, Mixture, OutOfReach, without_small_proportions
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.evidence import Evidence
from fairlevel.metrics.interval import DPVarInterval, error_of, interval_of, share_error
from fairlevel.metrics.mixtures import SharedMean, shared_mean
from fairlevel.threads import numpy_on_one_thread, on_single_threads

POINTS = 12  # of a front
SHARE_POINTS = 8  # at which budgets on shares are calibrated
FEWEST_ROWS = 60  # to judge a front by
MARGIN = 0.5  # standard errors added to DPVar before it is compared with a budget
SHARE_MARGIN = 0.25  # the same for shares, whose errors, fold by fold, are larger


@dataclass(frozen=True)
class EvaluatedRows:
    """Predictions of the candidates on selection rows, which did not train them; y has mean 0 and variance 1.

    Shapes: predictions (candidate, row), target (row,), attributes of the rows, fold (row,): :meth:`cross_fitted` sets
    the proportions for a fold on the other folds. ``mean`` is the conditional mean, with its ridge, of all candidates.
    Where proportions are set, ``chance`` standard errors of the DPVar of independent predictions count as disparity.
    """

    predictions: Array
    target: Array
    attributes: Attributes
    fold: Index
    mean: SharedMean
    combiner: Combiner
    seed: int
    chance: float
    _kept: dict[int, CandidateChoice] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        predictions: Array,
        target: Array,
        attributes: Attributes,
        fold: Index,
        combiner: Combiner,
        seed: int,
        chance: float = 0.0,
    ) -> EvaluatedRows:
        """With one smoother for all candidates: the one that describes the most accurate of them best."""
        kept = KeptAttributes.of(attributes)
        mean = shared_mean(predictions, target, kept, seed)
        return cls(predictions, target, kept, fold, mean, combiner, seed, chance)

    @cached_property
    def choice(self) -> CandidateChoice:
        """The choice of proportions on all selection rows; it sets the proportions of the models that are returned."""
        return self._choice_on(np.arange(len(self.target)))

    def cross_fitted(self, budgets: Sequence[SelectionBudget]) -> Array:
        """Predictions at each budget, the proportions for a fold set on the other folds: (budget, row)."""
        result = np.empty((len(budgets), len(self.target)))

        def fill(number: int) -> None:
            choice, inside = self._without_fold(number), np.flatnonzero(self.fold == number)
            proportions = np.stack([budget.nearest(choice).proportions for budget in budgets])
            result[:, inside] = proportions @ self.predictions[:, inside]

        with numpy_on_one_thread():
            on_single_threads(*(partial(fill, number) for number in np.unique(self.fold).tolist()))
        return result

    def _without_fold(self, number: int) -> CandidateChoice:
        """The choice of proportions without a fold; what depends on A is factored once for all kinds of budgets."""
        if number not in self._kept:
            self._kept[number] = self._choice_on(np.flatnonzero(self.fold != number))
        return self._kept[number]

    def _choice_on(self, rows: Index) -> CandidateChoice:
        predictions, attributes = self.predictions[:, rows], self.attributes.take(rows)
        disparity = self.mean.disparity(predictions, attributes, self.seed)
        if self.chance > 0:
            centred = predictions - (predictions @ attributes.weight)[:, None]
            by_chance = self.chance * self.mean.chance(attributes, self.seed)
            disparity += by_chance * (centred * attributes.weight) @ centred.T
        return self.combiner.over(predictions, self.target[rows], attributes.weight, disparity)


@dataclass(frozen=True)
class SelectionBudget:
    """A budget on the rows that set the proportions: the largest DPVar, in squared standard deviations of y; infinity
    is no limit.
    """

    most: float

    name: ClassVar[str] = "max_dpvar"
    quantity: ClassVar[str] = DPVAR

    def nearest(self, choice: CandidateChoice) -> Mixture:
        """The most accurate choice within the budget; one that is too small is raised to just above the smallest
        reachable value.
        """
        return choice.within(max(self.most, choice.smallest * (1 + 1e-4) + 1e-12))

    def reached(self, choice: CandidateChoice) -> float:
        """What can be used of it on these rows: no more than the most accurate choice has."""
        return min(self.most, choice.within(np.inf).dpvar)

    def dpvar(self, choice: CandidateChoice) -> float:
        """The DPVar on selection rows that it allows."""
        return self.reached(choice)

    @classmethod
    def points(cls, choice: CandidateChoice, count: int, most: float = np.inf) -> list[SelectionBudget]:
        """Budgets evenly spaced in √DPVar, from the smallest reachable one (at least 1e-6) to that of the most
        accurate choice within ``most``; the last one is no limit.
        """
        return cls._spaced(choice.smallest, choice.within(max(most, choice.smallest)).dpvar, count)

    @classmethod
    def _spaced(cls, smallest: float, free: float, count: int) -> list[SelectionBudget]:
        """The last one has no number: on the rows of some folds the most accurate choice has more than on all rows, and
        a limit there would be measured instead of it.
        """
        roots = np.linspace(np.sqrt(min(max(smallest, 1e-6), free)), np.sqrt(free), count)
        return [*(cls(float(root) ** 2) for root in roots[:-1]), cls(np.inf)]


@dataclass(frozen=True)
class SelectionShare(SelectionBudget):
    """The same on the share of the prediction's variance."""

    name: ClassVar[str] = "max_share"
    quantity: ClassVar[str] = SHARE

    def nearest(self, choice: CandidateChoice) -> Mixture:
        return choice.within_share(max(self.most, choice.smallest_share * (1 + 1e-2) + 1e-9))

    def reached(self, choice: CandidateChoice) -> float:
        return min(self.most, choice.share(choice.within(np.inf)))

    def dpvar(self, choice: CandidateChoice) -> float:
        return self.nearest(choice).dpvar

    @classmethod
    def points(cls, choice: CandidateChoice, count: int, most: float = np.inf) -> list[SelectionBudget]:
        """Shares evenly spaced in their roots, up to that of the most accurate choice with a DPVar within ``most``."""
        free = choice.share(choice.within(max(most, choice.smallest)))
        return cls._spaced(choice.smallest_share, free, count)


@dataclass(frozen=True)
class Calibration:
    """How budgets on selection rows turn out under cross-fitting: what each allows there, and what was measured, margin
    included, each (point,). ``largest`` is the last of them.
    """

    largest: SelectionBudget
    allowed: Array
    measured: Array

    @classmethod
    def of(
        cls, budgets: Sequence[SelectionBudget], choice: CandidateChoice, evidence: Sequence[Evidence]
    ) -> Calibration:
        """From the choice on all selection rows and what is known about the DPVar of cross-fitted predictions, one per
        point.
        """
        dpvar, error = np.array([error_of(each) for each in evidence]).T
        return cls._of(budgets, choice, dpvar + MARGIN * error)

    @classmethod
    def of_folds(cls, budgets: Sequence[SelectionBudget], unseen: Array, evaluated: EvaluatedRows) -> Calibration:
        """The mean DPVar of the folds' models, at least 0, with its standard error, as a share of their mean variance;
        from cross-fitted predictions (point, row).
        """
        sums = np.zeros((3, len(budgets)))
        for number in np.unique(evaluated.fold):
            inside = np.flatnonzero(evaluated.fold == number)
            evidence = DPVarEvaluator(evaluated.attributes.take(inside), evaluated.seed).evidence(unseen[:, inside])
            share, error, variance = np.array(
                [(each.estimate, share_error(each), each.variance) for each in evidence]
            ).T
            part = float(evaluated.attributes.weight[inside].sum()) * variance
            sums += part * share, (part * error) ** 2, part
        dpvar, squared_error, variance = sums
        measured = dpvar.clip(min=0) + SHARE_MARGIN * np.sqrt(squared_error)
        found = np.divide(measured, variance, out=np.zeros_like(measured), where=variance > 0)
        return cls._of(budgets, evaluated.choice, found)

    @classmethod
    def _of(cls, budgets: Sequence[SelectionBudget], choice: CandidateChoice, measured: Array) -> Calibration:
        return cls(budgets[-1], np.array([budget.reached(choice) for budget in budgets]), measured)

    def scaled(self, factor: float) -> Calibration:
        """In other units."""
        return replace(self, measured=factor * self.measured)

    def within(self, limit: float) -> SelectionBudget:
        """The largest selection budget, interpolated, at which the running maximum of what was measured is at most
        ``limit``; the last one where all points keep it. Raises :class:`OutOfReach` if the first point exceeds it.
        """
        rising = np.maximum.accumulate(self.measured)
        if rising[0] > limit:
            raise OutOfReach(self.largest.quantity, limit, float(rising[0]))
        if rising[-1] <= limit:
            return self.largest
        return replace(self.largest, most=float(np.interp(limit, rising, self.allowed)))


def pruned(choice: CandidateChoice, budget: SelectionBudget) -> Mixture:
    """The choice within a budget without proportions below 0.001, with MSE and DPVar computed again."""
    return choice.figures(without_small_proportions(budget.nearest(choice).proportions))


@dataclass(frozen=True)
class Evaluation:
    """The points of a front on rows that set nothing of theirs, and how budgets turn out: each figure is computed when
    it is first asked for.

    One point per budget on DPVar, y with mean 0 and variance 1; ``y_scale`` is its standard deviation in a user's
    units. ``last``, (row,), is one more point that no budget chooses.
    """

    rows: EvaluatedRows
    budgets: Sequence[SelectionBudget]
    y_scale: float
    last: Array | None = None

    @cached_property
    def _within_budgets(self) -> Array:
        """(budget, row)."""
        return self.rows.cross_fitted(self.budgets)

    @cached_property
    def predictions(self) -> Array:
        """(point, row)."""
        return self._within_budgets if self.last is None else np.concatenate([self._within_budgets, self.last[None]])

    @cached_property
    def _evaluator(self) -> DPVarEvaluator:
        return DPVarEvaluator(self.rows.attributes, self.rows.seed)

    @cached_property
    def evidence(self) -> list[Evidence]:
        """One per point."""
        return self._evaluator.evidence(self._within_budgets) + self._evidence_of_last

    @cached_property
    def _evidence_of_last(self) -> list[Evidence]:
        """One, or none; no other point need be known for it."""
        return [] if self.last is None else self._evaluator.evidence(self.last[None])

    @property
    def last_interval(self) -> DPVarInterval:
        """The interval of ``last``, in units of y²."""
        (evidence,) = self._evidence_of_last
        return interval_of(evidence).scaled(self.y_scale**2)

    @cached_property
    def intervals(self) -> list[DPVarInterval]:
        """The 95 % interval of each point, in units of y²."""
        found = on_single_threads(*(partial(interval_of, each) for each in self.evidence))
        return [interval.scaled(self.y_scale**2) for interval in found]

    @cached_property
    def of_dpvar(self) -> Calibration:
        """Of budgets on DPVar, in units of y²."""
        found = Calibration.of(self.budgets, self.rows.choice, self.evidence[: len(self.budgets)])
        return found.scaled(self.y_scale**2)

    @cached_property
    def of_shares(self) -> Calibration:
        r"""Of budgets on the share, fold by fold: each fold sees one model that its rows did not set, and what counts
        is their mean DPVar as a share of their mean variance.

        Rows of several folds together would show the share of an average of those models. A model is level on the rows
        that fit it by adding what offsets their chance disparity, and the next fold's model the opposite of what its
        rows have: for groups with means m_k in three folds, corrected by those of the two others, the average of
        m_k − (m_l + m_j)/2 is exactly 0, while each of them moves with variance 3/2 Var(m).
        """
        budgets = SelectionShare.points(self.rows.choice, SHARE_POINTS)
        return Calibration.of_folds(budgets, self.rows.cross_fitted(budgets), self.rows)

    def calibration(self, name: str) -> Calibration:
        """Of the budgets of this name."""
        return self.of_shares if name == SelectionShare.name else self.of_dpvar


def selection_budget(calibration: Calibration, budget: Budget) -> SelectionBudget:
    """The budget on selection rows that keeps a user's budget on unseen rows, margin included."""
    try:
        return calibration.within(budget.most)
    except OutOfReach as error:
        raise InvalidInput(
            f"{budget.name}={budget.most:g} is out of reach: the smallest value on unseen rows is "
            f"{error.smallest:.3g}, margin included; allow at least that much, or use more rows, another predictor "
            "or other candidates." + (_NEAR_THE_CONSTANT if budget.name == "max_share" else "")
        ) from None


_NEAR_THE_CONSTANT = (
    " Predictions close to a constant do not help: their DPVar and their variance vanish together, and the share with "
    "neither. A budget on DPVar itself, max_dpvar, is met by them."
)


def interval_columns(intervals: Sequence[DPVarInterval]) -> dict[str, list[float]]:
    """What a front shows of the DPVar of its models: the estimate, both ends of the interval, and the share."""
    return {
        "dpvar": [interval.estimate for interval in intervals],
        "dpvar_low": [interval.low for interval in intervals],
        "dpvar_high": [interval.high for interval in intervals],
        "share": [interval.share for interval in intervals],
    }


def knee_index(front: pd.DataFrame) -> int:
    """Row number of the knee; the most accurate model where the front has no bend."""
    points = non_dominated(front)
    if len(points) <= 2:
        return len(front) - 1
    scaled = points[["mse", "dpvar"]].to_numpy()
    scaled = (scaled - scaled.min(axis=0)) / np.ptp(scaled, axis=0)
    most_accurate_first = scaled.sum(axis=1)[::-1]  # both ends have 1: without a bend, the most accurate is taken
    return int(points.index[::-1][int(most_accurate_first.argmin())])
