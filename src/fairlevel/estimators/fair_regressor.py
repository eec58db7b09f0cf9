"""FairRegressor: a scikit-learn regressor whose average prediction is level across sensitive attributes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fairlevel.arrays import Array
from fairlevel.estimators.fair_estimator import FairEstimator
from fairlevel.estimators.feature_rows import read_features
from fairlevel.estimators.whole_fit import all_or_nothing
from fairlevel.exceptions import ClassesWarning
from fairlevel.models.model import Model
from fairlevel.models.onnx import write_onnx


class FairRegressor(RegressorMixin, FairEstimator):  # type: ignore[misc]
    r"""Regression with a penalty on how much the average prediction moves across sensitive attributes.

    Minimises mean squared error + ``weight`` · penalty on standardised y. The sensitive attributes are needed in
    ``fit`` only.

    Parameters
    ----------
    weight : float or "auto", default="auto"
        Weight of the penalty, dimensionless because y is standardised inside. "auto" is 1 with sensitive features and
        0, with a warning, without.
    max_dpvar, max_share : float, optional
        A budget instead of a weight: the largest DPVar (units of y²) or share of the prediction's variance on unseen
        rows. Candidates at many weights are trained and mixed by a convex programme that meets the budget exactly on
        rows they have not seen, with a margin for its own uncertainty; :class:`fairlevel.FairnessPath` shows the whole
        front.
    penalty : str or penalty object, default="fbo_closed"
        The name of a penalty, such as "fbo_closed", "fbo_root" or "gdp" (docs/methods.md describes all of them), or an
        object such as ``LinearR2(ridge=0.1)``; "fbo", "itd" and "adversarial" need the extra ``networks``. With a
        budget also a solver of :class:`fairlevel.FairnessPath`, such as "auto".
    predictor : str, predictor object or nn.Module, default=None
        "boosting" (LightGBM, which also reads categories and missing values), "linear", "random_features", or an object
        such as ``Boosting(leaves=31)``. With the extra ``networks`` also "mlp", ``MLP(hidden=(32,))``, or your own
        ``nn.Module`` that maps (row, feature) to (row,) or (row, 1). A module gets X as given, in 32 bits, and every
        fit starts from a copy of it; the target is standardised. None stands for "boosting", and with
        ``penalty="auto"`` and a budget for what "auto" trains.
    optimizer : str or optimiser object, default="adam"
        Of networks alone: "adam", "gd", or an object such as ``Adam(learning_rate=3e-3, steps=2000)``.
    validation_fraction : float, None or "auto", default="auto"
        Share of the rows held out for early stopping; None trains on all rows for all steps. "auto" holds out a fifth
        to find the best number of steps, and what ``Boosting`` leaves open, and then trains on all rows for as many;
        up to 1500 rows each fifth is held out once, and boosters may end as the constant. Not with a budget, which
        holds rows out in any case.
    combiner : ``Stacked()`` or ``Best()``, optional
        Only with a budget: whether candidates are mixed (None and ``Stacked()``) or one is taken.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where networks train.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        From 1 on, the stages of the fit are shown on standard error: as bars on a terminal, as lines elsewhere. The
        logger "fairlevel" hears of them in any case.
    encoder : ``TableEncoder()``, optional
        Turns a table with text, dates and gaps into numbers; it is learnt inside the fit, from training rows only.
        Without one, X must be numbers, or what the predictor reads by itself.
    n_jobs : int, optional
        Threads of the fit: None for ``OMP_NUM_THREADS``, or all cores; -1 for all cores. The result does not depend on
        it.

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
    mixture_ : DataFrame
        After a fit with a budget, instead of a weight: the candidates that are mixed, with family, setting, weight and
        proportion.
    n_iter_ : int
        Optimisation steps behind the fitted parameters; not after a fit with a budget.
    trace_ : DataFrame
        Step, mse and penalty during training, in standardised units; not after a fit with a budget.
    encoder_ : the fitted encoder, which ``predict`` applies, or None
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
        y : array of shape (rows,)
        sensitive_features : array or frame of shape (rows,) or (rows, attributes), numeric or categorical, matched to
            X by position; not needed by ``predict``. Rows in which a number is missing (NaN) train accuracy only
        sample_weight : array of shape (rows,), optional; how many rows each row counts for
        given : array or frame of shape (rows,) or (rows, factors), optional; legitimate factors L: rows are compared
            with rows of the same L only, so that differences that L explains remain. Not needed by ``predict``. For
            paths, and for penalties that know factors, such as "fbo_closed"; others are refused, and the error names
            those that do
        groups : array of shape (rows,), optional; rows with the same label belong together, such as the visits of one
            person: splits keep them on one side, and intervals count groups, not rows
        time : array of shape (rows,), numbers or dates, optional; held-out rows are then the latest ones
        """
        from fairlevel.estimators.settings import draw_seed
        from fairlevel.losses import SquaredLoss

        by_row = {
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
            "given": given,
            "groups": groups,
            "time": time,
        }
        table = self._read(X, y, y, **by_row)
        _warn_of_classes(table.y)
        judged = self._train(table, SquaredLoss(), self._budget(), draw_seed(self.random_state))
        return self.keep([judged.fitted], None)

    @property
    def model_(self) -> Model:
        """The weighted sum of members that predicts."""
        (model,) = self.models_
        return model

    def predict(self, X: Any) -> Array:
        """Predictions in units of y; the sensitive attributes are not needed."""
        check_is_fitted(self)
        return self.model_.predict(read_features(self, X, self.model_.native))

    def to_onnx(self, path: str | Path) -> None:
        """Write the fitted model as an ONNX graph: input X (row, feature) in double, output the predictions. The names
        of the inputs are the entry ``features`` of the metadata, as JSON. A column of categories is read as numbers:
        that of each category is its place, from 0, in the entry ``categories``; missing and new ones are NaN. Dates are
        days since 1970.
        """
        check_is_fitted(self)
        write_onnx(self.model_, self._inputs, Path(path), self._categories)


def _warn_of_classes(target: Array) -> None:
    """Two values only are most likely two classes."""
    if len(np.unique(target)) == 2 and len(target) > 2:
        low, high = np.unique(target)
        warnings.warn(
            f"y has only the values {low:g} and {high:g}; for two classes use FairClassifier, which predicts "
            "probabilities.",
            ClassesWarning,
            stacklevel=4,  # the caller of fit
        )
