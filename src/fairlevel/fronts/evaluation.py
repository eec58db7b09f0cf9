"""Candidates on rows that did not train them: how their proportions are set there, and what a budget leads to.

Proportions for the rows of a fold are set on the other folds, so that figures come from rows that set nothing. A user's
budget is about unseen rows: how much may be allowed where proportions are set, to keep it, is found by
:class:`Calibration`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.budget import SHARE, Budget
from fairlevel.fronts.combiners import CandidateChoice, Combiner
from fairlevel.metrics.evaluator import DPVarEvaluator, with_learnt
from fairlevel.metrics.interval import DPVarInterval, Evidence, error_of, interval_of, share_error
from fairlevel.metrics.mixtures import SharedMean, most_accurate, shared_mean
from fairlevel.threads import numpy_on_one_thread, on_single_threads

FEWEST_ROWS = 60  # to evaluate a front on
SHARE_POINTS = 8  # at which budgets on shares are calibrated
MARGIN = 0.5  # standard errors added to DPVar before it is compared with a budget
SHARE_MARGIN = 0.25  # the same for shares, whose errors, fold by fold, are larger


@dataclass(frozen=True)
class Points:
    """The models within budgets: what they predict, y having mean 0 and variance 1, (point, row), and the DPVar of that
    with its uncertainty, one entry per point.
    """

    budgets: Sequence[Budget]
    predictions: Array
    evidence: Sequence[Evidence]

    def with_point(self, number: int, point: Points) -> Points:
        """With one more point before the one with this number."""
        budgets, evidence = list(self.budgets), list(self.evidence)
        budgets[number:number], evidence[number:number] = point.budgets, point.evidence
        return Points(budgets, np.insert(self.predictions, number, point.predictions[0], axis=0), evidence)


@dataclass(frozen=True)
class Evaluation:
    """Candidates on rows that did not train them.

    Parameters
    ----------
    predictions : (candidate, row), less ``centre`` and divided by ``scale``
    target : (row,), with mean 0 and variance 1
    attributes : of the rows
    fold : (row,)
    combiner : how proportions are set
    seed : of functions of A that are drawn
    centre, scale : mean and standard deviation of y in the user's units
    chance_errors : how many standard errors of the DPVar that arises by chance are added to the DPVar of a mixture
        where proportions are set
    """

    predictions: Array
    target: Array
    attributes: Attributes
    fold: Index
    combiner: Combiner
    seed: int
    centre: float
    scale: float
    chance_errors: float = 0.0

    @classmethod
    def of(
        cls,
        predictions: Array,
        target: Array,
        attributes: Attributes,
        fold: Index,
        combiner: Combiner,
        seed: int,
        chance_errors: float = 0.0,
    ) -> Evaluation:
        """From predictions and target in the user's units. Functions of A are learnt from the most accurate candidate,
        where it needs them.
        """
        weight = attributes.weight
        centre = float(weight @ target)
        scale = float(np.sqrt(weight @ (target - centre) ** 2)) or 1.0
        standard, target = (predictions - centre) / scale, (target - centre) / scale
        attributes = with_learnt(attributes, most_accurate(standard, target, weight), seed)
        return cls(standard, target, attributes, fold, combiner, seed, centre, scale, chance_errors)

    @cached_property
    def mean(self) -> SharedMean:
        """One conditional mean for all candidates: the one that describes the most accurate of them best."""
        accurate = most_accurate(self.predictions, self.target, self.attributes.weight)
        return shared_mean(accurate, self.attributes, self.seed)

    @cached_property
    def choice(self) -> CandidateChoice:
        """The choice of proportions on all rows; it sets the proportions of the models that are returned."""
        return self._choice_on(np.arange(len(self.target)))

    def points(self, budgets: Sequence[Budget]) -> Points:
        """The models within budgets on rows that did not set their proportions."""
        predictions = self._cross_fitted(budgets)
        return Points(budgets, predictions, self.evidence(predictions))

    def points_of_shares(self) -> Points:
        """Those that calibrate budgets on shares."""
        return self.points(self.choice.grid(SHARE, SHARE_POINTS))

    def evidence(self, predictions: Array) -> list[Evidence]:
        """DPVar and its uncertainty for predictions (config, row) on these rows."""
        return DPVarEvaluator(self.attributes, self.seed).evidence(predictions)

    def intervals(self, evidence: Sequence[Evidence]) -> list[DPVarInterval]:
        """Their 95 % intervals, in units of y²."""
        intervals = on_single_threads(*(partial(interval_of, of_point) for of_point in evidence))
        return [interval.scaled(self.scale**2) for interval in intervals]

    def in_units(self, predictions: Array) -> Array:
        """In the user's units."""
        return predictions * self.scale + self.centre

    def conditional_means(self, predictions: Array) -> Array:
        """E[f | A] of predictions in any units, (config, row) -> (config, row)."""
        return self.mean.fitted(predictions, self.attributes, self.seed)

    def calibration(self, points: Points) -> Calibration:
        """What the budgets of these points, all of one name, lead to."""
        name = points.budgets[0].name
        largest = self.choice.most_accurate.used_by(name)  # more cannot be used
        allowed = np.array([min(budget.limit, largest) for budget in points.budgets])
        return Calibration(name, allowed, self._shares(points) if name == SHARE else self._dpvar(points))

    def _dpvar(self, points: Points) -> Array:
        """In units of y², with its margin, (point,)."""
        dpvar, error = np.array([error_of(of_point) for of_point in points.evidence]).T
        return np.asarray(self.scale**2 * (dpvar + MARGIN * error))

    def _shares(self, points: Points) -> Array:
        r"""Fold by fold, (point,): the mean DPVar of the folds' models, at least 0, with its margin, divided by their
        mean variance; or the share of all rows together, where that is larger: the rows of one fold may be too few to
        see all of it.

        Rows of several folds together would show the share of an average of those models. A model is level on the rows
        that fit it by adding what offsets their chance disparity, and the next fold's model the opposite of what its
        rows have: for groups with means m_k in three folds, corrected by those of the two others, the average of
        m_k − (m_l + m_j)/2 is exactly 0, while each of them moves with variance 3/2 Var(m).
        """
        sums = np.zeros((3, len(points.budgets)))
        for number in np.unique(self.fold):
            inside = np.flatnonzero(self.fold == number)
            evaluator = DPVarEvaluator(self.attributes.take(inside), self.seed)
            evidence = evaluator.evidence(points.predictions[:, inside])
            figures = [(of_point.estimate, share_error(of_point), of_point.variance) for of_point in evidence]
            share, error, variance = np.array(figures).T
            part = float(self.attributes.weight[inside].sum()) * variance
            sums += part * share, (part * error) ** 2, part
        dpvar, squared_error, variance = sums
        with_margin = dpvar.clip(min=0) + SHARE_MARGIN * np.sqrt(squared_error)
        by_fold = np.divide(with_margin, variance, out=np.zeros_like(with_margin), where=variance > 0)
        together = [of_point.estimate + SHARE_MARGIN * share_error(of_point) for of_point in points.evidence]
        return np.maximum(by_fold, together)

    def _cross_fitted(self, budgets: Sequence[Budget]) -> Array:
        """Predictions at each budget, the proportions for a fold set on the other folds: (budget, row)."""
        result = np.empty((len(budgets), len(self.target)))

        def fill(number: int) -> None:
            inside = np.flatnonzero(self.fold == number)
            proportions = [self._choices[number].nearest(budget).proportions for budget in budgets]
            result[:, inside] = np.stack(proportions) @ self.predictions[:, inside]

        with numpy_on_one_thread():
            on_single_threads(*(partial(fill, number) for number in self._choices))
        return result

    @cached_property
    def _choices(self) -> dict[int, CandidateChoice]:
        """The choice of proportions without each fold, by the number of the fold."""
        numbers = np.unique(self.fold).tolist()
        with numpy_on_one_thread():
            tasks = (partial(self._choice_on, np.flatnonzero(self.fold != number)) for number in numbers)
            return dict(zip(numbers, on_single_threads(*tasks), strict=True))

    def _choice_on(self, rows: Index) -> CandidateChoice:
        """The choice of proportions on some rows, (some row,)."""
        predictions, attributes = self.predictions[:, rows], self.attributes.take(rows)
        disparity = self.mean.disparity(predictions, attributes, self.seed)
        if self.chance_errors > 0:
            centred = predictions - (predictions @ attributes.weight)[:, None]
            by_chance = self.chance_errors * self.mean.chance(attributes, self.seed)  # for a variance of 1
            disparity += by_chance * (centred * attributes.weight) @ centred.T
        return self.combiner.over(predictions, self.target[rows], attributes.weight, disparity)


@dataclass(frozen=True)
class Calibration:
    """What budgets on the rows that set proportions lead to on unseen rows: the limit of each, and what was measured
    under cross-fitting, in units of y² or as a share, margin included; each (point,).
    """

    name: str
    allowed: Array
    measured: Array

    def budget(self, wanted: Budget) -> Budget:
        """The largest budget, interpolated, at which the running maximum of what was measured is within a user's
        budget; no limit where all points keep it.
        """
        rising = np.maximum.accumulate(self.measured)
        if rising[0] > wanted.limit:
            raise InvalidInput(
                f"{wanted.name}={wanted.limit:g} is out of reach: the smallest value on unseen rows is "
                f"{rising[0]:.3g}, margin included; allow at least that much, or use more rows, another predictor "
                "or other candidates." + (_NEAR_THE_CONSTANT if wanted.name == SHARE else "")
            )
        if rising[-1] <= wanted.limit:
            return Budget(self.name, np.inf)
        return Budget(self.name, float(np.interp(wanted.limit, rising, self.allowed)))


_NEAR_THE_CONSTANT = (
    " Predictions close to a constant do not help: their DPVar and their variance vanish together, and the share with "
    "neither. A budget on DPVar itself, max_dpvar, is met by them."
)
