"""From a table to a front: train candidates, evaluate their mixtures on rows they have not seen, answer for any budget.

1. Rows are held out: each row once, in folds, or a quarter of them where rows are many.
2. For each part of held-out rows, candidates are trained on all other rows, 15 % of which decide when to stop.
3. All candidates are trained once more, on all rows, for the median number of steps. These are returned.
4. Held-out rows set the proportions of mixtures. What is measured on a row comes from proportions that were set without
   it, by :class:`fairlevel.fronts.evaluation.Evaluation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairlevel.arrays import Array, Flags, Index
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.candidates.combined import CONSTANT
from fairlevel.candidates.fitting import FittedCandidates, attributes_of, fitted_on_all_rows, fitted_with_held_out
from fairlevel.candidates.protocol import Recipe, Report, portion
from fairlevel.data.sensitive import refuse_one_profile
from fairlevel.data.table import Table
from fairlevel.estimators.fitted_model import FittedModel, JudgedModel
from fairlevel.exceptions import Diverged, InvalidInput
from fairlevel.fronts.budget import DPVAR, SHARE, Budget
from fairlevel.fronts.combiners import CandidateChoice, Combiner, without_small_proportions
from fairlevel.fronts.evaluation import FEWEST_ROWS, Calibration, Evaluation, Points
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
    """What a path is fitted with. Only ``unseen`` rows, (row,), are held out; None stands for all."""

    recipe: Recipe
    combiner: Combiner
    unseen: Flags | None = None


@dataclass(frozen=True)
class PathFit:
    """What a path keeps: candidates that all rows have trained, the choice of their proportions, and how to get from a
    user's budget to one on the rows that set them, by its name. It holds sums over rows, and no row. ``scale`` is the
    standard deviation of y.
    """

    fitted: FittedCandidates
    choice: CandidateChoice
    calibrations: Mapping[str, Calibration]
    scale: float

    def within(self, budget: Budget) -> FittedModel:
        """The most accurate mixture that keeps a user's budget on unseen rows, margin included."""
        return self.model(self.calibrations[budget.name].budget(budget))

    def model(self, budget: Budget) -> FittedModel:
        """The mixture within a budget on the rows that set proportions, without proportions below 0.001."""
        proportions = without_small_proportions(self.choice.nearest(budget).proportions)
        figures, used = self.choice.figures(proportions), proportions > 0
        mixture = self.fitted.candidates.table.loc[used, ["family", "setting", "weight"]]
        return FittedModel(
            self.fitted.model(proportions),
            mse=figures.mse * self.scale**2,
            dpvar=figures.dpvar * self.scale**2,
            encoder=self.fitted.encoder,
            mixture=mixture.assign(proportion=proportions[used]).reset_index(drop=True),
            proportions=proportions,
        )


@dataclass(frozen=True)
class EvaluatedPath:
    """Candidates that all rows have trained, and what held-out rows say of the same candidates, trained without them.
    ``numbers`` are those of the held-out rows in the table, (row,); ``cross_fitted`` says whether each row was held out
    once.
    """

    fitted: FittedCandidates
    numbers: Index
    evaluation: Evaluation
    cross_fitted: bool

    def points(self) -> Points:
        """Of a front, evenly spaced in √DPVar."""
        return self.evaluation.points(self.evaluation.choice.grid(DPVAR, POINTS))

    def fit(self, *points: Points) -> PathFit:
        """What is kept; points calibrate budgets of their name."""
        calibrations = {of_name.budgets[0].name: self.evaluation.calibration(of_name) for of_name in points}
        return PathFit(self.fitted, self.evaluation.choice, calibrations, self.evaluation.scale)

    def within(self, budget: Budget) -> JudgedModel:
        """The most accurate mixture within a budget, and what candidates that have not seen the held-out rows predict
        there, mixed as in the model.
        """
        points = self.evaluation.points_of_shares() if budget.name == SHARE else self.points()
        model = self.fit(points).within(budget)
        return JudgedModel(
            model, self.numbers, self.evaluation.in_units(model.proportions @ self.evaluation.predictions)
        )


def evaluated_path(table: Table, settings: PathSettings, report: Report) -> EvaluatedPath:
    """Train candidates on all rows, and evaluate them on rows that they have not seen."""
    seed = settings.recipe.setup.seed
    eligible = _eligible_rows(table, settings.unseen)
    cross_fitted = len(eligible) < ONE_SPLIT_FROM and not table.splits.in_time
    parts = _folds(table, eligible, seed) if cross_fitted else _one_split(table, eligible, seed)
    fitted, predictions = _trained(table, settings, parts, report)
    stage("choosing mixtures of them")
    held_out = np.concatenate(parts)
    rows = table.rows(held_out)
    # Proportions for one part are set on the others, whose predictions come from other trainings of the candidates; so
    # it is with the returned model, whose candidates are trained once more. Folds of another draw would set proportions
    # on the very trainings that are evaluated.
    part_numbers = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    fold = part_numbers if cross_fitted else rows.splits.folds(FOLDS, seed)
    evaluation = Evaluation.of(predictions, rows.y, attributes_of(rows), fold, settings.combiner, seed)
    return EvaluatedPath(fitted, held_out, evaluation, cross_fitted)


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


def _trained(
    table: Table, settings: PathSettings, parts: Sequence[Index], report: Report
) -> tuple[FittedCandidates, Array]:
    """Candidates that all rows have trained, and predictions of the same candidates on the held-out rows, part after
    part, trained without them, (candidate, row). Candidates that diverged anywhere are left out.
    """
    recipe, trainings = settings.recipe, len(parts) + 1
    without: list[CandidateSet] = []  # one part each
    predictions: list[Array] = []  # (candidate, row of the part)
    for number, part in enumerate(parts):
        others = table.rows(table.splits.others(part))
        fitted = fitted_with_held_out(others, recipe, EARLY_STOPPING, portion(report, number, trainings))
        without.append(fitted.candidates)
        predictions.append(fitted.predict(table.x[part]))
    progress = portion(report, len(parts), trainings)
    complete = fitted_on_all_rows(table, recipe, _median_steps(without), progress)
    usable = np.logical_and.reduce([candidates.usable for candidates in (complete.candidates, *without)])
    if not usable.any():
        raise Diverged(
            "Training diverged for every candidate; lower the step size, such as optimizer=Adam(learning_rate=0.001)."
        )
    held_out = np.concatenate([of_part[usable] for of_part in predictions], axis=1)
    constant = complete.candidates.table["family"].eq(CONSTANT).to_numpy()[usable]
    held_out[constant] = held_out[constant].mean(axis=1, keepdims=True)  # else it would vary between folds
    return replace(complete, candidates=complete.candidates.only(np.flatnonzero(usable))), held_out


def _median_steps(trainings: Sequence[CandidateSet]) -> dict[CandidateKey, int]:
    """For each candidate the median number of steps after which it ended."""
    counts = np.stack([candidates.table["steps"].to_numpy() for candidates in trainings])
    median = np.maximum(1, np.round(np.median(counts, axis=0))).astype(int)
    return dict(zip(trainings[0].keys, median.tolist(), strict=True))
