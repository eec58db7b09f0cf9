"""From a table to a front: train candidates, judge them on rows they have not seen, and answer for any budget.

Three kinds of rows. *Training* rows train the candidates, *selection* rows judge them and set the shares of mixtures,
*reporting* rows measure the result. Where rows are many these are three disjoint sets. Where they are few, candidates
are trained on all folds but one, every row is judged by candidates that have not seen it, the figures of a row come
from shares that were set without it, and the candidates that are kept are trained on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.candidates.fitting import FittedCandidates, fit_candidates
from fairlevel.candidates.protocol import CandidateSource, Limits, Report, TrainingSetup, portion
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.splitting import folds, split_off
from fairlevel.data.table import Table
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.judging import POINTS, Calibration, JudgedRows, SelectionBudget, allowed, calibrations, pruned
from fairlevel.exceptions import Diverged, InvalidInput
from fairlevel.fronts.combiners import Choosing, Combiner
from fairlevel.fronts.stacking import without_small_shares
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.interval import DPVarInterval, interval_of
from fairlevel.models.model import Model

MANY_ROWS = 3000  # from here on three disjoint sets
FOLDS = 3
FEWEST_ROWS = 60
EARLY_STOPPING = 0.15  # share of the training rows that decide when to stop


@dataclass(frozen=True)
class PathSettings:
    """What a path is fitted with."""

    source: CandidateSource
    limits: Limits
    combiner: Combiner
    setup: TrainingSetup


@dataclass(frozen=True)
class ChosenModel:
    """A model, and its MSE and debiased DPVar on the selection rows, in units of y²."""

    model: Model
    mse: float
    dpvar: float


@dataclass(frozen=True)
class PathFit:
    """A fitted path. It holds candidates and sums over rows, and no row."""

    fitted: FittedCandidates
    choosing: Choosing
    points: tuple[SelectionBudget, ...]
    calibrations: dict[str, Calibration]
    y_scale: float
    cross_fitted: bool

    def model(self, budget: SelectionBudget) -> ChosenModel:
        """The choice within a budget on selection rows."""
        chosen = pruned(self.choosing, budget)
        variance = self.y_scale**2
        return ChosenModel(self.fitted.model(chosen.shares), chosen.mse * variance, chosen.dpvar * variance)

    def within(self, budget: Budget) -> ChosenModel:
        """The choice that keeps a user's budget on unseen rows, margin included."""
        return self.model(allowed(self.calibrations, budget))


@dataclass(frozen=True)
class ReportingRows:
    """The models of a front on rows that set nothing of theirs, in units of y.

    Shapes: predictions (model, row), fitted means E[f|A] (model, row), target (row,), sensitive (row, attribute); one
    interval per model.
    """

    predictions: Array
    conditional_means: Array
    target: Array
    sensitive: Array
    intervals: list[DPVarInterval]


def fit_path(table: Table, settings: PathSettings, report: Report) -> tuple[PathFit, ReportingRows]:
    """Train, judge and calibrate."""
    rows, seed = len(table), settings.setup.seed
    if rows < FEWEST_ROWS:
        raise InvalidInput(f"{rows} rows were given; a path needs at least {FEWEST_ROWS} to train, choose and report.")
    few = rows < MANY_ROWS
    fitted, selection, predictions, fold, reporting = (_by_folds if few else _by_parts)(table, settings, report)
    y_scale, y_mean = float(table.y.std()) or 1.0, float(table.y.mean())
    chosen_on, standard = table.rows(selection), (predictions - y_mean) / y_scale
    attributes, target = Attributes(chosen_on.attributes), (chosen_on.y - y_mean) / y_scale
    judged = JudgedRows.of(standard, target, attributes, fold, settings.combiner, seed)
    choosing = judged.choosing
    budgets, evaluator = SelectionBudget.points(choosing, POINTS), DPVarEvaluator(attributes, seed)
    unseen = judged.cross_fitted(budgets)
    evidence = evaluator.evidence(unseen)
    of_dpvar = Calibration.of(budgets, unseen, evidence, attributes.weight)
    found = calibrations(judged, evaluator, y_scale, of_dpvar)
    fit = PathFit(fitted, choosing, tuple(budgets), found, y_scale, reporting is None)
    if reporting is None:  # the rows that calibrate also report
        centre = fitted.y_scaler.mean
        shown, target, sensitive = unseen * y_scale + centre, target * y_scale + centre, attributes.values
        intervals = [interval_of(each).scaled(y_scale**2) for each in evidence]
    else:
        here = table.rows(reporting)
        shares = np.stack([without_small_shares(budget.nearest(choosing).shares) for budget in budgets])
        shown, target, sensitive = shares @ fitted.predict(here.x), here.y, here.attributes
        intervals = DPVarEvaluator.of(sensitive, seed).intervals(shown)
    means = judged.mean.fitted(shown, Attributes(sensitive), seed)
    return fit, ReportingRows(shown, means, target, sensitive, intervals)


_Trained = tuple[FittedCandidates, Index, Array, Index, Index | None]
"""Kept candidates, selection rows, predictions there (candidate, row), their folds, reporting rows if others."""


def _by_parts(table: Table, settings: PathSettings, report: Report) -> _Trained:
    """Three disjoint sets of rows."""
    seed = settings.setup.seed
    kept, held = split_off(len(table), 0.4, seed)
    selection, reporting = held[: len(held) // 2], held[len(held) // 2 :]
    fitted = _train(table.rows(kept), settings, report)
    return fitted, selection, fitted.predict(table.x[selection]), folds(len(selection), FOLDS, seed), reporting


def _by_folds(table: Table, settings: PathSettings, report: Report) -> _Trained:
    """Candidates for each fold from the other folds, and candidates from all rows to keep."""
    fold = folds(len(table), FOLDS, settings.setup.seed)
    found = {}
    for number in range(FOLDS):
        part = _train(table.rows(np.flatnonzero(fold != number)), settings, portion(report, number, FOLDS + 1))
        found[number] = (part.candidates.table, part.predict(table.x[fold == number]))
    fitted = _train(table, settings, portion(report, FOLDS, FOLDS + 1))
    fitted, predictions = _common(fitted, found, fold)
    return fitted, np.arange(len(table)), predictions, fold, None


def _train(table: Table, settings: PathSettings, report: Report) -> FittedCandidates:
    """The usable candidates that these rows train; some rows decide when to stop."""
    fitted = fit_candidates(table, settings.source, settings.setup, settings.limits, EARLY_STOPPING, report)
    if not fitted.candidates.usable.any():
        raise Diverged(
            "Training diverged for every candidate; lower the step size, such as optimizer=Adam(learning_rate=0.001)."
        )
    return replace(fitted, candidates=fitted.candidates.without_diverged())


def _common(
    fitted: FittedCandidates, found: dict[int, tuple[pd.DataFrame, Array]], fold: Index
) -> tuple[FittedCandidates, Array]:
    """Candidates that diverged nowhere: the kept ones reduced to them, and their predictions (candidate, row)."""
    names = fitted.candidates.table["candidate"]
    shared = names[[all((frame["candidate"] == name).any() for frame, _ in found.values()) for name in names]]
    if shared.empty:
        raise Diverged(
            "Every candidate diverged on the rows of some fold; lower the step size, such as "
            "optimizer=Adam(learning_rate=0.001)."
        )
    predictions = np.empty((len(shared), len(fold)))
    for number, (frame, own) in found.items():
        position = pd.Series(np.arange(len(frame)), index=frame["candidate"])
        predictions[:, fold == number] = own[position[shared].to_numpy()]
    return replace(fitted, candidates=fitted.candidates.only(shared.index.to_numpy())), predictions
