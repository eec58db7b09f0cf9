"""From a table to a front: train candidates, evaluate them on rows they have not seen, and answer for any budget.

Candidates are trained on some rows and evaluated on others; some of the training rows decide when to stop. Where rows
are few, this is done for each fold, so that every row is held out once. The candidates that are kept are trained once
more, on all rows, for as many steps as were best. The figures of a held-out row come from proportions that were
set without it.
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
from fairlevel.data.sensitive import refuse_one_profile
from fairlevel.data.table import Table
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.evaluation import (
    FEWEST_ROWS,
    POINTS,
    Calibration,
    EvaluatedRows,
    Evaluation,
    SelectionBudget,
    SelectionShare,
    pruned,
    selection_budget,
)
from fairlevel.estimators.fitted_model import MeasuredRows
from fairlevel.exceptions import BudgetOutOfReach, Diverged, InvalidInput
from fairlevel.fronts.combiners import CandidateChoice, Combiner
from fairlevel.metrics.interval import DPVarInterval
from fairlevel.models.model import Model
from fairlevel.progress import stage

TRAINING = "training candidates"  # the stage that takes longest
FOLDS = 3
HALVES = 8000  # rows for which two folds are enough
HELD_OUT_IN_PART = 40_000  # rows of which a part is held out, not all in turn
HELD_OUT = 0.25  # that part
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
class SelectionRows:
    """The rows that candidates were evaluated on, by their numbers in the table, (row,), and the predictions there of
    candidates that were trained without them, in units of y, (candidate, row).
    """

    numbers: Index
    predictions: Array

    def of(self, chosen: ChosenModel) -> MeasuredRows:
        """What the figures of a chosen model are measured on."""
        return MeasuredRows(self.numbers, chosen.proportions @ self.predictions)


@dataclass(frozen=True)
class PathFit:
    """A fitted path. It holds candidates and sums over rows, and no row. ``asked`` is the number of the point within
    the budget that was asked for; None where there was none, or where it is out of reach.
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
        """The choice within a budget on selection rows."""
        chosen = pruned(self.choice, budget)
        variance = self.y_scale**2
        used = chosen.proportions > 0
        mixture = self.fitted.candidates.table.loc[used, ["family", "setting", "weight"]]
        mixture = mixture.assign(proportion=chosen.proportions[used]).reset_index(drop=True)
        model = self.fitted.model(chosen.proportions)
        return ChosenModel(model, chosen.mse * variance, chosen.dpvar * variance, mixture, chosen.proportions)

    def within(self, budget: Budget) -> ChosenModel:
        """The choice that keeps a user's budget on unseen rows, margin included."""
        return self.model(selection_budget(self.calibrations[budget.name], budget))


@dataclass(frozen=True)
class ReportingRows:
    """The models of a front on rows that neither trained them nor set their proportions, in units of y.

    Shapes: predictions (model, row), fitted means E[f|A] (model, row), target (row,), attributes of the rows; one
    interval per model.
    """

    predictions: Array
    conditional_means: Array
    target: Array
    attributes: Attributes
    intervals: list[DPVarInterval]


@dataclass(frozen=True)
class _EvaluatedCandidates:
    """Candidates that all rows have trained, and what held-out rows say of their mixtures."""

    fitted: FittedCandidates
    evaluation: Evaluation
    rows: Table
    selection: SelectionRows
    y_mean: float
    cross_fitted: bool

    def fit(self, points: Sequence[SelectionBudget], names: Sequence[str], asked: int | None = None) -> PathFit:
        """With the calibrations of the budgets of these names."""
        calibrations = {name: self.evaluation.calibration(name) for name in names}
        choice, y_scale = self.evaluation.rows.choice, self.evaluation.y_scale
        return PathFit(self.fitted, choice, tuple(points), calibrations, y_scale, self.cross_fitted, asked)


def fit_within(table: Table, settings: PathSettings, name: str, report: Report) -> tuple[PathFit, SelectionRows]:
    """Train and evaluate for budgets of one name; figures of the points of the front are not measured."""
    found = _evaluated(table, settings, report)
    return found.fit(found.evaluation.budgets, (name,)), found.selection


def fit_path(table: Table, settings: PathSettings, report: Report) -> tuple[PathFit, ReportingRows]:
    """Train, evaluate, calibrate and measure."""
    found = _evaluated(table, settings, report)
    evaluation, evaluated, y_scale = found.evaluation, found.evaluation.rows, found.evaluation.y_scale
    names = (SelectionBudget.name, SelectionShare.name)
    points, intervals, number = list(evaluation.budgets), list(evaluation.intervals), None
    standard = evaluation.predictions
    asked = None if settings.budget is None else _asked(evaluation, settings.budget)
    if asked is not None and asked.most == np.inf:
        number = len(points) - 1  # the most accurate one keeps it
    elif asked is not None:
        alone = replace(evaluation, budgets=[asked])
        number = int(np.searchsorted([each.most for each in points], asked.dpvar(evaluated.choice)))
        points.insert(number, asked)
        intervals.insert(number, alone.intervals[0])
        standard = np.insert(standard, number, alone.predictions[0], axis=0)
    shown = standard * y_scale + found.y_mean
    means = evaluated.mean.fitted(shown, evaluated.attributes, settings.setup.seed)
    reporting = ReportingRows(shown, means, found.rows.y, attributes_of(found.rows), intervals)
    return found.fit(points, names, number), reporting


def _evaluated(table: Table, settings: PathSettings, report: Report) -> _EvaluatedCandidates:
    seed, eligible = settings.setup.seed, np.arange(len(table))
    if settings.unseen is not None:
        eligible = np.flatnonzero(settings.unseen)
    eligible = np.intersect1d(eligible, table.known_rows)
    if len(eligible) < FEWEST_ROWS:
        kind = "rows" if settings.unseen is None else "unseen rows"
        kind = kind if table.known is None else f"{kind} with sensitive attributes"
        raise InvalidInput(f"{len(eligible)} {kind} were given; a path needs at least {FEWEST_ROWS} to choose by.")
    refuse_one_profile(table.attributes[eligible])
    few = len(eligible) < HELD_OUT_IN_PART and not table.splits.in_time
    parts = _parts(table, eligible, few, seed)
    fitted, selection, predictions = _trained(table, settings, parts, report)
    stage("choosing mixtures of them")
    y_mean = float(table.weight @ table.y)
    y_scale = float(np.sqrt(table.weight @ (table.y - y_mean) ** 2)) or 1.0
    chosen_on, standard = table.rows(selection), (predictions - y_mean) / y_scale
    target = (chosen_on.y - y_mean) / y_scale
    fold = _fold_numbers(parts) if few else chosen_on.splits.folds(FOLDS, seed)
    evaluated = EvaluatedRows.of(standard, target, attributes_of(chosen_on), fold, settings.combiner, seed)
    budgets = SelectionBudget.points(evaluated.choice, POINTS)
    stage("measuring the front on rows that it has not seen")
    evaluation, selected = Evaluation(evaluated, budgets, y_scale), SelectionRows(selection, predictions)
    return _EvaluatedCandidates(fitted, evaluation, chosen_on, selected, y_mean, few)


def _asked(evaluation: Evaluation, budget: Budget) -> SelectionBudget | None:
    """The budget on selection rows that keeps a user's; a warning where it is out of reach: the front is kept."""
    try:
        return selection_budget(evaluation.calibration(budget.name), budget)
    except InvalidInput as error:
        warnings.warn(BudgetOutOfReach(str(error)), stacklevel=4)  # the caller of fit
        return None


def _parts(table: Table, rows: Index, few: bool, seed: int) -> list[Index]:
    """Row numbers that are evaluated together, by candidates that all others train: every row where they are few."""
    splits = table.splits.take(rows)
    if few:
        count = FOLDS if len(rows) < HALVES else 2
        fold = splits.folds(count, seed)
        return [rows[fold == number] for number in range(count)]
    return [rows[splits.split_off(HELD_OUT, seed)[1]]]


def _fold_numbers(parts: Sequence[Index]) -> Index:
    """The number of its part for each held-out row, part after part. Proportions for one part are set on the others,
    whose predictions come from other trainings of the candidates; so it is with the returned model, whose candidates
    are trained once more. Folds of another draw would set proportions on the very trainings that are evaluated.
    """
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _trained(
    table: Table, settings: PathSettings, parts: Sequence[Index], report: Report
) -> tuple[FittedCandidates, Index, Array]:
    """Candidates that all rows have trained; the held-out rows; and the predictions there of the same candidates,
    trained without them, (candidate, row). Candidates that diverged anywhere are left out.
    """
    found: list[tuple[CandidateSet, Array]] = []
    for number, part in enumerate(parts):
        others = table.rows(table.splits.others(part))
        own = portion(report, number, len(parts) + 1)
        fitted = HeldOut(EARLY_STOPPING).fit(others, settings.source, settings.setup, settings.limits, own)
        found.append((fitted.candidates, fitted.predict(table.x[part])))
    steps = _median_steps([candidates for candidates, _ in found])
    last = portion(report, len(parts), len(parts) + 1)
    kept = fitted_on_all_rows(table, settings.source, settings.setup, settings.limits, steps, last)
    usable = np.logical_and.reduce([kept.candidates.usable, *(candidates.usable for candidates, _ in found)])
    if not usable.any():
        raise Diverged(
            "Training diverged for every candidate; lower the step size, such as optimizer=Adam(learning_rate=0.001)."
        )
    predictions = np.concatenate([own[usable] for _, own in found], axis=1)
    constant = kept.candidates.table["family"].eq(FAMILY).to_numpy()[usable]
    predictions[constant] = predictions[constant].mean(axis=1, keepdims=True)  # else it would vary between folds
    return replace(kept, candidates=kept.candidates.only(np.flatnonzero(usable))), np.concatenate(parts), predictions


def _median_steps(found: Sequence[CandidateSet]) -> dict[CandidateKey, int]:
    """For each candidate the median number of steps after which it ended."""
    counts = np.stack([candidates.table["steps"].to_numpy() for candidates in found])
    median = np.maximum(1, np.round(np.median(counts, axis=0))).astype(int)
    return dict(zip(found[0].keys, median.tolist(), strict=True))
