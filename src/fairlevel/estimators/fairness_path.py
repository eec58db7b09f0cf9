"""FairnessPath: the whole trade-off between accuracy and level predictions as one object."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fairlevel.arrays import Array
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.fair_regressor import FairRegressor, read_table
from fairlevel.estimators.path_fit import Chosen, PathFit, Unseen
from fairlevel.estimators.path_recipe import Recipe
from fairlevel.exceptions import AlreadyLevel, InvalidInput, MissingSensitiveFeatures
from fairlevel.fronts.combiners import Combiner, Stacked
from fairlevel.fronts.points import non_dominated
from fairlevel.libraries import Solver
from fairlevel.metrics.profile import MeanProfile, mean_profiles
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties import Penalty
from fairlevel.plots.front import FrontDisplay
from fairlevel.predictors import Predictor


class FairnessPath(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Train a library of candidates, mix them on rows they have not seen, and offer every trade-off.

    Parameters
    ----------
    solver : str or object, default="auto"
        Where candidates come from: "auto" (several cheap families), "spectral" (two networks and an
        eigendecomposition), the name of any penalty (a grid over its weight), or an object such as
        ``PenaltyGrid(ClosedFBO(), weights)``.
    combiner : ``Stacked()`` or ``Best()``, default=None
        Whether models are mixtures of candidates or single ones; None stands for ``Stacked()``.
    predictor : str or predictor object, default="mlp"
    optimizer : str or optimiser object, default="adam"
    device : {"auto", "cpu", "cuda"}, default="auto"
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    front_ : DataFrame
        One row a model, from the most level to the most accurate: level (what was asked of the selection rows), mse,
        dpvar, dpvar_low, dpvar_high, share, networks (how many are mixed). Figures are from the reporting rows, in
        units of y².
    cross_fitted_ : bool
        Whether rows were few, so that figures come from folds instead of a set of their own.
    best_estimator_ : FairRegressor
        The knee of the front; ``predict`` uses it.
    knee_index_ : int
        Its row in the front.
    candidates_ : DataFrame
        The candidates of the library: family, weight.
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
        solver: str | Penalty | Solver = "auto",
        combiner: Combiner | None = None,
        predictor: str | Predictor = "mlp",
        optimizer: str | Optimizer = "adam",
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.solver = solver
        self.combiner = combiner
        self.predictor = predictor
        self.optimizer = optimizer
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> Self:
        """Train the library on (X, y) and judge it on rows it has not seen.

        Parameters
        ----------
        X : array or frame of shape (rows, features)
        y : array of shape (rows,)
        sensitive_features : array or frame of shape (rows,) or (rows, attributes)
        """
        table = read_table(self, X, y, sensitive_features)
        if table.sensitive is None:
            raise MissingSensitiveFeatures(
                "FairnessPath.fit got no sensitive_features. Pass fit(X, y, sensitive_features=A); inside a Pipeline "
                "or "
                "GridSearchCV also enable metadata routing and call set_fit_request(sensitive_features=True)."
            )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fit = self._recipe().fit(table, seed)
        self._fit, self._table = fit, table
        self.cross_fitted_ = fit.cross_fitted
        self.candidates_ = fit.trained.library.table
        front = _measured(fit)
        p_value = front.pop("p_value").iloc[-1]
        if p_value > 0.05:
            warnings.warn(
                AlreadyLevel(
                    "The sensitive attributes explain nothing of the most accurate prediction that these rows could "
                    f"show (p = {p_value:.2f}); the front is that one model."
                ),
                stacklevel=2,
            )
            front = front.iloc[-1:]
        self.front_ = front.reset_index(drop=True)
        self.knee_index_ = _knee_index(self.front_)
        self.best_estimator_ = self.knee()
        return self

    def predict(self, X: Any) -> Array:
        """Predictions of the knee, in units of y."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def best(self, *, max_dpvar: float | None = None, max_share: float | None = None) -> FairRegressor:
        """The most accurate model whose DPVar (units of y²), or share of the variance, stays within a budget on rows
        that set no shares.
        """
        check_is_fitted(self)
        budget = Budget.read("auto", max_dpvar, max_share)
        if budget is None:
            raise InvalidInput("No budget was given; pass best(max_dpvar=...) or best(max_share=...).")
        level = self._fit.level_within(budget)
        (chosen,) = self._fit.choices([level], self._table)
        return self._regressor(chosen, **{budget.name: budget.most})

    def knee(self) -> FairRegressor:
        """The model of the front that is farthest below the straight line between its ends, both figures scaled to
        [0, 1].
        """
        check_is_fitted(self)
        return self.model(self.knee_index_)

    def model(self, number: int) -> FairRegressor:
        """The model of a row of ``front_``, counted from 0, the most level one."""
        check_is_fitted(self)
        if not -len(self.front_) <= number < len(self.front_):
            raise InvalidInput(f"model({number}) was asked for; the front has rows 0 to {len(self.front_) - 1}.")
        return self._models(self.front_.iloc[[number]])[0]

    def models(self) -> list[FairRegressor]:
        """The models of all rows of ``front_``."""
        check_is_fitted(self)
        return self._models(self.front_)

    def profiles(self) -> dict[str, list[MeanProfile]]:
        """For each attribute the average prediction along it, one profile a row of ``front_``, from the rows that
        told the figures.
        """
        unseen = self._unseen()
        return {
            name: mean_profiles(unseen.predictions, unseen.sensitive[:, [k]])
            for k, name in enumerate(self._sensitive_names())
        }

    def conditional_means(self) -> Array:
        """E[f | A] for each row of ``front_`` at the rows that told the figures, (model, row)."""
        return self._fit.conditional_means(self._unseen())

    def plot(self, ax: Any = None) -> FrontDisplay:
        """Draw the front."""
        check_is_fitted(self)
        return FrontDisplay.from_frame(self.front_, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """A copy of the front."""
        check_is_fitted(self)
        return self.front_.copy()

    def __sklearn_is_fitted__(self) -> bool:
        """An interrupted fit is no fit."""
        return hasattr(self, "front_")

    def _unseen(self) -> Unseen:
        check_is_fitted(self)
        unseen = self._fit.unseen()
        return replace(unseen, predictions=unseen.predictions[-len(self.front_) :])

    def _sensitive_names(self) -> tuple[str, ...]:
        return () if self._table.sensitive is None else self._table.sensitive.names

    def _recipe(self) -> Recipe:
        return Recipe(
            self.solver,
            Stacked() if self.combiner is None else self.combiner,
            self.predictor,
            self.optimizer,
            self.device,
            self.verbose,
        )

    def _models(self, rows: pd.DataFrame) -> list[FairRegressor]:
        chosen = self._fit.choices(rows["level"].tolist(), self._table)
        budgets = rows["dpvar"].clip(lower=1e-12).tolist()
        return [self._regressor(each, max_dpvar=budget) for each, budget in zip(chosen, budgets, strict=True)]

    def _regressor(self, chosen: Chosen, **budget: Any) -> FairRegressor:
        """A fitted FairRegressor whose parameters say how to fit it again."""
        estimator = FairRegressor(
            **budget,
            penalty=self.solver,
            predictor=self.predictor,
            optimizer=self.optimizer,
            combiner=self.combiner,
            device=self.device,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        estimator.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            estimator.feature_names_in_ = self.feature_names_in_
        return estimator.keep_mixture(chosen)


def _knee_index(front: pd.DataFrame) -> int:
    """Row number of the knee; the most accurate model where the front has no bend."""
    points = non_dominated(front).points
    if len(points) <= 2:
        return len(front) - 1
    scaled = points[["mse", "dpvar"]].to_numpy()
    scaled = (scaled - scaled.min(axis=0)) / np.ptp(scaled, axis=0)
    return int(points.index[int(scaled.sum(axis=1).argmin())])


def _measured(fit: PathFit) -> pd.DataFrame:
    """One row a level, from the most level model to the most accurate one."""
    unseen = fit.unseen()
    intervals = fit.yardstick().intervals(unseen.predictions)
    levels = fit.calibration.level
    return pd.DataFrame(
        {
            "level": levels,
            "mse": ((unseen.predictions - unseen.target) ** 2).mean(axis=1),
            "dpvar": [interval.estimate for interval in intervals],
            "dpvar_low": [interval.low for interval in intervals],
            "dpvar_high": [interval.high for interval in intervals],
            "share": [interval.share for interval in intervals],
            "networks": [len(fit.trained.model(fit.mixture(level).shares).shares) for level in levels],
            "p_value": [interval.p_value for interval in intervals],
        }
    )
