"""The parameters that estimators share, from what users may write to what a fit needs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fairlevel.arrays import Array, Flags
from fairlevel.candidates import PATH_LIMITS, CandidateSource, Limits, TrainingSetup, resolve_candidates
from fairlevel.candidates.own_models import any_frozen, check_models
from fairlevel.candidates.protocol import Recipe
from fairlevel.candidates.sources import ON_ONE_PREDICTOR
from fairlevel.estimators.fair_estimator import network_by_default
from fairlevel.estimators.path_fit import PathSettings
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName, UnusedOptimizer
from fairlevel.extras import networks
from fairlevel.fronts.combiners import Combiner, Stacked
from fairlevel.losses import Loss, SquaredLoss
from fairlevel.penalties import Penalty
from fairlevel.predictors import Boosting, Predictor, resolve_predictor

OPTIMIZERS = ("adam", "gd")
"""Optimisers of networks that can be asked for by name."""

DEVICES = ("auto", "cpu", "cuda")

NO_LIMITS = Limits(models=10**12, settings=10**4, weights=10**4)


def draw_seed(random_state: Any) -> int:
    """A seed drawn from what scikit-learn accepts as ``random_state``: a generator moves on, and an integer gives
    another one, always the same.
    """
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is neither the name of an optimiser nor one."""
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZERS:
            raise UnknownName("optimizer", optimizer, OPTIMIZERS)
    elif isinstance(optimizer, type) or not (hasattr(optimizer, "update") and hasattr(optimizer, "steps")):
        raise InvalidType(
            f"optimizer={optimizer!r} was given; 'adam', 'gd' or an object such as Adam(steps=2000) is needed."
        )


def training_setup(predictor: Any, optimizer: Any, device: str, seed: int, loss: Loss | None = None) -> TrainingSetup:
    """What candidates are trained with; without a loss, with the squared one."""
    check_optimizer(optimizer)
    if device not in DEVICES:
        raise UnknownName("device", device, DEVICES)
    learner, rule = resolve_predictor(predictor), None
    if learner.uses_optimizer:
        rule = networks("optimizers").OPTIMIZERS[optimizer]() if isinstance(optimizer, str) else optimizer
    return replace(TrainingSetup.at_rate_of(learner, rule, seed, device), loss=loss or SquaredLoss())


def default_predictor(
    predictor: Any,
    solver: str | Penalty | CandidateSource,
) -> Predictor:
    """The predictor given; without one, boosting or a network."""
    if predictor is None:
        return resolve_predictor("mlp") if network_by_default(solver) else Boosting()
    return resolve_predictor(predictor)


def warn_of_unused(
    optimizer: Any,
    predictor: Predictor,
    solver: str | Penalty | CandidateSource,
    given: bool,
    stacklevel: int,
) -> None:
    """Networks alone have an optimiser; an own source of candidates may hold some. ``stacklevel`` counts from the
    caller of this function up to the caller of fit.
    """
    check_optimizer(optimizer)
    if not predictor.uses_optimizer and optimizer != "adam" and not isinstance(solver, CandidateSource):
        warnings.warn(
            f"optimizer={optimizer!r} changes nothing: {predictor.name} has no optimiser. Pass "
            "predictor=Boosting(learning_rate=..., rounds=...), or predictor='mlp' for a network.",
            UnusedOptimizer,
            stacklevel=stacklevel + 1,
        )


def path_settings(
    solver: str | Penalty | CandidateSource, combiner: Combiner | None, setup: TrainingSetup, predictor_given: bool
) -> PathSettings:
    """What a path is fitted with; candidates that were defined by the user are all trained."""
    if combiner is not None and (not isinstance(combiner, Combiner) or isinstance(combiner, type)):
        raise InvalidType(f"combiner={combiner!r} was given; Stacked() or Best() is needed.")
    if predictor_given and solver in ("boosting", "relevel") and setup.predictor != Boosting():
        raise InvalidInput(
            f"solver={solver!r} trains boosters of its own, so that predictor={setup.predictor} would change nothing; "
            "use solver='auto' or the name of a penalty with it."
        )
    limits = PATH_LIMITS if isinstance(solver, str) else NO_LIMITS
    source = ON_ONE_PREDICTOR if solver == "auto" and predictor_given else resolve_candidates(solver)
    return PathSettings(Recipe(source, setup, limits), combiner or Stacked())


def own_models(models: Any, unseen: Any, rows: int, classes: Array | None) -> tuple[tuple[Any, ...], Flags | None]:
    """A user's own models, and which rows they were not trained on, (given row,), or None where none is frozen; from
    what ``FairnessPath`` and its ``fit`` were given. ``classes`` are the two of y, (class,), or None.
    """
    checked = check_models(models, classes)
    if not any_frozen(checked):
        if unseen is not None:
            raise InvalidInput("unseen was given, but models holds no FrozenEstimator; leave unseen=None.")
        return checked, None
    if unseen is None or unseen is False:
        raise InvalidInput(
            "models holds a FrozenEstimator, which is judged on rows that it was not trained on; pass fit(..., "
            "unseen=True), or an array of booleans that says which rows are unseen."
        )
    flags = np.ones(rows, dtype=bool) if unseen is True else np.asarray(unseen)
    if flags.dtype != bool or flags.shape != (rows,):
        raise InvalidInput(
            f"unseen has type {flags.dtype} and shape {flags.shape}; True is needed, or one boolean for each of the "
            f"{rows} rows."
        )
    return checked, flags
