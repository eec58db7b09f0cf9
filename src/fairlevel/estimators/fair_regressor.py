"""FairRegressor: a scikit-learn regressor whose average prediction is level across sensitive attributes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from fairlevel.arrays import Array
from fairlevel.candidates import SOURCES, CandidateSource, PenaltyGrid, TrainingSetup
from fairlevel.candidates.fitting import FittedCandidates, Stopping, fit_candidates, fit_in_batches
from fairlevel.candidates.protocol import for_columns
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.splitting import sample_rows
from fairlevel.data.table import Table
from fairlevel.estimators.budget import Budget, require_sensitive
from fairlevel.estimators.path_fit import ChosenModel, fit_path
from fairlevel.estimators.reading import read_features, read_table, read_weight
from fairlevel.estimators.settings import (
    NO_LIMITS,
    default_predictor,
    path_settings,
    read_seed,
    reads_gaps,
    shown_progress,
    training_setup,
)
from fairlevel.estimators.settings_json import from_plain, to_plain
from fairlevel.exceptions import Diverged, InvalidInput
from fairlevel.fronts.combiners import Combiner
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.models.folder import read_model, write_model
from fairlevel.models.onnx import write_onnx
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties import NoPenalty, Penalty, resolve_penalty
from fairlevel.predictors import Predictor

HELD_OUT = 0.2  # of the rows, for early stopping, where nothing else was asked for
FEWEST_TO_SPLIT = 20  # rows
MEASURED_ROWS = 5_000  # of a fit in batches: rows that its figures are measured on

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
        The name of a penalty ("fbo_closed", "fbo_root", "fbo", "itd", "r2", "gdp", "hsic", "adversarial"), or an object
        such as ``ITD(steps=10)``. With a budget also a solver of :class:`fairlevel.FairnessPath`: "auto", "spectral".
    predictor : str, predictor object or nn.Module, default=None
        "boosting" (LightGBM, which also reads categories and missing values), "mlp", "linear", "random_features", an
        object such as ``Boosting(leaves=31)`` or ``MLP(hidden=(32,))``, or your own ``nn.Module`` that maps
        (row, feature) to (row,) or (row, 1). A module gets X as given, in 32 bits, and every fit starts from a copy of
        it; the target is standardised. None stands for "boosting", for "mlp" in batches, and with ``penalty="auto"``
        and a budget for boosters and networks together.
    optimizer : str or optimiser object, default="adam"
        Of networks: "adam", "gd", or an object such as ``Adam(learning_rate=3e-3, steps=2000)``.
    validation_fraction : float, None or "auto", default="auto"
        Share of the rows held out for early stopping; None trains on all rows for all steps. "auto" holds out a fifth
        to find the best number of steps, and then trains on all rows for as many. Not with a budget, which holds rows
        out in any case.
    batch_size : int, optional
        Rows per step; None uses all of them. For tables of a million rows: X may then be a memory map (also
        :func:`fairlevel.data.memmaps.parquet_memmaps`), the optimiser's steps are batches, the conditional mean is kept
        as running averages of moments, and ``mse_`` and ``dpvar_`` are measured on 5,000 rows drawn at random. For the
        penalties "fbo_closed", "fbo_root" and "hsic" (through random features), without a budget.
    combiner : ``Stacked()`` or ``Best()``, optional
        Only with a budget: whether candidates are mixed (None and ``Stacked()``) or one is taken.
    device : {"auto", "cpu", "cuda"}, default="auto"
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    mse_ : float
        Mean squared error on the rows of ``fit``, in units of y²; after a fit with a budget, on rows that the
        candidates did not train on.
    dpvar_ : float
        Debiased DPVar on the same rows, in units of y²; only after a fit with sensitive features. Training adapts to
        these rows: judge a model on rows it has not seen, with :func:`fairlevel.dpvar_interval`.
    weight_ : float
        The penalty weight used: the one given, or what "auto" stood for; not after a fit with a budget.
    n_iter_ : int
        Optimisation steps behind the fitted parameters; not after a fit with a budget.
    trace_ : DataFrame
        Step, accuracy loss and penalty during training, in standardised units; not after a fit with a budget.
    model_ : the weighted sum of members that predicts
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
        penalty: str | Penalty | CandidateSource = "fbo_closed",
        predictor: str | Predictor | nn.Module | None = None,
        optimizer: str | Optimizer = "adam",
        validation_fraction: float | str | None = "auto",
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

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Train on (X, y), level across ``sensitive_features``.

        Parameters
        ----------
        X : array or frame of shape (rows, features)
        y : array of shape (rows,)
        sensitive_features : array or frame of shape (rows,) or (rows, attributes), numeric or categorical, matched to
            X by position; not needed by ``predict``
        sample_weight : array of shape (rows,), optional; how many rows each row counts for. Not in batches
        """
        self.__dict__.pop("model_", None)  # a fit that fails leaves no model of an earlier one
        kinds = (np.float64,) if self.batch_size is None else (np.float64, np.float32)
        predictor = default_predictor(self.predictor, self.penalty, self.batch_size)
        table = read_table(self, X, y, sensitive_features, sample_weight, kinds, predictor.native)
        budget = Budget.read(self.weight, self.max_dpvar, self.max_share)
        self._refuse_unused(budget)
        predictor = for_columns(predictor, table.categorical)
        setup = training_setup(predictor, self.optimizer, self.device, read_seed(self.random_state))
        if budget is None:
            return self._fit_weight(read_weight(self.weight, table.sensitive is not None), table, setup)
        require_sensitive(budget, table.sensitive is not None)
        settings = path_settings(self.penalty, self.combiner, setup, self.predictor is not None)
        with shown_progress(self.verbose, "training candidates") as report:
            fit, _ = fit_path(table, settings, report)
        return self.keep(fit.within(budget))

    def predict(self, X: Any) -> Array:
        """Predictions in units of y; the sensitive attributes are not needed."""
        check_is_fitted(self)
        return self.model_.predict(read_features(self, X, self.model_.native))

    def keep(self, chosen: ChosenModel) -> Self:
        """Store a choice of a fitted path as this estimator's model."""
        self.model_, self.mse_, self.dpvar_ = chosen.model, chosen.mse, chosen.dpvar
        for name in ("weight_", "n_iter_", "trace_"):
            self.__dict__.pop(name, None)
        return self

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
            "native_columns": None if self.native_columns_ is None else self.native_columns_.to_plain(),
            "notes": dict(notes or getattr(self, "notes_", {})),
        }
        write_model(Path(folder), self.model_, description, overwrite)

    def to_onnx(self, path: str | Path) -> None:
        """Write the fitted model as an ONNX graph: input X (row, feature) in double, output the predictions."""
        check_is_fitted(self)
        write_onnx(self.model_, int(self.n_features_in_), Path(path))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = reads_gaps(self.predictor, self.penalty, self.batch_size)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """An interrupted fit is no fit."""
        return hasattr(self, "model_")

    def _refuse_unused(self, budget: Budget | None) -> None:
        """A parameter that would change nothing is refused, not ignored."""
        if budget is None and self.combiner is not None:
            raise InvalidInput(
                f"combiner={self.combiner!r} was given without a budget; it mixes the candidates of a budget: set "
                "max_dpvar or max_share, or leave combiner=None."
            )
        if budget is not None and self.batch_size is not None:
            raise InvalidInput("batch_size was given with a budget; budgets need all rows: set weight instead.")
        if budget is not None and self.validation_fraction not in ("auto", None):
            raise InvalidInput(
                f"validation_fraction={self.validation_fraction} was given with a budget, which holds out rows of its "
                "own; leave validation_fraction='auto'."
            )

    def _stopping(self, rows: int) -> Stopping:
        """Early stopping as asked for; tables of a few rows have none to spare."""
        if self.validation_fraction != "auto":
            return Stopping(self.validation_fraction)  # type: ignore[arg-type]
        return Stopping(HELD_OUT, refit=True) if rows >= FEWEST_TO_SPLIT else Stopping(None)

    def _fit_weight(self, weight: float, table: Table, setup: TrainingSetup) -> Self:
        """One model at one weight, on all rows at each step or in batches."""
        penalty = _one_penalty(self.penalty)
        with shown_progress(self.verbose, "training") as report:
            if self.batch_size is None:
                grid = PenaltyGrid.over(penalty, (weight,))
                fitted = fit_candidates(table, grid, setup, NO_LIMITS, self._stopping(len(table)), report)
            else:
                acting = penalty if weight > 0 else NoPenalty()  # plain batches need no functions of A
                fitted = fit_in_batches(
                    table,
                    PenaltyGrid.over(acting, (weight,)),
                    setup,
                    NO_LIMITS,
                    self._stopping(len(table)).fraction,
                    self.batch_size,
                    report,
                )
                table = table.rows(sample_rows(len(table), MEASURED_ROWS, setup.seed))
        self._keep_candidate(fitted, table)
        self.weight_ = weight
        return self

    def _keep_candidate(self, fitted: FittedCandidates, table: Table) -> None:
        """Store the only candidate as this estimator's model, with its figures on a table."""
        row = fitted.candidates.table.iloc[0]
        if not fitted.candidates.usable[0]:
            raise Diverged(
                f"Training diverged (loss {row['loss']:.3g} times that of a constant prediction); lower the step size, "
                "such as optimizer=Adam(learning_rate=0.001), or the weight."
            )
        self.model_ = fitted.model(np.ones(1))
        self.n_iter_ = int(row["steps"])
        (self.trace_,) = fitted.candidates.traces
        prediction = self.model_.predict(table.x)
        self.mse_ = float(table.weight @ (prediction - table.y) ** 2)
        self.__dict__.pop("dpvar_", None)
        if table.sensitive is not None:
            self.dpvar_ = float(dpvar_of_many(prediction[None], table.attributes_of(0))[0])


def load(folder: str | Path, *, module: nn.Module | None = None) -> FairRegressor:
    """The fitted :class:`FairRegressor` that :meth:`FairRegressor.save` wrote; a file that was changed is refused.

    Parameters
    ----------
    folder : as given to ``save``
    module : where the model holds your own ``nn.Module``: an untrained one of the same class. Not needed where the
        class is imported already and its arguments are attributes of the same names
    """
    model, description = read_model(Path(folder), module)
    settings = {name: from_plain(value, module) for name, value in description["settings"].items()}
    estimator = FairRegressor(**settings)
    estimator.model_ = model
    columns = description.get("native_columns")
    estimator.native_columns_ = None if columns is None else NativeColumns.from_plain(columns)
    estimator.n_features_in_ = description["n_features"]
    if description.get("feature_names") is not None:
        estimator.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    for name in _FIGURES:
        if name in description.get("figures", {}):
            setattr(estimator, name, description["figures"][name])
    estimator.notes_ = description.get("notes", {})
    return estimator


def _one_penalty(penalty: str | Penalty | CandidateSource) -> Penalty:
    """A penalty; a source of several candidates needs a budget to choose by."""
    if isinstance(penalty, CandidateSource) or (isinstance(penalty, str) and penalty in SOURCES):
        raise InvalidInput(
            f"penalty={penalty!r} stands for several candidates, which need a budget to choose by: set max_dpvar or "
            "max_share, or name one penalty, such as 'fbo_closed'."
        )
    return resolve_penalty(penalty)
