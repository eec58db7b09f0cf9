"""FairRegressor: a scikit-learn regressor whose average prediction is level across sensitive attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.data.sensitive import encode_sensitive, refuse_shuffled, refuse_too_many_attributes
from fairlevel.data.splitting import split_off
from fairlevel.estimators._validation import (
    ordered_like_fit,
    read_weight,
    refuse_missing,
    refuse_missing_target,
    refuse_text,
    resolve_optimizer,
    warn_of_copies,
)
from fairlevel.estimators.batch_fit import TOLD, fit_in_batches, sample_rows
from fairlevel.estimators.budget import Budget, require_sensitive
from fairlevel.estimators.grid_fit import Figures, GridFit, Table
from fairlevel.estimators.model_file import read_model, write_model
from fairlevel.estimators.onnx_file import write_onnx
from fairlevel.estimators.path_fit import Chosen
from fairlevel.estimators.path_recipe import Recipe
from fairlevel.estimators.plain_values import from_plain, to_plain
from fairlevel.exceptions import Diverged, InvalidInput
from fairlevel.fronts.combiners import Combiner, Stacked
from fairlevel.libraries import SOLVERS, Solver
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties import NoPenalty, Penalty, resolve_penalty
from fairlevel.predictors import Predictor, resolve_predictor
from fairlevel.training.engine import Progress, train
from fairlevel.training.grid import Configurations, Samples
from fairlevel.training.outcome import Status
from fairlevel.training.tuning import tuned

_FIGURES = ("mse_", "dpvar_", "weight_", "n_iter_")  # what a file keeps of a fit, apart from the model


class FairRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Regression with a penalty on how much the average prediction moves across sensitive attributes.

    Minimises mean squared error + ``weight`` · penalty on standardised y. The sensitive attributes are needed in
    ``fit`` only.

    Parameters
    ----------
    weight : float or "auto", default="auto"
        Weight of the penalty, dimensionless because y is standardised inside. "auto" is 1 with sensitive features and
        0 without.
    max_dpvar, max_share : float, optional
        A budget instead of a weight: the largest DPVar (units of y²) or share of the prediction's variance on unseen
        rows. Candidates at many weights are trained and mixed by a convex programme that meets the budget exactly on
        rows they have not seen, with a margin for its own uncertainty; :class:`fairlevel.FairnessPath` shows the whole
        front.
    penalty : str or penalty object, default="fbo_closed"
        The name of a penalty ("fbo_closed", "fbo", "itd", "r2", "gdp", "hsic", "adversarial"), or an object such as
        ``ITD(steps=10)``. With a budget also a solver of :class:`fairlevel.FairnessPath`: "auto", "spectral".
    predictor : str or predictor object, default="mlp"
        "mlp", "linear", "random_features", or an object such as ``MLP(hidden=(32,))``.
    optimizer : str or optimiser object, default="adam"
        "adam", "gd", or an object such as ``Adam(learning_rate=3e-3, steps=2000)``.
    validation_fraction : float, optional
        Share of the rows held out for early stopping; None trains on all rows for all steps. A budget holds rows out in
        any case.
    batch_size : int, optional
        Rows of a step; None uses all of them. For tables of a million rows: X may then be a memory map (also
        :func:`fairlevel.data.memmaps.parquet_memmaps`), the optimiser's steps are batches, the conditional mean is kept
        as moving averages of moments, and ``mse_`` and ``dpvar_`` are told on 20,000 rows drawn at random. For the
        penalties "fbo_closed" and "hsic" (through random features), without budget or ``validation_fraction``.
    combiner : ``Stacked()`` or ``Best()``, optional
        With a budget: whether candidates are mixed (None and ``Stacked()``) or one is taken.
    device : {"auto", "cpu", "cuda"}, default="auto"
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    mse_ : float
        Mean squared error on the rows of ``fit``, in units of y².
    dpvar_ : float
        Debiased DPVar on the rows of ``fit``, in units of y²; only after a fit with sensitive features. Training
        adapts to these rows: judge a model on rows it has not seen, with :func:`fairlevel.dpvar_interval`.
    weight_ : float
        The penalty weight used: the one given, or what "auto" stood for; not after a fit with a budget.
    n_iter_ : int
        Optimisation steps behind the fitted parameters; not after a fit with a budget.
    trace_ : DataFrame
        Step, accuracy loss and penalty during training, in standardised units; not after a fit with a budget.
    model_ : the weighted sum of networks that predicts
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from fairlevel import FairRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = FairRegressor(weight=5.0, predictor="linear", random_state=0)
    >>> model = model.fit(X.drop(columns="age"), y, sensitive_features=X[["age"]])
    >>> model.predict(X.drop(columns="age")).shape
    (442,)
    """

    def __init__(
        self,
        weight: float | str = "auto",
        max_dpvar: float | None = None,
        max_share: float | None = None,
        penalty: str | Penalty | Solver = "fbo_closed",
        predictor: str | Predictor = "mlp",
        optimizer: str | Optimizer = "adam",
        validation_fraction: float | None = None,
        batch_size: int | None = None,
        combiner: Combiner | None = None,
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.weight = weight
        self.max_dpvar = max_dpvar
        self.max_share = max_share
        self.penalty = penalty
        self.predictor = predictor
        self.optimizer = optimizer
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.combiner = combiner
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> Self:
        """Train on (X, y), level across ``sensitive_features``.

        Parameters
        ----------
        X : array or frame of shape (rows, features)
        y : array of shape (rows,)
        sensitive_features : array or frame of shape (rows,) or (rows, attributes), numeric or categorical, matched to
            X by position; not needed
            by ``predict``
        """
        kinds = (np.float64,) if self.batch_size is None else (np.float64, np.float32)
        table = read_table(self, X, y, sensitive_features, kinds)
        budget = Budget.read(self.weight, self.max_dpvar, self.max_share)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if budget is not None:
            if self.batch_size is not None:
                raise InvalidInput("batch_size was given with a budget; budgets need all rows: set weight instead.")
            require_sensitive(budget, table.sensitive is not None)
            return self._fit_within(budget, table, seed)
        weight = read_weight(self.weight, table.sensitive is not None)
        fit, told = self._train_one(table, weight, seed)
        self._keep(fit, 0, fit.figures(told))
        self.weight_ = weight
        return self

    def _train_one(self, table: Table, weight: float, seed: int) -> tuple[GridFit, Table]:
        """The fit, on all rows at each step or in batches, and the rows that tell its figures."""
        if self.batch_size is None:
            return self._train(table, [weight], seed), table
        if self.validation_fraction is not None:
            raise InvalidInput("batch_size and validation_fraction were given; use one of them.")
        fit = fit_in_batches(
            table,
            weight,
            self.batch_size,
            _one_penalty(self.penalty),
            resolve_predictor(self.predictor),
            resolve_optimizer(self.optimizer),
            seed,
            self.device,
            _printed if self.verbose else None,
        )
        return fit, table.rows(sample_rows(len(table.y), TOLD, seed))

    def _fit_within(self, budget: Budget, table: Table, seed: int) -> Self:
        """The most accurate mixture within a budget on rows that set no shares."""
        combiner = Stacked() if self.combiner is None else self.combiner
        recipe = Recipe(self.penalty, combiner, self.predictor, self.optimizer, self.device, self.verbose)
        fit = recipe.fit(table, seed)
        (chosen,) = fit.choices([fit.level_within(budget)], table)
        return self.keep_mixture(chosen)

    def keep_mixture(self, chosen: Chosen) -> Self:
        """Store a choice of a fitted path as this estimator's model."""
        self.model_, self.mse_, self.dpvar_ = chosen.model, chosen.mse, chosen.dpvar
        for name in ("weight_", "n_iter_", "trace_"):
            self.__dict__.pop(name, None)
        return self

    def predict(self, X: Any) -> Array:
        """Predictions in units of y; the sensitive attributes are not needed."""
        check_is_fitted(self)
        X = ordered_like_fit(X, getattr(self, "feature_names_in_", None))
        refuse_text(X)
        x = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        refuse_missing("X", x, getattr(self, "feature_names_in_", None))
        return self.model_.predict(x)

    def save(self, folder: str | Path, *, overwrite: bool = False, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: arrays as safetensors, the rest as JSON; :func:`fairlevel.load` reads it.

        Parameters
        ----------
        folder : must not exist, unless ``overwrite``
        overwrite : replace a model that is there
        notes : anything that JSON can hold, kept with the model as ``notes_``
        """
        check_is_fitted(self)
        known = {name: getattr(self, name) for name in _FIGURES if hasattr(self, name)}
        names = getattr(self, "feature_names_in_", None)
        settings = self.get_params(deep=False)
        if not isinstance(settings["random_state"], int | np.integer):
            settings["random_state"] = None  # a generator has moved on since the fit
        description = {
            "settings": {name: to_plain(value) for name, value in settings.items()},
            "n_features": int(self.n_features_in_),
            "feature_names": None if names is None else [str(name) for name in names],
            "figures": known,
            "notes": dict(notes or getattr(self, "notes_", {})),
        }
        write_model(Path(folder), self.model_, description, overwrite)

    def to_onnx(self, path: str | Path) -> None:
        """Write the fitted model as an ONNX graph: input X (row, feature) in double, output the predictions."""
        check_is_fitted(self)
        write_onnx(self.model_, Path(path))

    def __sklearn_is_fitted__(self) -> bool:
        """An interrupted fit is no fit."""
        return hasattr(self, "model_")

    def _train(self, table: Table, weights: Sequence[float], seed: int, progress: Progress | None = None) -> GridFit:
        """Train one network per weight as one program."""
        optimizer = resolve_optimizer(self.optimizer)
        kept, held = self._split(len(table.y), seed)
        x_scaler, y_scaler = Scaler.fit(table.x[kept]), Scaler.fit(table.y[kept])
        a_scaler = None if table.sensitive is None else Scaler.fit(table.sensitive.values[kept])

        def samples(rows: Index, rows_in: int) -> Samples:
            sensitive = None
            if table.sensitive is not None and a_scaler is not None:
                sensitive = a_scaler.transform(table.sensitive.values[rows])
            x, y = x_scaler.transform(table.x[rows]), y_scaler.transform(table.y[rows])
            return Samples(x, y, sensitive, rows_in=rows_in)

        training = samples(kept, len(kept) // 2)
        penalty = _one_penalty(self.penalty)
        if training.sensitive is None:
            penalty = NoPenalty(rows=penalty.rows)
        else:
            penalty = tuned(penalty, training.sensitive, training.y, None, seed)
        trained = train(
            training,
            Configurations.of(list(weights), optimizer.learning_rate),
            predictor=resolve_predictor(self.predictor),
            penalty=penalty,
            optimizer=optimizer,
            held_out=samples(held, 0) if len(held) else None,
            seed=seed,
            device=self.device,
            progress=progress or (_printed if self.verbose else None),
        )
        return GridFit(trained, x_scaler, y_scaler)

    def _split(self, rows: int, seed: int) -> tuple[Index, Index]:
        fraction = self.validation_fraction
        if fraction is None:
            return np.random.default_rng(seed).permutation(rows), np.empty(0, dtype=np.int64)
        if isinstance(fraction, str) or not 0 < fraction < 1:
            raise InvalidInput(
                f"validation_fraction={fraction} was given; a number between 0 and 1 is needed, such as 0.2, or None."
            )
        return split_off(rows, fraction, seed)

    def _keep(self, fit: GridFit, config: int, figures: Figures) -> None:
        """Store configuration ``config`` of a trained grid as this estimator's model."""
        outcome = fit.trained.outcome
        if outcome.status[config] is Status.DIVERGED:
            raise Diverged(
                f"Training diverged (loss {float(outcome.loss[config]):.3g} times that of a constant prediction); "
                "lower the step size, such as optimizer=Adam(learning_rate=0.001), or the weight."
            )
        self.model_ = fit.model(config)
        self.n_iter_ = int(outcome.steps[config])
        self.trace_ = pd.DataFrame(
            {
                "step": outcome.trace.step.numpy(),
                "mse": outcome.trace.loss[:, config].numpy(),
                "penalty": outcome.trace.penalty[:, config].numpy(),
            }
        )
        self.mse_ = float(figures.mse[config])
        self.__dict__.pop("dpvar_", None)
        if not np.isnan(figures.dpvar[config]):
            self.dpvar_ = float(figures.dpvar[config])


def load(folder: str | Path) -> FairRegressor:
    """The fitted :class:`FairRegressor` that :meth:`FairRegressor.save` wrote; a file that was changed is refused."""
    model, description = read_model(Path(folder))
    estimator = FairRegressor(**{name: from_plain(value) for name, value in description["settings"].items()})
    estimator.model_ = model
    estimator.n_features_in_ = description["n_features"]
    if description.get("feature_names") is not None:
        estimator.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    for name in _FIGURES:
        if name in description.get("figures", {}):
            setattr(estimator, name, description["figures"][name])
    estimator.notes_ = description.get("notes", {})
    return estimator


def read_table(
    estimator: BaseEstimator, X: Any, y: Any, sensitive_features: Any, kinds: tuple[type, ...] = (np.float64,)
) -> Table:
    """Validate input as scikit-learn does, with errors that say what to do; sets the estimator's feature names.
    ``kinds`` of numbers in X and A are left as they are.
    """
    refuse_text(X)
    refuse_missing_target(y)
    x, target = validate_data(
        estimator, X, y, dtype=list(kinds), y_numeric=True, ensure_all_finite=False, ensure_min_samples=2
    )
    target = np.asarray(target, dtype=np.float64)
    names = getattr(estimator, "feature_names_in_", None)
    refuse_missing("X", x, names)
    if sensitive_features is None:
        return Table(x, target, None)
    refuse_shuffled(X, sensitive_features)
    sensitive = encode_sensitive(sensitive_features, len(x), kinds)
    refuse_too_many_attributes(sensitive.values.shape[1], len(x))
    warn_of_copies(x, names, sensitive)
    return Table(x, target, sensitive)


def fit_weights(
    estimator: FairRegressor,
    weights: Sequence[float],
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    progress: Progress | None = None,
) -> list[FairRegressor]:
    """One fitted copy of ``estimator`` per weight, trained together as one program.

    Each copy equals, bit for bit on a CPU, the estimator fitted alone with that weight.
    """
    copies = [clone(estimator).set_params(weight=float(weight)) for weight in weights]
    table = read_table(copies[0], X, y, sensitive_features)
    numbers = [read_weight(weight, table.sensitive is not None) for weight in weights]
    seed = int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))
    fit = copies[0]._train(table, numbers, seed, progress)
    figures = fit.figures(table)
    for config, copy in enumerate(copies):
        copy.n_features_in_ = copies[0].n_features_in_
        if hasattr(copies[0], "feature_names_in_"):
            copy.feature_names_in_ = copies[0].feature_names_in_
        copy._keep(fit, config, figures)
        copy.weight_ = numbers[config]
    return copies


def _one_penalty(penalty: str | Penalty | Solver) -> Penalty:
    """A penalty; a library of several needs a budget to choose by."""
    if isinstance(penalty, Solver) or (isinstance(penalty, str) and penalty in SOLVERS):
        raise InvalidInput(
            f"penalty={penalty!r} is a library of candidates, which needs a budget to choose by: set max_dpvar or "
            "max_share, or name one penalty, such as 'fbo_closed'."
        )
    return resolve_penalty(penalty)


def _printed(done: int, total: int) -> None:
    print(f"\rtraining: step {done} of {total}", end="\n" if done == total else "", flush=True)
