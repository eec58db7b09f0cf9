"""FairnessPath: the whole trade-off between accuracy and level predictions as one object."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fairlevel.arrays import Array
from fairlevel.auditing.questions import check_threshold
from fairlevel.candidates import CandidateSource
from fairlevel.candidates.own_models import WithOwnModels
from fairlevel.candidates.protocol import for_columns
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.features import refuse_shuffled
from fairlevel.data.native_columns import WrittenFrame
from fairlevel.data.sensitive import as_frame
from fairlevel.data.splitting import read_splitting
from fairlevel.data.table import Table
from fairlevel.estimators.fair_classifier import FairClassifier, two_classes
from fairlevel.estimators.fair_estimator import reads_gaps
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.estimators.feature_rows import read_rows
from fairlevel.estimators.fitted_model import FittedModel
from fairlevel.estimators.front import Front, FrontReport, MeasuredModels
from fairlevel.estimators.front_page import front_page
from fairlevel.estimators.path_fit import TRAINING, EvaluatedPath, PathFit, evaluated_path
from fairlevel.estimators.reading import read_table
from fairlevel.estimators.settings import (
    default_predictor,
    draw_seed,
    own_models,
    path_settings,
    training_setup,
    warn_of_unused,
)
from fairlevel.estimators.whole_fit import all_or_nothing
from fairlevel.exceptions import (
    AlreadyLevel,
    AuditSeesMore,
    BudgetOutOfReach,
    InvalidInput,
    MissingSensitiveFeatures,
    NoBetterThanTheMean,
)
from fairlevel.fronts.budget import Budget
from fairlevel.fronts.combiners import Combiner
from fairlevel.fronts.evaluation import Points
from fairlevel.fronts.points import check_row, knee_index
from fairlevel.losses import Logistic, SquaredLoss
from fairlevel.metrics.interval import interval_columns
from fairlevel.penalties import Penalty
from fairlevel.predictors import Predictor
from fairlevel.progress import share_of, shown, stage
from fairlevel.report.provenance import Provenance
from fairlevel.report.render import write_page


class FairnessPath(Front, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Train candidates, mix them on rows they have not seen, and offer every trade-off.

    A target of two values is classified, any other one is regressed on. scikit-learn therefore sees a regressor until
    ``fit`` and, after a fit to two classes, a classifier: ``predict`` gives classes, ``score`` the accuracy, and
    scorers such as "roc_auc" read ``predict_proba``. Tools that ask before ``fit``, such as ``cross_val_score``, need a
    stratified ``cv`` where classes are rare.

    Parameters
    ----------
    solver : str or object, default="auto"
        Where candidates come from: "auto" (boosters, linear models of the features, of random waves and of what a
        small network has learnt, and the constant), "boosting" (boosters alone), "relevel" (one booster, whose trees
        are weighted anew), "spectral" (two networks and an eigendecomposition; needs PyTorch), the name of any penalty
        (a grid over its weight; docs/methods.md describes them), or an object such as
        ``PenaltyGrid.over(ClosedFBO(), weights)``.
    combiner : ``Stacked()`` or ``Best()``, default=None
        Whether models are mixtures of candidates or single ones; None stands for ``Stacked()``.
    predictor : str, predictor object or nn.Module, default=None
        As in :class:`fairlevel.FairRegressor`; None leaves "auto" its own. Give a module that
        has not seen the rows.
    optimizer : str or optimiser object, default="adam"
    models : list of regressors, or of classifiers where y has two classes, default=None
        Own models as further candidates. Unfitted ones are fitted inside the folds, like all other candidates. A fitted
        one is given as ``FrozenEstimator(model)`` of scikit-learn and stays as it is; it is judged on rows that are
        declared unseen in ``fit``, and a frozen classifier knows the classes of y. They get X as it was given; a
        warning of type :class:`fairlevel.exceptions.ChangedCells` names columns where that is not possible, such as
        whole numbers beyond 2⁵³.
    threshold : float, default=0.5
        Where y has two classes, decisions are judged, too: the second class where its probability is at least this.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where networks train.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        From 1 on, the stages of the fit are shown on standard error: as bars on a terminal, as lines elsewhere. The
        logger "fairlevel" hears of them in any case.
    encoder : ``TableEncoder()``, optional
        Turns a table with text, dates and gaps into numbers. It is learnt inside the folds, from training rows only, so
        that categories which a fold lacks count as unseen. Models take the table as it is; own ``models`` get the
        encoded rows.
    max_dpvar, max_share : float, optional
        A budget whose model becomes a further row of the front, with figures from the same rows as the others; where it
        is out of reach, a warning says so, and the front is kept. :meth:`best` finds the model of any other budget.
    n_jobs : int, optional
        As in :class:`fairlevel.FairRegressor`.

    Attributes
    ----------
    front_ : DataFrame
        One row per model, from the least disparity to the most accurate: selection_dpvar (the DPVar that was allowed on
        selection rows, in squared standard deviations of y on the rows that are judged), mse, dpvar, dpvar_low,
        dpvar_high, share, members (how many models are mixed), r2. Figures are from rows that neither trained the
        candidates nor set their proportions, in units of y². Where y has two classes, mse is the Brier score, and
        instead of r2 there are log_loss, auc, accuracy and decision_dpvar, the DPVar of decisions at the threshold.
    cross_fitted_ : bool
        Whether all rows are judged by cross-validation, as fewer than 40,000 are that have no order in time, instead
        of a quarter kept apart.
    best_estimator_ : FairRegressor or FairClassifier
        What ``predict`` uses: the model within the budget, where one was asked for and is within reach, else the knee.
    classes_ : array of shape (2,), or None for a regression
        A target with two values, of any type, is classified: models are then of type FairClassifier.
    knee_index_ : int
        The row of the knee in the front.
    budget_index_ : int or None
        The row in the front of the model within the budget that was asked for; None where there is none.
    candidates_ : DataFrame
        One row per candidate: family, setting, weight, learning_rate, status, steps.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from fairlevel import FairnessPath
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = FairnessPath(solver="spectral", predictor="linear", random_state=0)
    >>> path = path.fit(X.drop(columns="bmi"), y, sensitive_features=X[["bmi"]])
    >>> model = path.best(max_share=0.1)
    >>> model.predict(X.drop(columns="bmi")).shape
    (442,)
    """

    def __init__(
        self,
        solver: str | Penalty | CandidateSource = "auto",
        combiner: Combiner | None = None,
        predictor: str | Predictor | Any | None = None,
        optimizer: Any = "adam",
        models: Sequence[Any] | None = None,
        threshold: float = 0.5,
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        encoder: TableEncoder | None = None,
        max_dpvar: float | None = None,
        max_share: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.solver = solver
        self.combiner = combiner
        self.predictor = predictor
        self.optimizer = optimizer
        self.models = models
        self.threshold = threshold
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.encoder = encoder
        self.max_dpvar = max_dpvar
        self.max_share = max_share
        self.n_jobs = n_jobs

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
        unseen: Any = None,
    ) -> Self:
        """Train candidates on (X, y) and judge them on rows they have not seen.

        Parameters
        ----------
        X : array or frame of shape (rows, features)
        y : array of shape (rows,)
        sensitive_features : array or frame of shape (rows,) or (rows, attributes). Rows in which a number is missing
            (NaN) train accuracy, and are not judged
        sample_weight : array of shape (rows,), optional; how many rows each row counts for
        given : array or frame of shape (rows,) or (rows, factors), optional; legitimate factors L: DPVar is then that
            within L, for training, budgets and the front
        groups : array of shape (rows,), optional; rows with the same label belong together, such as the visits of one
            person: splits keep them on one side, and intervals count groups, not rows
        time : array of shape (rows,), numbers or dates, optional; held-out rows are then the latest ones
        unseen : True or array of booleans of shape (rows,), needed with a FrozenEstimator in ``models``: which rows
            those models were not trained on. Only such rows are judged
        """
        budget = Budget.read("auto", self.max_dpvar, self.max_share)
        predictor = default_predictor(self.predictor, self.solver)
        refuse_shuffled(
            X=X,
            y=y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            given=given,
            groups=groups,
            time=time,
            unseen=unseen,
        )
        classes, target = two_classes(y)
        if classes is not None:
            check_threshold(self.threshold)
        splitting = read_splitting(groups, time, target)
        rows = read_rows(self, X, target, native=predictor.native, encoder=self.encoder)
        self.native_columns_ = rows.columns
        table = read_table(rows, sensitive_features, sample_weight, given, splitting)
        self.classes_ = classes
        self._factors = () if given is None else tuple(map(str, as_frame(given, "given").columns))
        if table.sensitive is None:
            raise MissingSensitiveFeatures(
                "FairnessPath.fit got no sensitive_features. Pass fit(X, y, sensitive_features=A); inside a Pipeline "
                "or GridSearchCV also enable metadata routing and call set_fit_request(sensitive_features=True)."
            )
        warn_of_unused(self.optimizer, predictor, self.solver, self.predictor is not None, stacklevel=3)
        predictor = for_columns(predictor, table.categorical)
        seed = draw_seed(self.random_state)
        loss = SquaredLoss() if classes is None else Logistic.of(table.y, table.row_weight)
        setup = training_setup(predictor, self.optimizer, self.device, seed, loss)
        settings = path_settings(self.solver, self.combiner, setup, self.predictor is not None)
        models, not_trained_on = own_models(self.models, unseen, len(np.asarray(y)), classes)
        if models:
            columns = WrittenFrame.of(X, self.native_columns_) if table.encoding is None else WrittenFrame(None)
            columns.warn_of_changes(X, rows.x)
            source = WithOwnModels(settings.recipe.source, models, columns, classes)
            judged = None if not_trained_on is None else not_trained_on[table.given_rows]
            settings = replace(settings, recipe=replace(settings.recipe, source=source), unseen=judged)
        with shown(self.verbose > 0):
            path = evaluated_path(table, settings, share_of(TRAINING))
            stage("measuring the front on rows that it has not seen")
            self._measure(path, table, budget)
        return self

    def _measure(self, path: EvaluatedPath, table: Table, budget: Budget | None) -> None:
        """The front, and what is kept of the rows that it was measured on."""
        points = path.points()
        self._fit = path.fit(points, path.evaluation.points_of_shares())
        within = None if budget is None else _reachable(self._fit, budget)
        points, row_within = _with_point(path, points, within)
        models = MeasuredModels.of_path(path, points, table, classifies=self.classes_ is not None)
        stage("describing the models")
        front = self._figures(points, models)
        worth_showing = _worth_showing(front, models, row_within)
        models = models.some(worth_showing)
        self.cross_fitted_ = path.cross_fitted
        self.candidates_ = path.fitted.candidates.table
        self.front_ = front.iloc[worth_showing].reset_index(drop=True)
        self.budget_index_ = None if row_within is None else worth_showing.index(row_within)
        self._budgets = [points.budgets[row] for row in worth_showing]
        self._described, self._rows, self._held_out_rows = models.report(), len(table), len(path.numbers)
        self.knee_index_ = knee_index(self.front_)
        best = self.knee_index_ if self.budget_index_ is None else self.budget_index_
        self.best_estimator_ = self.model(best)
        name = "knee" if self.budget_index_ is None else "model within the budget"
        self._seen_by_an_audit: str | None = models.seen_by_an_audit(best, name)
        if self._seen_by_an_audit is not None:
            warnings.warn(AuditSeesMore(self._seen_by_an_audit), stacklevel=4)

    def predict(self, X: Any) -> Array:
        """Predictions of ``best_estimator_``, in units of y, or classes."""
        check_is_fitted(self)
        predictions: Array = self.best_estimator_.predict(X)
        return predictions

    @available_if(lambda path: getattr(path, "classes_", None) is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of both classes by ``best_estimator_``, (row, class); where y has two classes."""
        check_is_fitted(self)
        probabilities: Array = self.best_estimator_.predict_proba(X)
        return probabilities

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of ``best_estimator_``, or its accuracy where y has two classes."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight=sample_weight))

    def best(self, *, max_dpvar: float | None = None, max_share: float | None = None) -> Any:
        """The most accurate model whose DPVar (units of y²), or share of the variance, stays within a budget on rows
        that set no proportions.
        """
        check_is_fitted(self)
        budget = Budget.required(max_dpvar, max_share)
        return self._estimator(self._fit.within(budget), **{budget.name: budget.limit})

    def model(self, number: int) -> Any:
        """The model of a row of ``front_``, counted from 0, the one with the least disparity."""
        check_is_fitted(self)
        check_row(number, len(self.front_))
        chosen = self._fit.model(self._budgets[number])
        if self.budget_index_ == number % len(self.front_):
            return self._estimator(chosen, max_dpvar=self.max_dpvar, max_share=self.max_share)
        return self._estimator(chosen, max_dpvar=max(self.front_.iloc[number]["dpvar"], 1e-12))

    @property
    def models_(self) -> list[Any]:
        """The models of all rows of ``front_``."""
        check_is_fitted(self)
        return [self.model(number) for number in range(len(self.front_))]

    def seen_by_an_audit(self) -> str | None:
        """What an audit of ``best_estimator_`` would find beyond the front, in words; None where it agrees."""
        check_is_fitted(self)
        return self._seen_by_an_audit

    def provenance(self) -> Provenance:
        """Where the figures of the front come from."""
        check_is_fitted(self)
        measured = "rows that neither trained the models nor set their mixture"
        if self.cross_fitted_:
            how = f"All figures are from {measured}, by cross-validation over all {self._held_out_rows:,} rows."
        else:
            how = f"All figures are from {self._held_out_rows:,} {measured}, kept apart at random."
        names = getattr(self, "feature_names_in_", None)
        columns = {"sensitive": tuple(self._report.profiles), "given": self._factors}
        settings = {"solver": self.solver, "predictor": self.predictor, "combiner": self.combiner}
        if self.classes_ is not None:
            settings |= {"classes": ", ".join(map(str, self.classes_)), "threshold": f"{self.threshold:g}"}
        return Provenance(
            rows_used=self._rows,
            columns=columns | {"feature": () if names is None else tuple(map(str, names))},
            settings={"model": type(self).__name__}
            | {name: str(value) for name, value in settings.items() if value is not None},
            seed=self.random_state if isinstance(self.random_state, int) else None,
            method=(how,),
        )

    def knee(self) -> Any:
        check_is_fitted(self)
        return super().knee()

    def to_frame(self) -> pd.DataFrame:
        check_is_fitted(self)
        return super().to_frame()

    def to_html(self, path: str | Path, target: str = "y") -> None:
        """Write the front as one self-contained page; ``target`` is what y is called."""
        check_is_fitted(self)
        write_page(front_page(self, target), Path(path))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.__sklearn_is_fitted__() and self.classes_ is not None:
            tags.estimator_type, tags.classifier_tags, tags.regressor_tags = "classifier", ClassifierTags(), None
        tags.input_tags.allow_nan = self.encoder is not None or reads_gaps(self.predictor, self.solver)
        tags.input_tags.sparse = self.encoder is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """An interrupted fit is no fit."""
        return hasattr(self, "knee_index_")

    @property
    def _report(self) -> FrontReport:
        check_is_fitted(self)
        report: FrontReport = self._described
        return report

    def _figures(self, points: Points, models: MeasuredModels) -> pd.DataFrame:
        """One row per point."""
        chosen = [self._fit.model(budget) for budget in points.budgets]
        return pd.DataFrame(
            {
                "selection_dpvar": [self._fit.choice.nearest(budget).dpvar for budget in points.budgets],
                "mse": models.errors,
                **interval_columns(models.intervals),
                "members": [len(model.model) for model in chosen],
                **models.further_figures(None if self.classes_ is None else self.threshold),
            }
        )

    def _estimator(self, model: FittedModel, **budget: Any) -> Any:
        """A fitted FairRegressor or FairClassifier whose parameters say how to fit it again, own models apart."""
        estimator: Any = (FairRegressor if self.classes_ is None else FairClassifier)(
            **budget,
            penalty=self.solver,
            predictor=self.predictor,
            optimizer=self.optimizer,
            combiner=self.combiner,
            device=self.device,
            random_state=self.random_state,
            verbose=self.verbose,
            encoder=self.encoder,
            n_jobs=self.n_jobs,
        )
        estimator.n_features_in_ = self.n_features_in_
        estimator.native_columns_ = self.native_columns_
        if hasattr(self, "feature_names_in_"):
            estimator.feature_names_in_ = self.feature_names_in_
        return estimator.keep([model], self.classes_)


def _reachable(fit: PathFit, budget: Budget) -> Budget | None:
    """The budget on the rows that set proportions that keeps a user's; None, and a warning, where it is out of reach:
    the front is kept.
    """
    try:
        return fit.calibrations[budget.name].budget(budget)
    except InvalidInput as error:
        warnings.warn(BudgetOutOfReach(str(error)), stacklevel=5)  # the caller of fit
        return None


def _with_point(path: EvaluatedPath, points: Points, budget: Budget | None) -> tuple[Points, int | None]:
    """The points and the one within a budget, and its number among them; without a limit, the last point keeps it."""
    if budget is None:
        return points, None
    if budget.limit == np.inf:
        return points, len(points.budgets) - 1
    choice = path.evaluation.choice
    limits = [choice.nearest(of_point).dpvar for of_point in points.budgets]
    row = min(int(np.searchsorted(limits, choice.nearest(budget).dpvar)), len(limits) - 1)
    return points.with_point(row, path.evaluation.points([budget])), row


def _worth_showing(front: pd.DataFrame, models: MeasuredModels, row_within: int | None) -> list[int]:
    """The rows of a front: where the most accurate model is level already, it is the only one, apart from the one that
    was asked for.
    """
    p_value, last = models.intervals[-1].p_value, len(front) - 1
    rows = list(range(len(front)))
    if p_value > 0.05:
        warnings.warn(
            AlreadyLevel(
                f"No disparity was found in the most accurate model (p = {p_value:.2f}), so there is nothing to "
                "trade off; the front is that one model."
            ),
            stacklevel=5,  # the caller of fit
        )
        rows = sorted({last if row_within is None else row_within, last})
    r2 = front.iloc[rows]["r2"].max() if "r2" in front else np.inf
    if r2 <= 0:
        warnings.warn(
            NoBetterThanTheMean(
                f"No model errs less on unseen rows than the average of y (the largest R² is {r2:.2f}): do not use "
                "these models. Try fewer columns, more rows, or another solver."
            ),
            stacklevel=5,
        )
    return rows
