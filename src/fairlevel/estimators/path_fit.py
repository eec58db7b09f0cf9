"""From a table to a front: train candidates, evaluate their mixtures on rows they have not seen, answer for any budget.

1. Rows are held out: each row once, in folds, or a quarter of them where rows are many.
2. For each part of held-out rows, candidates are trained on all other rows, 15 % of which decide when to stop.
3. All candidates are trained once more, on all rows, for the median number of steps. These are returned.
4. Held-out rows set the proportions of mixtures. What is measured on a row comes from proportions that were set without
   it, by :class:`fairlevel.estimators.evaluation.Evaluation`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Flags, Index
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.candidates.constant import FAMILY
from fairlevel.candidates.fitting import FittedCandidates, attributes_of, fitted_on_all_rows
from fairlevel.candidates.protocol import CandidateSource, Limits, Report, TrainingSetup, portion
from fairlevel.candidates.stopping import HeldOut
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.sensitive import Sensitive, refuse_one_profile
from fairlevel.data.table import Table
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.evaluated_rows import EvaluatedRows
from fairlevel.estimators.evaluation import FEWEST_ROWS, Calibration, Evaluation
from fairlevel.estimators.fitted_model import MeasuredRows
from fairlevel.estimators.selection_budget import SelectionBudget, SelectionShare
from fairlevel.exceptions import BudgetOutOfReach, Diverged, InvalidInput
from fairlevel.fronts.combiners import CandidateChoice, Combiner
from fairlevel.fronts.stacking import without_small_proportions
from fairlevel.metrics.interval import DPVarInterval
from fairlevel.models.model import Model
from fairlevel.progress import stage

TRAINING = "training candidates"  # the stage that takes longest
POINTS = 12  # of a front
FOLDS = 3
TWO_FOLDS_FROM = 8000  # rows
ONE_SPLIT_FROM = 40_000  # rows: a part is held out, not each row once
EVALUATED = 0.25  # that part
EARLY_STOPPING = 0.15  # share of the training rows that decide when to stop


@dataclass(frozen=True)
class PathSettings:
    """What a path is fitted with. Only ``unseen`` rows, (row,), are held out; None stands for all. The model within the
    ``budget``, where there is one, becomes a further point of the front.
    """

    source: CandidateSource
    limits: Limits
    combiner: Combiner
    setup: TrainingSetup
    unseen: Flags | None = None
    budget: Budget | None = None


@dataclass(frozen=True)
class ChosenModel:
    """A model, its MSE and debiased DPVar on the selection rows, in units of y², and what it is mixed of: family,
    setting, weight and proportion, one row per candidate in use; ``proportions``, (candidate,), are those of all.
    """

    model: Model
    mse: float
    dpvar: float
    mixture: pd.DataFrame
    proportions: Array


@dataclass(frozen=True)
class PathFit:
    """A fitted path. It holds candidates and sums over rows, and no row.

    Parameters
    ----------
    fitted : candidates that all rows have trained
    choice : sets their proportions for a budget on selection rows
    points : the budget on selection rows of each point of the front, by rising disparity
    calibrations : from a user's budget to one on selection rows, by the name of the user's budget
    y_scale : standard deviation of y; ``choice`` and ``points`` are in units of it
    cross_fitted : whether each row was held out once
    asked : the number of the point within the budget that was asked for; None where there was none, or where it is out
        of reach
    """

    fitted: FittedCandidates
    choice: CandidateChoice
    points: tuple[SelectionBudget, ...]
    calibrations: dict[str, Calibration]
    y_scale: float
    cross_fitted: bool
    asked: int | None = None

    @property
    def encoder(self) -> TableEncoder | None:
        """The encoder that all rows have fitted, where there is one."""
        return None if self.fitted.encoding is None else self.fitted.encoding.encoder

    def model(self, budget: SelectionBudget) -> ChosenModel:
        """The mixture within a budget on selection rows, without proportions below 0.001."""
        proportions = without_small_proportions(budget.mixture(self.choice).proportions)
        figures, variance = self.choice.figures(proportions), self.y_scale**2
        used = proportions > 0
        mixture = self.fitted.candidates.table.loc[used, ["family", "setting", "weight"]]
        mixture = mixture.assign(proportion=proportions[used]).reset_index(drop=True)
        model = self.fitted.model(proportions)
        return ChosenModel(model, figures.mse * variance, figures.dpvar * variance, mixture, proportions)

    def within(self, budget: Budget) -> ChosenModel:
        """The mixture that keeps a user's budget on unseen rows, margin included."""
        return self.model(self.calibrations[budget.name].selection_budget(budget))


@dataclass(frozen=True)
class HeldOutPredictions:
    """The rows that candidates were evaluated on, by their numbers in the table, (row,), and the predictions there of
    candidates that were trained without them, in units of y, (candidate, row).
    """

    numbers: Index
    predictions: Array

    def of(self, chosen: ChosenModel) -> MeasuredRows:
        """What the figures of a chosen model are measured on."""
        return MeasuredRows(self.numbers, chosen.proportions @ self.predictions)


@dataclass(frozen=True)
class ReportingRows:
    """The models of a front on rows that neither trained them nor set their proportions, in units of y.

    Shapes: predictions (model, row), fitted means E[f|A] (model, row), target (row,); ``attributes`` of the rows as
    metrics read them, ``sensitive`` as they were given; one interval per model.
    """

    predictions: Array
    conditional_means: Array
    target: Array
    attributes: Attributes
    sensitive: Sensitive
    intervals: list[DPVarInterval]


def fit_path(table: Table, settings: PathSettings, report: Report) -> tuple[PathFit, ReportingRows]:
    """Train and evaluate candidates, and measure every point of the front."""
    found = _trained_and_evaluated(table, settings, report)
    evaluation, rows = found.evaluation, found.evaluation.rows
    points, intervals, predictions = list(evaluation.budgets), list(evaluation.intervals), evaluation.predictions
    asked, place = _asked(evaluation, settings.budget), None
    if asked is not None and asked.limit == np.inf:
        place = len(points) - 1  # the most accurate model keeps the budget
    elif asked is not None:
        alone = replace(evaluation, budgets=[asked])
        place = int(np.searchsorted([each.limit for each in points], asked.dpvar(rows.choice)))
        points.insert(place, asked)
        intervals.insert(place, alone.intervals[0])
        predictions = np.insert(predictions, place, alone.predictions[0], axis=0)
    shown = predictions * evaluation.y_scale + found.y_mean
    means = rows.mean.fitted(shown, rows.attributes, settings.setup.seed)
    assert found.rows.sensitive is not None
    reporting = ReportingRows(shown, means, found.rows.y, attributes_of(found.rows), found.rows.sensitive, intervals)
    return found.path_fit(points, (SelectionBudget.name, SelectionShare.name), place), reporting


def fit_within(table: Table, settings: PathSettings, name: str, report: Report) -> tuple[PathFit, HeldOutPredictions]:
    """Train and evaluate candidates for budgets of one name; the points of the front are not measured."""
    found = _trained_and_evaluated(table, settings, report)
    return found.path_fit(found.evaluation.budgets, (name,)), found.held_out


def _asked(evaluation: Evaluation, budget: Budget | None) -> SelectionBudget | None:
    """The budget on selection rows that keeps a user's; None, and a warning, where it is out of reach: the front is
    kept.
    """
    if budget is None:
        return None
    try:
        return evaluation.calibration(budget.name).selection_budget(budget)
    except InvalidInput as error:
        warnings.warn(BudgetOutOfReach(str(error)), stacklevel=4)  # the caller of fit
        return None


@dataclass(frozen=True)
class _EvaluatedCandidates:
    """Candidates that all rows have trained, and what held-out rows say of their mixtures.

    ``rows`` is the table of the held-out rows, ``cross_fitted`` says whether these are all rows.
    """

    fitted: FittedCandidates
    held_out: HeldOutPredictions
    rows: Table
    evaluation: Evaluation
    y_mean: float
    cross_fitted: bool

    def path_fit(self, points: Sequence[SelectionBudget], names: Sequence[str], asked: int | None = None) -> PathFit:
        """With the calibrations of the budgets of these names."""
        calibrations = {name: self.evaluation.calibration(name) for name in names}
        choice, y_scale = self.evaluation.rows.choice, self.evaluation.y_scale
        return PathFit(self.fitted, choice, tuple(points), calibrations, y_scale, self.cross_fitted, asked)


def _trained_and_evaluated(table: Table, settings: PathSettings, report: Report) -> _EvaluatedCandidates:
    seed = settings.setup.seed
    eligible = _eligible_rows(table, settings.unseen)
    cross_fitted = len(eligible) < ONE_SPLIT_FROM and not table.splits.in_time
    parts = _folds(table, eligible, seed) if cross_fitted else _one_split(table, eligible, seed)
    fitted, held_out = _trained(table, settings, parts, report)
    stage("choosing mixtures of them")
    y_mean = float(table.weight @ table.y)
    y_scale = float(np.sqrt(table.weight @ (table.y - y_mean) ** 2)) or 1.0
    rows, standard = table.rows(held_out.numbers), (held_out.predictions - y_mean) / y_scale
    target = (rows.y - y_mean) / y_scale
    fold = _fold_numbers(parts) if cross_fitted else rows.splits.folds(FOLDS, seed)
    evaluated = EvaluatedRows.of(standard, target, attributes_of(rows), fold, settings.combiner, seed)
    budgets = SelectionBudget.grid(evaluated.choice, POINTS)
    stage("measuring the front on rows that it has not seen")
    return _EvaluatedCandidates(
        fitted, held_out, rows, Evaluation(evaluated, budgets, y_scale), y_mean, cross_fitted=cross_fitted
    )


def _eligible_rows(table: Table, unseen: Flags | None) -> Index:
    """The numbers of the rows that may be held out: unseen ones with known attributes."""
    rows = np.arange(len(table)) if unseen is None else np.flatnonzero(unseen)
    rows = np.intersect1d(rows, table.known_rows)
    if len(rows) < FEWEST_ROWS:
        kind = "rows" if unseen is None else "unseen rows"
        kind = kind if table.known is None else f"{kind} with sensitive attributes"
        raise InvalidInput(f"{len(rows)} {kind} were given; a path needs at least {FEWEST_ROWS} to choose by.")
    refuse_one_profile(table.attributes[rows])
    return rows


def _folds(table: Table, rows: Index, seed: int) -> list[Index]:
    """All these rows in folds, by their numbers; candidates are trained on all other rows for each fold."""
    count = FOLDS if len(rows) < TWO_FOLDS_FROM else 2
    fold = table.splits.take(rows).folds(count, seed)
    return [rows[fold == number] for number in range(count)]


def _one_split(table: Table, rows: Index, seed: int) -> list[Index]:
    """A quarter of these rows, by their numbers, as a single part."""
    return [rows[table.splits.take(rows).split_off(EVALUATED, seed)[1]]]


def _fold_numbers(parts: Sequence[Index]) -> Index:
    """The number of its part for each held-out row, part after part. Proportions for one part are set on the others,
    whose predictions come from other trainings of the candidates; so it is with the returned model, whose candidates
    are trained once more. Folds of another draw would set proportions on the very trainings that are evaluated.
    """
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _trained(
    table: Table, settings: PathSettings, parts: Sequence[Index], report: Report
) -> tuple[FittedCandidates, HeldOutPredictions]:
    """Candidates that all rows have trained, and the predictions of the same candidates on held-out rows, trained
    without them. Candidates that diverged anywhere are left out.
    """
    trainings = len(parts) + 1
    found: list[tuple[CandidateSet, Array]] = []  # of each part, with predictions (candidate, row of the part)
    for number, part in enumerate(parts):
        others = table.rows(table.splits.others(part))
        progress = portion(report, number, trainings)
        fitted = HeldOut(EARLY_STOPPING).fit(others, settings.source, settings.setup, settings.limits, progress)
        found.append((fitted.candidates, fitted.predict(table.x[part])))
    steps = _median_steps([candidates for candidates, _ in found])
    progress = portion(report, len(parts), trainings)
    kept = fitted_on_all_rows(table, settings.source, settings.setup, settings.limits, steps, progress)
    usable = np.logical_and.reduce([kept.candidates.usable, *(candidates.usable for candidates, _ in found)])
    if not usable.any():
        raise Diverged(
            "Training diverged for every candidate; lower the step size, such as optimizer=Adam(learning_rate=0.001)."
        )
    predictions = np.concatenate([of_part[usable] for _, of_part in found], axis=1)
    constant = kept.candidates.table["family"].eq(FAMILY).to_numpy()[usable]
    predictions[constant] = predictions[constant].mean(axis=1, keepdims=True)  # else it would vary between folds
    kept = replace(kept, candidates=kept.candidates.only(np.flatnonzero(usable)))
    return kept, HeldOutPredictions(np.concatenate(parts), predictions)


def _median_steps(found: Sequence[CandidateSet]) -> dict[CandidateKey, int]:
    """For each candidate the median number of steps after which it ended."""
    counts = np.stack([candidates.table["steps"].to_numpy() for candidates in found])
    median = np.maximum(1, np.round(np.median(counts, axis=0))).astype(int)
    return dict(zip(found[0].keys, median.tolist(), strict=True))
