"""Training of one model: at a weight, or within a budget."""

from __future__ import annotations

import numpy as np

from fairlevel.candidates import SOURCES, CandidateSource, PenaltyGrid, TrainingSetup
from fairlevel.candidates.fitting import FittedCandidates, attributes_of
from fairlevel.candidates.protocol import for_columns
from fairlevel.candidates.stopping import AllSteps, EveryRowOnce, HeldOut, OneSplit, RefitAfter, Stopping, as_given
from fairlevel.data.splitting import Splitting
from fairlevel.data.table import Table
from fairlevel.estimators.budget import Budget, require_sensitive
from fairlevel.estimators.fair_estimator import FairEstimator
from fairlevel.estimators.fitted_model import FittedModel, MeasuredRows
from fairlevel.estimators.path_fit import TRAINING, fit_within
from fairlevel.estimators.reading import read_weight
from fairlevel.estimators.settings import NO_LIMITS, default_predictor, path_settings, training_setup
from fairlevel.exceptions import Diverged, InvalidInput
from fairlevel.losses import Loss
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.penalties import Penalty, resolve_penalty
from fairlevel.progress import share_of, shown

EARLY_STOPPING = 0.2  # of the rows, for early stopping, where nothing else was asked for
FEWEST_TO_SPLIT = 20  # rows
FEW_ROWS = 1500  # up to here every row is held out once: a fifth of them would be too few to decide


def train_model(settings: FairEstimator, table: Table, loss: Loss, budget: Budget | None, seed: int) -> FittedModel:
    """One model: at a weight, or the most accurate one within a budget."""
    predictor = default_predictor(settings.predictor, settings.penalty)
    predictor = for_columns(predictor, table.categorical)
    setup = training_setup(predictor, settings.optimizer, settings.device, seed, loss)
    if budget is None:
        return _train_weight(settings, read_weight(settings.weight, table.sensitive is not None), table, setup)
    require_sensitive(budget, table.sensitive is not None)
    chosen_by = path_settings(settings.penalty, settings.combiner, setup, settings.predictor is not None)
    with shown(settings.verbose > 0):
        fit, held_out = fit_within(table, chosen_by, budget.name, share_of(TRAINING))
    chosen = fit.within(budget)
    return FittedModel(
        chosen.model,
        chosen.mse,
        chosen.dpvar,
        encoder=fit.encoder,
        mixture=chosen.mixture,
        measured=held_out.of(chosen),
    )


def _train_weight(settings: FairEstimator, weight: float, table: Table, setup: TrainingSetup) -> FittedModel:
    """One model at one weight."""
    with shown(settings.verbose > 0):
        grid = PenaltyGrid.over(_one_penalty(settings.penalty), (weight,))
        stopping = _stopping(settings.validation_fraction, table.splits)
        fitted = stopping.fit(table, grid, setup, NO_LIMITS, share_of("training the model"))
    return _only_candidate(fitted, table, weight)


def _held_out(validation_fraction: float | str | None, rows: int) -> float | None:
    """The share of the rows that is held out: as asked for; tables of a few rows have none to spare."""
    if validation_fraction != "auto":
        return validation_fraction  # type: ignore[return-value]
    return EARLY_STOPPING if rows >= FEWEST_TO_SPLIT else None


def _stopping(validation_fraction: float | str | None, splits: Splitting) -> Stopping:
    """Early stopping as asked for; else all rows train once more after it."""
    fraction = _held_out(validation_fraction, len(splits))
    if fraction is None:
        return AllSteps()
    if validation_fraction != "auto":
        return HeldOut(fraction)
    if len(splits) > FEW_ROWS:
        return RefitAfter(OneSplit(fraction), TrainingSetup.choices)
    return RefitAfter(OneSplit(fraction) if splits.in_time else EveryRowOnce(fraction), as_given)


def _only_candidate(fitted: FittedCandidates, table: Table, weight: float) -> FittedModel:
    """The model of the only candidate, with its figures on the table."""
    row = fitted.candidates.table.iloc[0]
    if not fitted.candidates.usable[0]:
        raise Diverged(
            f"Training diverged (loss {row['loss']:.3g} times that of a constant prediction); lower the step size, "
            "such as optimizer=Adam(learning_rate=0.001), or the weight."
        )
    model = fitted.model(np.ones(1))
    ((trace, _),) = fitted.candidates.histories
    prediction = model.predict(fitted.features(table.x))
    mse = float(table.weight @ (prediction - table.y) ** 2)
    dpvar = None
    if table.sensitive is not None:
        known = table if table.known is None else table.rows(table.known_rows)
        dpvar = float(dpvar_of_many(prediction[None, table.known_rows], attributes_of(known))[0])
    encoder = None if fitted.encoding is None else fitted.encoding.encoder
    measured = MeasuredRows(np.arange(len(table)), prediction)
    return FittedModel(model, mse, dpvar, weight, int(row["steps"]), trace, encoder, measured=measured)


def _one_penalty(penalty: str | Penalty | CandidateSource) -> Penalty:
    """A penalty; a source of several candidates needs a budget to choose by."""
    if isinstance(penalty, CandidateSource) or (isinstance(penalty, str) and penalty in SOURCES):
        raise InvalidInput(
            f"penalty={penalty!r} stands for several candidates, which need a budget to choose by: set max_dpvar or "
            "max_share, or name one penalty, such as 'fbo_closed'."
        )
    return resolve_penalty(penalty)
