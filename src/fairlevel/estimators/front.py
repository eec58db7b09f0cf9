"""What the front of a path and that of a model that exists have in common: figures, and what shows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.auditing.questions import decisions
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.numbers import rounding_limit
from fairlevel.data.sensitive import Sensitive
from fairlevel.data.table import Table
from fairlevel.estimators.path_fit import EvaluatedPath
from fairlevel.fronts.evaluation import Evaluation, Points
from fairlevel.metrics.dpvar import interval_across
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.interval import DPVarInterval, Evidence, error_of
from fairlevel.metrics.profile import MeanProfile, attribute_profiles, quantiles
from fairlevel.metrics.reliability import Reliability, class_figures, reliability
from fairlevel.plots.front import FrontDisplay

QUANTILES = 201  # of the conditional means


@dataclass(frozen=True)
class MeasuredModels:
    """Models on rows that neither trained them nor set their proportions: predictions in units of y, (model, row), the
    DPVar of each with its uncertainty, y where it is known, (row,), and the attributes as they were given.
    """

    evaluation: Evaluation
    predictions: Array
    evidence: Sequence[Evidence]
    target: Array | None
    sensitive: Sensitive
    classifies: bool

    @classmethod
    def of_path(cls, path: EvaluatedPath, points: Points, table: Table, classifies: bool) -> MeasuredModels:
        """The models of some points, on the rows of the table that were held out."""
        evaluation, rows = path.evaluation, table.rows(path.numbers)
        assert rows.sensitive is not None
        predictions = evaluation.in_units(points.predictions)
        return cls(evaluation, predictions, points.evidence, rows.y, rows.sensitive, classifies)

    @property
    def attributes(self) -> Attributes:
        """Of the rows, as metrics read them."""
        return self.evaluation.attributes

    @cached_property
    def intervals(self) -> list[DPVarInterval]:
        """One per model, in units of y²."""
        return self.evaluation.intervals(self.evidence)

    def some(self, rows: Sequence[int]) -> MeasuredModels:
        """Some of the models, by their numbers."""
        evidence = [self.evidence[row] for row in rows]
        return replace(self, predictions=self.predictions[list(rows)], evidence=evidence)

    @property
    def errors(self) -> Array:
        """The MSE of each model; NaN where y is not known."""
        if self.target is None:
            return np.full(len(self.predictions), np.nan)
        return np.asarray((self.predictions - self.target) ** 2 @ self.attributes.weight)

    def further_figures(self, threshold: float | None) -> dict[str, Any]:
        """R² of numbers; of probabilities log-loss, AUC, accuracy and the DPVar of decisions that are 1 at or above the
        threshold.
        """
        weight, target = self.attributes.weight, self.target
        assert target is not None
        if threshold is None:
            variance = float(weight @ (target - weight @ target) ** 2)
            varies = np.ptp(target) > rounding_limit(target)
            return {"r2": 1 - self.errors / variance if varies else np.full(len(self.predictions), np.nan)}
        decided = np.stack([decisions(probability, threshold) for probability in self.predictions.clip(0, 1)])
        evidence = DPVarEvaluator(self.attributes, self.evaluation.seed).evidence(decided)
        dpvar = [error_of(of_model)[0] for of_model in evidence]
        return {**class_figures(self.predictions, target, weight, threshold), "decision_dpvar": dpvar}

    def report(self) -> FrontReport:
        """What pages show beside the figures."""
        row_weight, target = self.attributes.row_weight, self.target
        return FrontReport(
            attribute_profiles(self.predictions, self.sensitive, row_weight, self.attributes.groups),
            quantiles(self.evaluation.conditional_means(self.predictions), QUANTILES, row_weight),
            [reliability(target, p, sample_weight=row_weight) for p in self.predictions.clip(0, 1)]
            if self.classifies and target is not None
            else [],
        )

    def seen_by_an_audit(self, number: int, name: str) -> str | None:
        """What an audit of one model finds beyond its interval, in words; None where it agrees. All models of a front
        are measured with the same functions of A; an audit learns more of them from the model's own predictions.
        """
        interval, attributes = self.intervals[number], self.attributes
        plain = attributes if attributes.learnt is None else replace(attributes, learnt=None)
        audited = interval_across(plain, self.predictions[number], self.evaluation.seed)
        if not audited.learnt or audited.cannot_tell or audited.share <= interval.share_high:
            return None
        return (
            f"An audit of the {name} sees more than this front: {audited.share:.1%} of the prediction's variance "
            f"instead of {interval.share:.1%}, by functions of the attributes that it learns from these predictions. "
            "Audit the model that you choose."
        )


@dataclass(frozen=True)
class FrontReport:
    """Of each model of a front: profiles along the attributes, how E[f | A] is distributed (model, quantile), and how
    reliable probabilities are, where there are two classes. It holds sums over rows, and no row.
    """

    profiles: dict[str, list[MeanProfile]]
    conditional_means: Array
    reliabilities: list[Reliability]


class Front(ABC):
    """Models from the least disparity to the most accurate one, as rows of ``front_``."""

    front_: pd.DataFrame
    knee_index_: int

    @abstractmethod
    def model(self, number: int) -> Any:
        """The model of a row of ``front_``, counted from 0."""

    @property
    @abstractmethod
    def _report(self) -> FrontReport:
        """What pages show of all rows of ``front_``."""

    def knee(self) -> Any:
        """The model of the front that is farthest below the straight line between its ends, both figures scaled to
        [0, 1].
        """
        return self.model(self.knee_index_)

    def profiles(self) -> dict[str, list[MeanProfile]]:
        """For each attribute the average prediction along it, one profile per row of ``front_``, from the rows that the
        figures are from.
        """
        return self._report.profiles

    def conditional_means(self) -> Array:
        """How E[f | A] is distributed over these rows: 201 quantiles from the smallest to the largest for each row of
        ``front_``, (model, quantile).
        """
        return self._report.conditional_means

    def reliabilities(self) -> list[Reliability]:
        """Mean probabilities against observed frequencies in ten bins, one entry per row of ``front_``, from these
        rows; none where y is a number, or not known.
        """
        return self._report.reliabilities

    def to_frame(self) -> pd.DataFrame:
        """A copy of the front."""
        return self.front_.copy()

    def plot(self, ax: Any = None) -> FrontDisplay:
        """Draw the front."""
        return FrontDisplay.from_frame(self.to_frame(), ax=ax)
