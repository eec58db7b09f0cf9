"""What FairRegressor and FairClassifier share: parameters, and the way from a table to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from fairlevel.data.encoder import TableEncoder
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.splitting import read_splitting
from fairlevel.data.table import Table
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.defaults import reads_gaps
from fairlevel.estimators.feature_rows import read_rows
from fairlevel.estimators.fitted_model import FittedModel
from fairlevel.estimators.reading import read_table, warn_without_sensitive
from fairlevel.exceptions import InvalidInput
from fairlevel.models.folder import Description
from fairlevel.models.model import Model
from fairlevel.models.settings import to_plain
from fairlevel.removed import naming_what_is_gone

if TYPE_CHECKING:  # loading and predicting import nothing that trains
    from fairlevel.candidates import CandidateSource
    from fairlevel.fronts.combiners import Combiner
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

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, given: Any, groups: Any, time: Any
    ) -> Table:
        """Validated rows; y must be numbers."""
        from fairlevel.estimators.settings import default_predictor, warn_of_unused

        splitting = read_splitting(groups, time, y)
        predictor = default_predictor(self.predictor, self.penalty)
        warn_of_unused(self.optimizer, predictor, self.penalty, self.predictor is not None, stacklevel=4)
        rows = read_rows(self, X, y, native=predictor.native, encoder=self.encoder)
        self.native_columns_ = rows.columns
        budget = self.max_dpvar is not None or self.max_share is not None
        if sensitive_features is None and isinstance(self.weight, str) and self.weight == "auto" and not budget:
            warn_without_sensitive(stacklevel=4)
        return read_table(rows, sensitive_features, sample_weight, given, splitting)

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
        self.notes_ = description.get("notes", {})

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
        found = {name: list(categories) for name, categories in known if categories is not None}
        return {"categories": found} if found else {}

    def _keep_figures(self, fitted: FittedModel) -> None:
        """Attributes that end in an underscore; those that this fit does not have are removed."""
        self.encoder_ = fitted.encoder
        found = {
            f"{self._error}_": fitted.mse,
            "dpvar_": fitted.dpvar,
            "weight_": fitted.weight,
            "n_iter_": fitted.steps,
            "trace_": fitted.trace,
            "mixture_": fitted.mixture,
        }
        for name, value in found.items():
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, value)
