"""FairClassifier: a scikit-learn classifier whose average probabilities are level across sensitive attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fairlevel.arrays import Array, Index
from fairlevel.data.features import without_decimals
from fairlevel.data.numbers import refuse_other_kinds
from fairlevel.data.table import Table
from fairlevel.estimators.fair_estimator import FairEstimator
from fairlevel.estimators.feature_rows import read_features
from fairlevel.estimators.fitted_model import FittedModel, JudgedModel
from fairlevel.estimators.whole_fit import all_or_nothing
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.fronts.budget import SHARE, Budget
from fairlevel.models.folder import Description
from fairlevel.models.model import Model, class_probabilities, from_scores
from fairlevel.models.onnx import write_onnx


class FairClassifier(ClassifierMixin, FairEstimator):  # type: ignore[misc]
    r"""Classification with a penalty on how much the average probability moves across sensitive attributes.

    Minimises log-loss + ``weight`` · penalty of the probabilities p, where the penalty acts on
    (p − p̄) / √(p̄(1 − p̄)) with p̄ the share of the class, so that ``weight`` has no unit. With more than two classes, one
    model per class is trained against all others, and their probabilities are divided by their sum.

    Level probabilities do not make decisions level: a threshold can turn small differences into large ones. Audit both,
    with ``audit(p, ..., threshold=0.5)``.

    Parameters
    ----------
    weight : float or "auto", default="auto"
        Weight of the penalty. "auto" is 1 with sensitive features and 0, with a warning, without.
    max_dpvar, max_share : float, optional
        A budget instead of a weight: the largest DPVar of the probabilities, or the largest share of their variance, on
        unseen rows. With more than two classes the budget holds for each class before probabilities are divided by
        their sum: ``max_share`` as it is, ``max_dpvar`` divided among the classes. ``dpvar_`` says what the
        probabilities have; it may exceed the budget.
    penalty, predictor, optimizer, validation_fraction, combiner, device, random_state, verbose,
    encoder, n_jobs
        As in :class:`fairlevel.FairRegressor`.

    Attributes
    ----------
    classes_ : array of shape (classes,)
    brier_ : float
        Mean squared difference between probabilities and classes on the rows of ``fit``, summed over the classes but
        for the first of two; after a fit with a budget, on rows that the candidates did not train on.
    dpvar_ : float
        Debiased DPVar of the probabilities on the same rows: of the second of two classes, or the sum over classes;
        only after a fit with sensitive features.
    dpvar_by_class_ : array of shape (models,)
        Its parts, of the columns of ``predict_proba`` that ``dpvar_`` sums over.
    trace_ : DataFrame
        Step, log_loss and penalty during training, the penalty of standardised probabilities; of two classes, and not
        after a fit with a budget.
    weight_, mixture_, n_iter_, n_features_in_, feature_names_in_ : as in :class:`fairlevel.FairRegressor`; ``n_iter_``
        is the largest over classes, and ``mixture_`` names the class where there are more than two
    models_ : one model per class; of two classes, for the second

    Examples
    --------
    >>> from fairlevel import FairClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> A = X[["mean smoothness"]]
    >>> model = FairClassifier(weight=5.0, predictor="linear", validation_fraction=0.2, random_state=0)
    >>> model = model.fit(X.drop(columns="mean smoothness"), y, sensitive_features=A)
    >>> model.predict_proba(X.drop(columns="mean smoothness")).shape
    (569, 2)
    """

    _error: ClassVar[str] = "brier"

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        given: Any = None,
        groups: Any = None,
        time: Any = None,
    ) -> Self:
        """Train on (X, y), level across ``sensitive_features``.

        Parameters
        ----------
        X : array or frame of shape (rows, features)
        y : classes, of any type, of shape (rows,)
        sensitive_features, sample_weight, given, groups, time : as in :meth:`fairlevel.FairRegressor.fit`; ``given=y``
            compares rows of the same class only, which is equalised odds on average
        """
        from fairlevel.estimators.settings import draw_seed
        from fairlevel.losses import Logistic

        by_row = {
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
            "given": given,
            "groups": groups,
            "time": time,
        }
        classes, codes = read_classes(y)
        table = self._read(X, y, codes.astype(np.float64), **by_row)
        refuse_rare_classes(classes, table.y)
        budget, seed = self._budget(), draw_seed(self.random_state)
        numbers = range(1, 2) if len(classes) == 2 else range(len(classes))
        targets = [(table.y == number).astype(np.float64) for number in numbers]
        variances = np.array([float(table.weight @ target) for target in targets])
        variances = variances * (1 - variances)
        judged = [
            self._train(replace(table, y=target), Logistic.of(target, table.row_weight), _part_of(budget, part), seed)
            for target, part in zip(targets, variances / variances.sum(), strict=True)
        ]
        fitted = [model.fitted for model in judged]
        return self.keep(fitted if len(judged) == 1 else _with_figures_of_probabilities(judged, table), classes)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes in the order of ``classes_``: (row, class)."""
        check_is_fitted(self)
        x = read_features(self, X, all(model.native for model in self.models_))
        return class_probabilities(self.models_, x)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def to_onnx(self, path: str | Path) -> None:
        """Write the fitted model as an ONNX graph: input X (row, feature) in double, output the probability of the
        second class. For two classes; their names are the entry ``classes`` of the metadata, as JSON. Columns of
        categories are read as by :meth:`FairRegressor.to_onnx`.
        """
        check_is_fitted(self)
        if len(self.models_) > 1:
            raise InvalidInput(f"to_onnx is for two classes; this model has {len(self.classes_)}.")
        write_onnx(
            self.models_[0],
            self._inputs,
            Path(path),
            {"classes": self.classes_.tolist(), **self._categories},
        )

    def _description(self, notes: Mapping[str, Any] | None) -> dict[str, Any]:
        """With the classes and their figures."""
        description = super()._description(notes) | {
            "classes": self.classes_.tolist(),
            "classes_type": self.classes_.dtype.str,
            "brier": float(self.brier_),
        }
        if hasattr(self, "dpvar_by_class_"):
            description["dpvar_by_class"] = self.dpvar_by_class_.tolist()
        return description

    def _restore(self, models: Sequence[Model], description: Description) -> None:
        super()._restore(models, description)
        self.classes_ = np.array(description["classes"], dtype=np.dtype(description["classes_type"]))
        self.brier_ = description["brier"]
        if "dpvar_by_class" in description:
            self.dpvar_by_class_ = np.array(description["dpvar_by_class"])


def read_classes(y: Any) -> tuple[Array, Index]:
    """The classes in order, (class,), and the number of each row's class, (row,)."""
    if isinstance(y, pd.Series | pd.DataFrame) or hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if np.asarray(y).dtype.kind == "c" or np.ma.isMaskedArray(y):
        refuse_other_kinds("y", y)
    try:
        target = column_or_1d(y, warn=True)
    except ValueError as error:
        raise InvalidInput(" ".join(str(error).split())) from None
    target = without_decimals(target)
    if not len(target):
        raise InvalidInput("y has no rows; at least 2 rows of different classes are needed.")
    missing = pd.isna(target) if target.dtype.kind in "fO" else np.zeros(len(target), dtype=bool)
    if target.dtype.kind == "f":
        missing |= np.isinf(target)
    if missing.any():
        raise InvalidInput(
            f"y holds {int(missing.sum())} missing (NaN) or infinite (inf) values; drop those rows, or give them a "
            "class."
        )
    try:
        classes, codes = np.unique(target, return_inverse=True)
    except TypeError:
        kinds = " and ".join(sorted({type(value).__name__ for value in target.tolist()}))
        raise InvalidType(f"y mixes classes of different types ({kinds}); use y.astype(str).") from None
    if type_of_target(target) == "continuous":
        raise InvalidInput(
            "Unknown label type: y is continuous, and classes are needed; for numbers, use FairRegressor."
        )
    if len(classes) < 2:
        raise InvalidInput(f"y has one class only, {str(classes[0])!r}; at least 2 classes are needed.")
    return classes, codes


def two_classes(y: Any) -> tuple[Array | None, Any]:
    """The classes of a target with two values, and zeros and ones, (row,); for any other target None and the target.
    A table of one column is read as that column.
    """
    target = without_decimals(np.asarray(y))
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1 or target.dtype.kind not in "OUSTbiuf" or not len(target):
        return None, y
    text = target.dtype.kind in "OUSTb" and not all(isinstance(value, int | float) for value in target[:1000].tolist())
    values = pd.unique(target)
    if text and len(values) > 2:
        raise InvalidInput(
            f"y has {len(values)} classes; FairnessPath takes numbers or two classes. For more classes, use "
            "FairClassifier(max_share=...)."
        )
    if len(values) != 2 or pd.isna(values).any():
        return None, y
    classes, codes = read_classes(y)
    return classes, codes.astype(np.float64)


def refuse_rare_classes(classes: Array, codes: Array) -> None:
    """Each class needs some rows with a positive weight."""
    counts = np.bincount(codes.astype(np.int64), minlength=len(classes))
    if counts.min() < 1:
        rare = str(classes[int(counts.argmin())])
        raise InvalidInput(f"y has no row of class {rare!r} with a positive weight; drop the class, or give it weight.")


def _with_figures_of_probabilities(judged: Sequence[JudgedModel], table: Table) -> list[FittedModel]:
    """Models of one class each, with the figures of the probabilities that they give together, on the rows that their
    own figures were measured on. ``table.y`` holds the number of each row's class.
    """
    from fairlevel.candidates.fitting import attributes_of
    from fairlevel.metrics.dpvar import dpvar_of_many

    rows = table.rows(judged[0].numbers)
    probabilities = from_scores(np.stack([model.predictions for model in judged], axis=1))  # (row, class)
    brier = rows.weight @ (probabilities - (rows.y[:, None] == np.arange(len(judged)))) ** 2
    dpvar: list[float | None] = [None] * len(judged)
    if rows.sensitive is not None:
        attributes = attributes_of(rows if rows.known is None else rows.rows(rows.known_rows))
        by_class = probabilities[rows.known_rows].T
        dpvar = [float(dpvar_of_many(probability[None], attributes)[0]) for probability in by_class]
    figures = zip(judged, brier, dpvar, strict=True)
    return [replace(model.fitted, mse=float(error), dpvar=disparity) for model, error, disparity in figures]


def _part_of(budget: Budget | None, part: float) -> Budget | None:
    """The budget of one of several classes. A limit on DPVar is divided like the variances of the classes; one on the
    share holds for each class, and so for all together.
    """
    if budget is None or budget.name == SHARE:
        return budget
    return replace(budget, limit=budget.limit * part)
