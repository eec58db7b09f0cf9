"""The models between one that exists and a level one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.auditing.audit import Audit, audit
from fairlevel.data.sensitive import Sensitive
from fairlevel.estimators.front import Front, FrontReport, MeasuredModels
from fairlevel.estimators.front_page import front_page
from fairlevel.fronts.budget import DPVAR, SHARE, Budget
from fairlevel.fronts.combiners import without_small_proportions
from fairlevel.fronts.evaluation import Calibration, Evaluation, Points
from fairlevel.fronts.points import check_row, knee_index
from fairlevel.metrics.interval import Evidence, interval_columns
from fairlevel.metrics.reliability import class_figures
from fairlevel.releveling.fitting import FittedCorrections
from fairlevel.report.numbers import p_phrase
from fairlevel.report.provenance import Provenance
from fairlevel.report.render import write_page

GIVEN = "model as it was given"


@dataclass(frozen=True)
class GivenRows:
    """The rows that :func:`relevel` was given: attributes and legitimate factors as they came and as columns, y where
    it is known, (row,), and whether the model has seen it.
    """

    columns: Sensitive
    sensitive: pd.DataFrame
    factors: pd.DataFrame | None
    target: Array | None
    seen: bool


class RelevelledFront(Front):
    """What :func:`relevel` returns: models between the one given and a level one.

    Attributes
    ----------
    front_ : DataFrame
        One row per model, from the least disparity to the model as it is: selection_dpvar, mse (NaN without y),
        mse_valid (False for rows that the model has seen), distance (mean squared change of the predictions), dpvar,
        dpvar_low, dpvar_high, share, members (how many candidates are mixed). Of a classifier with y, there are also
        log_loss and auc, and mse is the Brier score. Figures are in units of y², from rows
        that did not fit the correction. Intervals are most of the work: they are computed when the front is first
        read, and models can be taken without them.
    knee_index_ : int
        The row of the knee.
    kind_ : str
        What the model is.
    seen_ : bool
        Whether the rows are known to the model.
    sensitive_inputs_ : tuple of str
        Features of the model that are (nearly) sensitive attributes.
    below_zero_ : str or None
        How many rows models of the front predict below 0, in a sentence, where the model as it was given predicts none.
    classes_ : tuple or None
        Both classes of a classifier; figures are those of the probability of the second one.
    """

    cross_fitted_ = True

    def __init__(
        self,
        fitted: FittedCorrections,
        evaluation: Evaluation,
        points: int,
        rows: GivenRows,
        sensitive_inputs: tuple[str, ...] = (),
        reason: str | None = None,
    ) -> None:
        self._fitted, self._evaluation, self._rows, self.reason_ = fitted, evaluation, rows, reason
        choice = evaluation.choice
        most = choice.figures(np.eye(len(evaluation.predictions))[0]).dpvar  # of the model as it is
        self._budgets = choice.grid(DPVAR, points + 1, most)[1:-1]  # the first is the constant
        self.kind_, self.classes_ = fitted.model.kind, fitted.model.classes
        self.seen_, self.sensitive_inputs_ = rows.seen, sensitive_inputs

    @cached_property
    def below_zero_(self) -> str | None:
        candidates = self._evaluation.in_units(self._evaluation.predictions)  # (candidate, row)
        if self.classes_ is not None or (candidates[0] < 0).any():
            return None
        proportions = np.stack([self._proportions(budget) for budget in self._budgets])
        count, rows = int((proportions @ candidates < 0).sum(axis=1).max()), candidates.shape[1]
        if count == 0:
            return None
        return (
            f"Up to {count:,} of {rows:,} rows ({count / rows:.1%}) get predictions below 0 from models of the front; "
            "the model as it was given predicts none. For amounts and counts, raise them: numpy.maximum(prediction, 0)."
        )

    @cached_property
    def front_(self) -> pd.DataFrame:  # type: ignore[override]
        return self._figures(self._models, [*self._budgets, None])

    @cached_property
    def knee_index_(self) -> int:  # type: ignore[override]
        return knee_index(self.to_frame())

    def __len__(self) -> int:
        """How many models there are."""
        return len(self._budgets) + 1

    def __repr__(self) -> str:
        last = self.front_.iloc[-1]
        first = self.front_.iloc[0]
        text = f"{len(self.front_)} models, share from {first['share']:.1%} to {last['share']:.1%}; {self.kind_}"
        return f"<RelevelledFront: {text}{', rows seen in training' if self.seen_ else ''}>"

    def best(self, *, max_dpvar: float | None = None, max_share: float | None = None) -> Any:
        """The most accurate model, or the one that changes least where y was not given, whose DPVar (units of y²), or
        share of the variance, stays within a budget on rows that did not fit it; of the type that was given to
        :func:`relevel` where that is possible. A model that keeps the budget already comes back as it is.
        """
        budget = self._within(Budget.required(max_dpvar, max_share))
        return self.model(-1) if budget is None else self._fitted.mixed(self._proportions(budget))

    def figures(self, *, max_dpvar: float | None = None, max_share: float | None = None) -> pd.Series:
        """What ``front_`` would show of the model that :meth:`best` gives for the same budget."""
        budget = self._within(Budget.required(max_dpvar, max_share))
        if budget is None:
            return self.front_.iloc[-1]
        return self._figures(self._measured(self._evaluation.points([budget])), [budget]).iloc[0]

    def model(self, number: int) -> Any:
        """The model of a row of ``front_``, counted from 0; the last one is the model as it was given."""
        check_row(number, len(self))
        number %= len(self)
        if number == len(self) - 1:
            return self._fitted.model.original
        return self._fitted.mixed(self._proportions(self._budgets[number]))

    def models(self) -> list[Any]:
        """The models of all rows of ``front_``."""
        return [self.model(number) for number in range(len(self))]

    def seen_by_an_audit(self) -> str | None:
        """What an audit of the knee would find beyond the front, in words; None where it agrees."""
        return self._models.seen_by_an_audit(self.knee_index_, "knee")

    def provenance(self) -> Provenance:
        """Where the figures of the front come from."""
        how = "All figures are from rows that did not fit the correction, by cross-validation over all rows."
        columns = self._rows.columns
        return Provenance(
            rows_used=len(self._evaluation.target),
            columns={"sensitive": tuple(column.name for column in columns.columns) or columns.names},
            settings={"model": self.kind_},
            method=(how,),
        )

    def audit(self, number: int) -> Audit:
        """An audit of a row of ``front_``, on rows that did not fit its correction. Errors are part of it where y was
        given, unless the model has seen these rows.
        """
        attributes = self._evaluation.attributes
        return audit(
            self._models.predictions[number],
            sensitive_features=self._rows.sensitive,
            given=self._rows.factors,
            y_true=None if self.seen_ else self._rows.target,
            sample_weight=attributes.weight,
            groups=attributes.groups,
            random_state=self._evaluation.seed,
        )

    def to_frame(self) -> pd.DataFrame:
        """A copy of the front, with the distance in place of an error that is not known."""
        return self.front_.assign(mse=self.front_["mse"].fillna(self.front_["distance"]))

    def to_html(self, path: str | Path, target: str = "the prediction") -> None:
        """Write the front as one self-contained page."""
        write_page(front_page(self, target, notes=self.notes(), before=GIVEN), Path(path))

    def notes(self) -> tuple[str, ...]:
        """What a reader of the front has to know, in sentences."""
        notes = [f"The model: {self.kind_}. The last point is the model as it was given."]
        if any(family.learned for family in self._fitted.families):
            notes.append("The other points have also learned from the target of these rows, where that lowers errors.")
        if self._rows.target is None:
            notes.append("No target was given: the error is the mean squared change of the predictions.")
        if self.seen_:
            notes.append("The model was trained on these rows: errors are too small and not valid.")
        p_value = self._models.intervals[-1].p_value
        if p_value > 0.05:
            notes.append(
                f"No disparity was found in the model as it was given ({p_phrase(p_value)}), so these rows "
                "show nothing to trade off."
            )
        if self.below_zero_:
            notes.append(self.below_zero_)
        if self.sensitive_inputs_:
            notes.append(f"The model reads sensitive attributes: {', '.join(self.sensitive_inputs_)}.")
        if self.reason_:
            notes.append(f"A correction was added, because the trees cannot be changed: {self.reason_}")
        return tuple(notes)

    @cached_property
    def _points(self) -> Points:
        return self._evaluation.points(self._budgets)

    @cached_property
    def _as_it_is(self) -> Evidence:
        (evidence,) = self._evaluation.evidence(self._evaluation.predictions[:1])
        return evidence

    @cached_property
    def _models(self) -> MeasuredModels:
        """Those of ``front_``."""
        predictions = np.concatenate([self._points.predictions, self._evaluation.predictions[:1]])
        return self._measured(Points(self._budgets, predictions, [*self._points.evidence, self._as_it_is]))

    @cached_property
    def _report(self) -> FrontReport:
        return self._models.report()

    @cached_property
    def _of_dpvar(self) -> Calibration:
        return self._evaluation.calibration(self._points)

    @cached_property
    def _of_shares(self) -> Calibration:
        return self._evaluation.calibration(self._evaluation.points_of_shares())

    def _measured(self, points: Points) -> MeasuredModels:
        predictions, rows = self._evaluation.in_units(points.predictions), self._rows
        classifies = self.classes_ is not None
        return MeasuredModels(self._evaluation, predictions, points.evidence, rows.target, rows.columns, classifies)

    def _figures(self, models: MeasuredModels, budgets: Sequence[Budget | None]) -> pd.DataFrame:
        """One row per model, of which the one without a budget is the model as it is."""
        weight, target, choice = models.attributes.weight, models.target, self._evaluation.choice
        as_it_is = self._evaluation.in_units(self._evaluation.predictions[0])
        used = [1 if budget is None else int((self._proportions(budget) > 0).sum()) for budget in budgets]
        front = pd.DataFrame(
            {
                "selection_dpvar": [np.inf if budget is None else choice.nearest(budget).dpvar for budget in budgets],
                "mse": models.errors,
                "mse_valid": not self.seen_ and target is not None,
                "distance": (models.predictions - as_it_is) ** 2 @ weight,
                **interval_columns(models.intervals),
                "members": used,
            }
        )
        if self.classes_ is None or target is None:
            return front
        return front.assign(**class_figures(models.predictions, target, weight))

    def _within(self, budget: Budget) -> Budget | None:
        """The budget on the rows that set proportions that keeps a user's; None where the model as it is keeps it."""
        (interval,) = self._evaluation.intervals([self._as_it_is])
        if (interval.share_high if budget.name == SHARE else interval.high) <= budget.limit:
            return None
        calibration = self._of_shares if budget.name == SHARE else self._of_dpvar
        return calibration.budget(budget)

    def _proportions(self, budget: Budget) -> Array:
        """Of the candidates in the mixture within a budget, (candidate,)."""
        return without_small_proportions(self._evaluation.choice.nearest(budget).proportions)
