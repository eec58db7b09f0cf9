"""A user's own models as further candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import has_fit_parameter

from fairlevel.arrays import Array, Index
from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, CandidateSet, candidate_table
from fairlevel.candidates.protocol import CandidateRows, CandidateSource, Limits, Report, TrainingSetup
from fairlevel.data.native_columns import WrittenFrame
from fairlevel.data.numbers import one_per_row
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.members.protocol import Device, MembersInMemory

FAMILY = "own model"


def check_models(models: Any, classes: Array | None) -> tuple[Any, ...]:
    """Regressors with ``fit`` and ``predict``, for two classes also classifiers with ``predict_proba``; a fitted one
    that must stay as it is comes as a FrozenEstimator, and knows the same classes. ``classes`` are those of y,
    (class,); None where y is a number.
    """
    if models is None:
        return ()
    if not isinstance(models, list | tuple):
        raise InvalidType(f"models={models!r} was given; a list of regressors is needed, such as [Ridge()].")
    for model in models:
        if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise InvalidType(
                f"models holds {model!r}; regressors with fit and predict are needed, such as Ridge(), and "
                "FrozenEstimator(model) for one that is fitted already."
            )
        if is_classifier(model) and classes is None:
            raise InvalidType(
                f"models holds {type(_inner(model)).__name__}, a classifier; regressors are needed where y has more "
                "than two values."
            )
        if is_classifier(model) and not hasattr(model, "predict_proba"):
            raise InvalidType(f"models holds {type(_inner(model)).__name__}, which has no predict_proba.")
        if is_classifier(model) and classes is not None:
            _refuse_other_classes(model, classes)
    return tuple(models)


def _refuse_other_classes(model: Any, classes: Array) -> None:
    """A frozen classifier must know the classes of y, in any order."""
    if not isinstance(model, FrozenEstimator):
        return
    known, wanted = _classes_of(model), classes.tolist()
    if len(known) == len(wanted) and all(name in known for name in wanted):
        return
    raise InvalidInput(
        f"models holds a frozen {type(_inner(model)).__name__} with the classes {known}, but y has the classes "
        f"{wanted}; pass y with the labels that the model was trained on, or {type(_inner(model)).__name__}() without "
        "FrozenEstimator, which is then fitted on y."
    )


def _classes_of(model: Any) -> list[Any]:
    """The classes that a fitted classifier knows, in the order of its probabilities."""
    try:
        return list(np.asarray(model.classes_).tolist())
    except AttributeError:
        raise InvalidInput(
            f"models holds {type(_inner(model)).__name__}, a classifier without classes_; fit it before it is frozen: "
            "FrozenEstimator(model.fit(X, y))."
        ) from None


def any_frozen(models: Sequence[Any]) -> bool:
    """Whether one of them is fitted already and stays as it is."""
    return any(isinstance(model, FrozenEstimator) for model in models)


@dataclass(frozen=True)
class OwnModels(MembersInMemory):
    """Fitted regressors or classifiers of any library, which predict in units of y; ``scaler`` standardises that.
    Frozen classifiers know the classes of y by the names in ``classes``, (class,), others as 0 and 1.

    They are Python objects, so that they can be used and pickled, but not written to a folder of our format.
    """

    models: tuple[Any, ...]
    columns: WrittenFrame
    scaler: Scaler
    classes: Array | None = None

    kind: ClassVar[str] = "own_models"
    native: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.models)

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        given = self.columns.restore(x)
        predictions = [_predictions(model, given, len(x), self.classes) for model in self.models]
        return np.stack([self.scaler.transform(of_model) for of_model in predictions])

    def take(self, index: Index) -> Self:
        return replace(self, models=tuple(self.models[number] for number in index))

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, models=(*self.models, *(model for other in others for model in other.models)))

    def refusal(self, what: str) -> InvalidInput:
        names = ", ".join(sorted({type(_inner(model)).__name__ for model in self.models}))
        return InvalidInput(
            f"The mixture holds own models ({names}), which are Python objects, so it cannot be {what}; keep it with "
            "joblib.dump, or use a path without models=."
        )


@dataclass(frozen=True)
class WithOwnModels:
    """The candidates of a source, and own models: unfitted ones are fitted on the same rows, held-out rows included;
    frozen ones stay as they are. ``classes`` are those of y, (class,), or None.
    """

    source: CandidateSource
    models: tuple[Any, ...]
    columns: WrittenFrame
    classes: Array | None = None

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return True

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        candidates = self.source.train(rows, setup, limits, report)
        training = rows.training.rows
        known = training if rows.held_out is None else training.joined(rows.held_out)
        given, target = self.columns.restore(known.x), rows.y_scaler.inverse(known.y)
        fitted = tuple(_fitted(model, given, target, known.row_weight) for model in self.models)
        members = OwnModels(fitted, self.columns, rows.y_scaler, self.classes)
        return candidates.followed_by(self._candidates(members))

    def _candidates(self, members: OwnModels) -> CandidateSet:
        keys = [CandidateKey(FAMILY, 0.0, number) for number in range(len(members))]
        table = candidate_table(keys, [type(_inner(model)).__name__ for model in members.models], 1)
        return CandidateSet(table, (members,), np.eye(len(members)), (NO_HISTORY,) * len(members))


def _inner(model: Any) -> Any:
    return model.estimator if isinstance(model, FrozenEstimator) else model


def _fitted(model: Any, given: Any, target: Array, row_weight: Array | None) -> Any:
    """A fitted copy; a frozen model itself."""
    if isinstance(model, FrozenEstimator):
        return model
    copy, weights = clone(model), {}
    if is_classifier(copy):
        target = target.round()  # zeros and ones, which were standardised in between
    if row_weight is not None:
        if not has_fit_parameter(copy, "sample_weight"):
            raise InvalidInput(
                f"sample_weight was given, but {type(copy).__name__}.fit takes none; leave the model out of models=, "
                "or fit without weights."
            )
        weights = {"sample_weight": row_weight}
    try:
        return copy.fit(given, target, **weights)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{type(copy).__name__} in models= cannot be fitted on these rows: {error}") from error


def _response(model: Any, given: Any, classes: Array | None) -> Any:
    """Predictions of a regressor, probabilities of the second class of y by a classifier."""
    if not is_classifier(model):
        return model.predict(given)
    second = classes[1] if isinstance(model, FrozenEstimator) and classes is not None else 1.0
    return model.predict_proba(given)[:, _classes_of(model).index(second)]


def _predictions(model: Any, given: Any, rows: int, classes: Array | None) -> Array:
    name = f"{type(_inner(model)).__name__} in models="
    try:
        predictions = _response(model, given, classes)
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"{name} cannot predict these rows: {error}") from error
    return one_per_row(name, predictions, rows)
