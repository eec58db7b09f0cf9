"""The models between one that exists and a level one."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.auditing.audit import Audit, audit
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.evaluated_corrections import EvaluatedCorrections, RelevelledRows
from fairlevel.estimators.front_page import front_page
from fairlevel.estimators.path_front import seen_by_an_audit
from fairlevel.estimators.path_report import QUANTILES
from fairlevel.estimators.selection_budget import SelectionBudget
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.selection import check_row, knee_index
from fairlevel.metrics.interval import interval_columns
from fairlevel.metrics.profile import MeanProfile, attribute_profiles, quantiles
from fairlevel.metrics.reliability import Reliability, class_figures, reliability
from fairlevel.plots.front import FrontDisplay
from fairlevel.report.numbers import p_phrase
from fairlevel.report.provenance import Provenance
from fairlevel.report.render import write_page

GIVEN = "model as it was given"


class RelevelledFront:
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
        evaluated: EvaluatedCorrections,
        rows: RelevelledRows,
        *,
        seen: bool,
        sensitive_inputs: tuple[str, ...],
        reason: str | None,
    ) -> None:
        self._evaluated, self._rows, self.reason_ = evaluated, rows, reason
        self.kind_, self.classes_ = evaluated.fitted.model.kind, evaluated.fitted.model.classes
        self.seen_, self.sensitive_inputs_ = seen, sensitive_inputs

    @cached_property
    def below_zero_(self) -> str | None:
        evaluated = self._evaluated
        candidates = evaluated.evaluation.rows.predictions * evaluated.scale + evaluated.centre  # (candidate, row)
        if self.classes_ is not None or (candidates[0] < 0).any():
            return None
        proportions = np.stack([evaluated.proportions(budget) for budget in evaluated.budgets])
        count, rows = int((proportions @ candidates < 0).sum(axis=1).max()), len(evaluated.weight)
        if count == 0:
            return None
        return (
            f"Up to {count:,} of {rows:,} rows ({count / rows:.1%}) get predictions below 0 from models of the front; "
            "the model as it was given predicts none. For amounts and counts, raise them: numpy.maximum(prediction, 0)."
        )

    @cached_property
    def front_(self) -> pd.DataFrame:
        return self._measured(self._evaluated)

    @cached_property
    def knee_index_(self) -> int:
        return knee_index(self._shown())

    def __len__(self) -> int:
        """How many models there are."""
        return len(self._evaluated.budgets) + 1

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
        chosen = self._within(Budget.read("auto", max_dpvar, max_share))
        return self.model(-1) if chosen is None else self._within_budget(chosen)

    def figures(self, *, max_dpvar: float | None = None, max_share: float | None = None) -> pd.Series:
        """What ``front_`` would show of the model that :meth:`best` gives for the same budget."""
        chosen = self._within(Budget.read("auto", max_dpvar, max_share))
        if chosen is None:
            return self.front_.iloc[-1]
        alone = replace(self._evaluated, evaluation=replace(self._evaluated.evaluation, budgets=[chosen]))
        return self._measured(alone).iloc[0]

    def model(self, number: int) -> Any:
        """The model of a row of ``front_``, counted from 0; the last one is the model as it was given."""
        check_row(number, len(self))
        number %= len(self)
        if number == len(self) - 1:
            return self._evaluated.fitted.model.original
        return self._within_budget(self._evaluated.budgets[number])

    def models(self) -> list[Any]:
        """The models of all rows of ``front_``."""
        return [self.model(number) for number in range(len(self))]

    def knee(self) -> Any:
        """The model of the front that is farthest below the straight line between its ends."""
        return self.model(self.knee_index_)

    def profiles(self) -> dict[str, list[MeanProfile]]:
        """For each attribute the average prediction along it, one profile per row of ``front_``."""
        evaluated, rows = self._evaluated, self._rows
        return attribute_profiles(evaluated.predictions, rows.columns, evaluated.weight, rows.groups)

    def conditional_means(self) -> Array:
        """How E[f | A] is distributed: 201 quantiles for each row of ``front_``, (model, quantile)."""
        rows = self._evaluated.evaluation.rows
        means = rows.mean.fitted(self._evaluated.predictions, rows.attributes, rows.seed)
        return quantiles(means, QUANTILES, rows.attributes.row_weight)

    def reliabilities(self) -> list[Reliability]:
        """Of probabilities, one per row of ``front_``; none for a regressor, or without y."""
        weight, target = self._evaluated.weight, self._rows.target
        if self.classes_ is None or target is None:
            return []
        return [reliability(target, p.clip(0, 1), sample_weight=weight) for p in self._evaluated.predictions]

    def seen_by_an_audit(self) -> str | None:
        """What an audit of the knee would find beyond the front, in words; None where it agrees."""
        knee, rows = self.knee_index_, self._evaluated.evaluation.rows
        interval = self._evaluated.evaluation.intervals[knee]
        return seen_by_an_audit("knee", self._evaluated.predictions[knee], rows.attributes, interval, rows.seed)

    def provenance(self) -> Provenance:
        """Where the figures of the front come from."""
        how = "All figures are from rows that did not fit the correction, by cross-validation over all rows."
        names = tuple(column.name for column in self._rows.columns.columns) or self._rows.columns.names
        return Provenance(
            rows_used=len(self._evaluated.weight),
            columns={"sensitive": names},
            settings={"model": self.kind_},
            method=(how,),
        )

    def audit(self, number: int) -> Audit:
        """An audit of a row of ``front_``, on rows that did not fit its correction. Errors are part of it where y was
        given, unless the model has seen these rows.
        """
        return audit(
            self._evaluated.predictions[number],
            sensitive_features=self._rows.sensitive,
            given=self._rows.factors,
            y_true=None if self.seen_ else self._rows.target,
            sample_weight=self._evaluated.weight,
            groups=self._rows.groups,
            random_state=self._evaluated.evaluation.rows.seed,
        )

    def plot(self, ax: Any = None) -> FrontDisplay:
        """Draw the front."""
        return FrontDisplay.from_frame(self._shown(), ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """A copy of the front."""
        return self._shown()

    def to_html(self, path: str | Path, target: str = "the prediction") -> None:
        """Write the front as one self-contained page."""
        write_page(front_page(self, target, notes=self.notes(), before=GIVEN), Path(path))

    def notes(self) -> tuple[str, ...]:
        """What a reader of the front has to know, in sentences."""
        notes = [f"The model: {self.kind_}. The last point is the model as it was given."]
        if any(family.learned for family in self._evaluated.fitted.families):
            notes.append("The other points have also learned from the target of these rows, where that lowers errors.")
        if self.front_["mse"].isna().all():
            notes.append("No target was given: the error is the mean squared change of the predictions.")
        if self.seen_:
            notes.append("The model was trained on these rows: errors are too small and not valid.")
        plain = self._evaluated.evaluation.intervals[-1]
        if plain.p_value > 0.05:
            notes.append(
                f"No disparity was found in the model as it was given ({p_phrase(plain.p_value)}), so these rows "
                "show nothing to trade off."
            )
        if self.below_zero_:
            notes.append(self.below_zero_)
        if self.sensitive_inputs_:
            notes.append(f"The model reads sensitive attributes: {', '.join(self.sensitive_inputs_)}.")
        if self.reason_:
            notes.append(f"A correction was added, because the trees cannot be changed: {self.reason_}")
        return tuple(notes)

    def _within(self, budget: Budget | None) -> SelectionBudget | None:
        """The budget on selection rows that keeps a user's; None where the model as it is keeps it."""
        if budget is None:
            raise InvalidInput("No budget was given; pass best(max_dpvar=...) or best(max_share=...).")
        evaluation = self._evaluated.evaluation
        plain = evaluation.extra_interval
        if (plain.share_high if budget.name == "max_share" else plain.high) <= budget.limit:
            return None
        return evaluation.calibration(budget.name).selection_budget(budget)

    def _measured(self, evaluated: EvaluatedCorrections) -> pd.DataFrame:
        """One row per point."""
        predictions, weight, target = evaluated.predictions, evaluated.weight, self._rows.target
        choice, budgets = evaluated.evaluation.rows.choice, evaluated.budgets
        error = np.full(len(predictions), np.nan) if target is None else (predictions - target) ** 2 @ weight
        front = pd.DataFrame(
            {
                "selection_dpvar": [*(budget.dpvar(choice) for budget in budgets), np.inf],
                "mse": error,
                "mse_valid": not self.seen_ and target is not None,
                "distance": (predictions - predictions[-1]) ** 2 @ weight,
                **interval_columns(evaluated.evaluation.intervals),
                "members": [*(int((evaluated.proportions(budget) > 0).sum()) for budget in budgets), 1],
            }
        )
        if self.classes_ is None or target is None:
            return front
        return front.assign(**class_figures(predictions, target, weight))

    def _shown(self) -> pd.DataFrame:
        """The front with the distance in place of an error that is not known."""
        front = self.front_.copy()
        front["mse"] = front["mse"].fillna(front["distance"])
        return front

    def _within_budget(self, budget: SelectionBudget) -> Any:
        return self._evaluated.fitted.mixed(self._evaluated.proportions(budget))
