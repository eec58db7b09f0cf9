"""Training of one model: at a weight, or within a budget."""

from __future__ import annotations

import numpy as np

from fairlevel.candidates import SOURCES, CandidateSource, PenaltyGrid, TrainingSetup
from fairlevel.candidates.fitting import (
    FittedCandidates,
    attributes_of,
    fitted_on_all_rows,
    fitted_with_held_out,
    refitted,
)
from fairlevel.candidates.protocol import Recipe, Report, for_columns
from fairlevel.candidates.stopping import every_row_once, split_rows
from fairlevel.data.table import Table
from fairlevel.estimators.fair_estimator import FairEstimator
from fairlevel.estimators.fitted_model import FittedModel, JudgedModel
from fairlevel.estimators.path_fit import TRAINING, evaluated_path
from fairlevel.estimators.reading import read_weight
from fairlevel.estimators.settings import NO_LIMITS, default_predictor, path_settings, training_setup
from fairlevel.exceptions import Diverged, InvalidInput, MissingSensitiveFeatures
from fairlevel.fronts.budget import Budget
from fairlevel.losses import Loss
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.penalties import Penalty, resolve_penalty
from fairlevel.progress import share_of, shown

EARLY_STOPPING = 0.2  # of the rows, for early stopping, where nothing else was asked for
FEWEST_TO_SPLIT = 20  # rows
FEW_ROWS = 1500  # up to here every row is held out once: a fifth of them would be too few to decide


def train_model(settings: FairEstimator, table: Table, loss: Loss, budget: Budget | None, seed: int) -> JudgedModel:
    """One model: at a weight, or the most accurate one within a budget."""
    predictor = default_predictor(settings.predictor, settings.penalty)
    predictor = for_columns(predictor, table.categorical)
    setup = training_setup(predictor, settings.optimizer, settings.device, seed, loss)
    if budget is None:
        return _train_weight(settings, read_weight(settings.weight, table.sensitive is not None), table, setup)
    if table.sensitive is None:
        raise MissingSensitiveFeatures(
            f"{budget.name}={budget.limit:g} asks for fairness, but fit got no sensitive_features. "
            "Pass fit(X, y, sensitive_features=A)."
        )
    path = path_settings(settings.penalty, settings.combiner, setup, settings.predictor is not None)
    with shown(settings.verbose > 0):
        return evaluated_path(table, path, share_of(TRAINING)).within(budget)


def _train_weight(settings: FairEstimator, weight: float, table: Table, setup: TrainingSetup) -> JudgedModel:
    """One model at one weight."""
    recipe = Recipe(PenaltyGrid.over(_one_penalty(settings.penalty), (weight,)), setup, NO_LIMITS)
    with shown(settings.verbose > 0):
        fitted = _trained(settings.validation_fraction, table, recipe, share_of("training the model"))
    return _only_candidate(fitted, table, weight)


def _trained(fraction: float | str | None, table: Table, recipe: Recipe, report: Report) -> FittedCandidates:
    """With early stopping as asked for; else all rows train once more after it, if there are rows to spare."""
    if fraction is None or (fraction == "auto" and len(table) < FEWEST_TO_SPLIT):
        return fitted_on_all_rows(table, recipe, None, report)
    if fraction != "auto":
        return fitted_with_held_out(table, recipe, fraction, report)  # type: ignore[arg-type]
    splits, seed, many = table.splits, recipe.setup.seed, len(table) > FEW_ROWS
    once = [split_rows(splits, EARLY_STOPPING, seed)] if many or splits.in_time else None
    setups = recipe.setup.choices() if many else [recipe.setup]
    return refitted(table, recipe, once or every_row_once(splits, EARLY_STOPPING, seed), setups, report)


def _only_candidate(fitted: FittedCandidates, table: Table, weight: float) -> JudgedModel:
    """The model of the only candidate, with its figures on the table."""
    row = fitted.candidates.table.iloc[0]
    if not fitted.candidates.usable[0]:
        raise Diverged(
            f"Training diverged (loss {row['loss']:.3g} times that of a constant prediction); lower the step size, "
            "such as optimizer=Adam(learning_rate=0.001), or the weight."
        )
    ((trace, _),) = fitted.candidates.histories
    prediction = fitted.predict(table.x)[0]
    mse = float(table.weight @ (prediction - table.y) ** 2)
    dpvar = None
    if table.sensitive is not None:
        known = table if table.known is None else table.rows(table.known_rows)
        dpvar = float(dpvar_of_many(prediction[None, table.known_rows], attributes_of(known))[0])
    model = FittedModel(fitted.model(np.ones(1)), mse, dpvar, weight, int(row["steps"]), trace, fitted.encoder)
    return JudgedModel(model, np.arange(len(table)), prediction)


def _one_penalty(penalty: str | Penalty | CandidateSource) -> Penalty:
    """A penalty; a source of several candidates needs a budget to choose by."""
    if isinstance(penalty, CandidateSource) or (isinstance(penalty, str) and penalty in SOURCES):
        raise InvalidInput(
            f"penalty={penalty!r} stands for several candidates, which need a budget to choose by: set max_dpvar or "
            "max_share, or name one penalty, such as 'fbo_closed'."
        )
    return resolve_penalty(penalty)
