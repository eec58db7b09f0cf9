"""What FairRegressor and FairClassifier share: parameters, and the way from a table to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fairlevel.arrays import Array
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.features import refuse_shuffled
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.splitting import read_splitting
from fairlevel.data.table import Table
from fairlevel.estimators.feature_rows import read_rows
from fairlevel.estimators.fitted_model import FittedModel, JudgedModel
from fairlevel.estimators.reading import read_table, warn_without_sensitive
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.budget import Budget
from fairlevel.models.folder import Description, write_models
from fairlevel.models.model import Model
from fairlevel.models.settings import to_plain
from fairlevel.removed import naming_what_is_gone

if TYPE_CHECKING:  # loading and predicting import nothing that trains
    from fairlevel.candidates import CandidateSource
    from fairlevel.fronts.combiners import Combiner
    from fairlevel.losses import Loss
    from fairlevel.penalties import Penalty
    from fairlevel.predictors import Predictor

FIGURES = ("mse_", "dpvar_", "weight_", "n_iter_")  # what a file keeps of a fit, apart from the model


class FairEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and training; what the target means is up to the subclasses, and so is what its squared error is
    called among the figures.
    """

    _error: ClassVar[str] = "mse"

    @naming_what_is_gone
    def __init__(
        self,
        weight: float | str = "auto",
        max_dpvar: float | None = None,
        max_share: float | None = None,
        penalty: str | Penalty | CandidateSource = "fbo_closed",
        predictor: str | Predictor | Any | None = None,
        optimizer: Any = "adam",
        validation_fraction: float | str | None = "auto",
        combiner: Combiner | None = None,
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        encoder: TableEncoder | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.weight = weight
        self.max_dpvar = max_dpvar
        self.max_share = max_share
        self.penalty = penalty
        self.predictor = predictor
        self.optimizer = optimizer
        self.validation_fraction = validation_fraction
        self.combiner = combiner
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.encoder = encoder
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        gaps = self.encoder is not None or reads_gaps(self.predictor, self.penalty)
        tags.input_tags.allow_nan = gaps
        tags.input_tags.sparse = self.encoder is None
        return tags

    def _read(self, X: Any, y: Any, target: Any, **by_row: Any) -> Table:
        """Validated rows; ``target`` are numbers that stand for y. ``by_row`` holds what else ``fit`` was given."""
        from fairlevel.estimators.settings import default_predictor, warn_of_unused

        refuse_shuffled(X=X, y=y, **by_row)
        splitting = read_splitting(by_row["groups"], by_row["time"], target)
        predictor = default_predictor(self.predictor, self.penalty)
        warn_of_unused(self.optimizer, predictor, self.penalty, self.predictor is not None, stacklevel=4)
        rows = read_rows(self, X, target, native=predictor.native, encoder=self.encoder)
        self.native_columns_ = rows.columns
        sensitive, budget = by_row["sensitive_features"], self.max_dpvar is not None or self.max_share is not None
        if sensitive is None and isinstance(self.weight, str) and self.weight == "auto" and not budget:
            warn_without_sensitive(stacklevel=4)
        return read_table(rows, sensitive, by_row["sample_weight"], by_row["given"], splitting)

    def _train(self, table: Table, loss: Loss, budget: Budget | None, seed: int) -> JudgedModel:
        from fairlevel.estimators.one_model import train_model

        return train_model(self, table, loss, budget, seed)

    def _budget(self) -> Budget | None:
        """The budget, if one was given; parameters that would change nothing are refused."""
        budget = Budget.read(self.weight, self.max_dpvar, self.max_share)
        if budget is None and self.combiner is not None:
            raise InvalidInput(
                f"combiner={self.combiner!r} was given without a budget; it mixes the candidates of a budget: set "
                "max_dpvar or max_share, or leave combiner=None."
            )
        if budget is not None and self.validation_fraction not in ("auto", None):
            raise InvalidInput(
                f"validation_fraction={self.validation_fraction} was given with a budget, which holds out rows of its "
                "own; leave validation_fraction='auto'."
            )
        return budget

    def _description(self, notes: Mapping[str, Any] | None) -> dict[str, Any]:
        """Settings and figures of this fitted estimator, for a file."""
        known = {name: getattr(self, name) for name in FIGURES if hasattr(self, name)}
        names = getattr(self, "feature_names_in_", None)
        settings = self.get_params(deep=False)
        if not isinstance(settings["random_state"], int | np.integer):
            settings["random_state"] = None  # a generator has moved on since the fit
        return {
            "estimator": type(self).__name__,
            "settings": {name: to_plain(value) for name, value in settings.items()},
            "n_features": int(self.n_features_in_),
            "n_inputs": self._width,
            "feature_names": None if names is None else [str(name) for name in names],
            "figures": known,
            "native_columns": None if self.native_columns_ is None else self.native_columns_.to_plain(),
            "encoder": None if self.encoder_ is None else self.encoder_.to_dict(),
            "notes": dict(notes or getattr(self, "notes_", {})),
        }

    def _restore(self, models: Sequence[Model], description: Description) -> None:
        """The fitted state that :meth:`_description` wrote, with the models that were written beside it."""
        columns, rules = description.get("native_columns"), description.get("encoder")
        self.native_columns_ = None if columns is None else NativeColumns.from_plain(columns)
        self.encoder_ = None if rules is None else TableEncoder.from_dict(rules)
        self.n_features_in_, names = description["n_features"], description.get("feature_names")
        if self.encoder_ is not None:
            self.n_features_in_, names = len(self.encoder_.needed), self.encoder_.needed
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        known = description.get("figures", {})
        for figure in FIGURES:
            if figure in known:
                setattr(self, figure, known[figure])
        self.models_, self.notes_ = tuple(models), description.get("notes", {})

    @property
    def _width(self) -> int:
        """Numbers per row that the model reads."""
        return int(self.n_features_in_) if self.encoder_ is None else len(self.encoder_.outputs)

    @property
    def _inputs(self) -> tuple[str, ...]:
        """Names of the numbers that the model reads."""
        if self.encoder_ is not None:
            return self.encoder_.outputs
        names = getattr(self, "feature_names_in_", [f"x{number}" for number in range(self._width)])
        return tuple(map(str, names))

    @property
    def _categories(self) -> dict[str, Any]:
        """For files that read numbers: the categories of columns that the model reads as numbers, by name, in the order
        of these numbers; empty where there are none.
        """
        columns = self.native_columns_
        if columns is None or self.encoder_ is not None:
            return {}
        known = zip(self._inputs, columns.categories, strict=True)
        categorical = {name: list(categories) for name, categories in known if categories is not None}
        return {"categories": categorical} if categorical else {}

    def keep(self, fitted: Sequence[FittedModel], classes: Array | None) -> Self:
        """Store fitted models, such as the choice of a path, as this estimator's: one, or one per class of several.
        Attributes that this fit does not have are removed.
        """
        self.models_, self.encoder_ = tuple(model.model for model in fitted), fitted[0].encoder
        dpvar = [model.dpvar for model in fitted if model.dpvar is not None]
        steps = [model.steps for model in fitted if model.steps is not None]
        figures = {
            f"{self._error}_": sum(model.mse for model in fitted),
            "dpvar_": sum(dpvar) if dpvar else None,
            "dpvar_by_class_": np.array(dpvar) if dpvar and classes is not None else None,
            "weight_": fitted[0].weight,
            "n_iter_": max(steps) if steps else None,
            "trace_": fitted[0].trace if len(fitted) == 1 else None,
            "mixture_": _mixture(fitted, classes),
            "classes_": classes,
        }
        for name, value in figures.items():
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, value)
        return self

    def figures(self) -> dict[str, float]:
        """The error on the rows of ``fit`` and, after a fit with sensitive features, DPVar, in units of y²."""
        check_is_fitted(self)
        error = {self._error: getattr(self, f"{self._error}_")}
        return error | ({"dpvar": self.dpvar_} if hasattr(self, "dpvar_") else {})

    def save(self, folder: str | Path, *, overwrite: bool = False, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: arrays as safetensors, the rest as JSON; :func:`fairlevel.load` reads it.

        Parameters
        ----------
        folder : must not exist, unless ``overwrite``
        overwrite : replace a model that is there
        notes : anything that JSON can hold, kept with the model as ``notes_``
        """
        check_is_fitted(self)
        write_models(Path(folder), self.models_, self._description(notes), overwrite)

    def __sklearn_is_fitted__(self) -> bool:
        """An interrupted fit is no fit."""
        return hasattr(self, "models_")


def _mixture(fitted: Sequence[FittedModel], classes: Array | None) -> pd.DataFrame | None:
    """What the models are mixed of, with a column that names the class where there are several models."""
    mixtures = [model.mixture for model in fitted if model.mixture is not None]
    if len(mixtures) < 2 or classes is None:
        return mixtures[0] if mixtures else None
    named = zip(classes.tolist(), mixtures, strict=True)
    return pd.concat([mixture.assign(**{"class": name}) for name, mixture in named], ignore_index=True)


READ_GAPS = ("boosting",)
"""Names of predictors whose class says ``native``; a test compares them: scikit-learn asks for tags of models that
predict, too, and those classes import what trains."""


def network_by_default(solver: Any) -> bool:
    """Whether the predictor is a network, for a path that needs a linear head; else it is boosting."""
    return solver == "spectral" or getattr(solver, "needs_linear_head", False) is True


def reads_gaps(predictor: Any, solver: Any) -> bool:
    """Whether missing values are fine; an unknown name is not, it is refused in ``fit``."""
    if predictor is None:
        return not network_by_default(solver)
    return predictor in READ_GAPS if isinstance(predictor, str) else getattr(predictor, "native", False) is True
