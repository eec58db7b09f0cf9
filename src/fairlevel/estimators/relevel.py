"""relevel: the front of a model that exists, without training it again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.auditing.audit import Audit, audit
from fairlevel.conditional_mean.attributes import Attributes, KeptAttributes
from fairlevel.conditional_mean.factors import LegitimateFactors
from fairlevel.data.sensitive import Sensitive, encode_sensitive, refuse_shuffled, refuse_too_many_attributes
from fairlevel.data.splitting import AnyRows, read_splitting
from fairlevel.data.weights import read_weights
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.front_page import front_page
from fairlevel.estimators.judging import JudgedRows, Judgement, SelectionBudget, allowed, knee_index
from fairlevel.estimators.reading import copies_of_sensitive, refuse_missing
from fairlevel.exceptions import InvalidInput, InvalidType, SeenRows, UnknownName
from fairlevel.fronts.stacking import without_small_shares
from fairlevel.metrics.class_figures import class_figures
from fairlevel.metrics.inputs import read_factors, read_seed
from fairlevel.metrics.profile import MeanProfile, attribute_profiles
from fairlevel.metrics.reliability import Reliability, reliability
from fairlevel.plots.front import FrontDisplay
from fairlevel.releveling.fitting import FOLDS, FittedCorrections, cross_fitted
from fairlevel.releveling.protocol import UNNAMED, ExistingModel
from fairlevel.releveling.reading import METHODS, read_model
from fairlevel.report.provenance import Provenance
from fairlevel.report.render import write_page

FEWEST_ROWS = 60
QUANTILES = 201
GIVEN = "model as it was given"


def relevel(
    model: Any,
    X: Any,
    *,
    sensitive_features: Any,
    y: Any = None,
    sample_weight: Any = None,
    given: Any = None,
    groups: Any = None,
    time: Any = None,
    seen: bool = False,
    method: str = "auto",
    points: int = 12,
    random_state: Any = 0,
) -> RelevelledFront:
    """The trade-off between a model as it is and a level one, from the model and some rows with A.

    Trees of LightGBM, XGBoost, scikit-learn and CatBoost are weighted anew or get other values in their leaves; the
    result is a model of the same type. Any other model gets a correction on top. The model is never trained again, and
    A is not needed to predict.

    Parameters
    ----------
    model : a fitted regressor or classifier of two classes, a Pipeline that ends in one, or a function that predicts
        numbers. DPVar of a classifier is that of the probability of its second class
    X : rows as the model reads them, best rows that it has not seen
    sensitive_features : array or frame of shape (rows,) or (rows, attributes)
    y : array of shape (rows,), numbers or classes, optional; without it the front shows how far predictions move, not
        how accurate they are
    sample_weight : array of shape (rows,), optional
    given : array or frame of shape (rows,) or (rows, factors), optional; legitimate factors: only rows that share them
        are compared
    groups : array of shape (rows,), optional; rows with the same label belong together, such as the visits of one
        person: folds keep them together, and intervals count groups, not rows
    time : array of shape (rows,), numbers or dates, optional; folds are then stretches of time
    seen : whether the model was trained on these rows. Its errors there are too small, and so are those of the front
    method : "auto"; "trees" for one weight per tree; "leaves" for one value per leaf, which costs more and gives more;
        "grown" for weights and small new trees, which are added to a LightGBM model; "correction" for a correction on
        top of any model. "auto" uses trees, leaves where they are few, and new trees where they can be added
    points : models on the front
    random_state : int

    Returns
    -------
    RelevelledFront

    Examples
    --------
    >>> from fairlevel import relevel
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X[:200], y[:200])
    >>> front = relevel(model, X[200:], sensitive_features=X.loc[200:, ["age"]], y=y[200:])
    >>> type(front.best(max_share=0.2)).__name__
    'RandomForestRegressor'
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    seed, rows = read_seed(random_state), len(X)
    if rows < FEWEST_ROWS:
        raise InvalidInput(f"{rows} rows were given; relevel needs at least {FEWEST_ROWS}.")
    if not isinstance(points, int | np.integer) or points < 2:
        raise InvalidInput(f"points={points!r} was given; a whole number ≥ 2 is needed.")
    refuse_shuffled(X, sensitive_features)
    sensitive = encode_sensitive(sensitive_features, rows)
    refuse_too_many_attributes(sensitive.values.shape[1], rows)
    weight = read_weights(sample_weight, rows)
    factors = None if given is None else read_factors(given, sensitive, X)
    existing, reason = read_model(model, X, method, seed)
    target = None if y is None else _target(y, rows, existing.classes)
    if existing.seen and not seen:
        warnings.warn(
            SeenRows(
                "These are the rows that the model was trained on, so its errors here are too small, and those of the "
                "front, too; pass rows that it has not seen, or seen=True to say that you know."
            ),
            stacklevel=2,
        )
    splits = read_splitting(groups, time, X) or AnyRows(rows)
    attributes = Attributes(sensitive.values, row_weight=weight, groups=splits.groups)
    if factors is not None:
        functions = LegitimateFactors.of(factors, weight, seed, splits.groups)
        attributes = functions.attributes(sensitive.values, factors, weight, splits.groups)
    found = Judged.of(existing, attributes, target, int(points), splits.folds(FOLDS, seed), seed)
    about = About(existing.kind, seen or existing.seen, _copies(X, sensitive), reason)
    return RelevelledFront(existing, found, sensitive, target, about, factors)


@dataclass(frozen=True)
class About:
    """What is known of the model: what it is, whether it has seen the rows, which of its features are sensitive, and
    why its own trees could not be changed, if so.
    """

    kind: str
    seen: bool
    sensitive_inputs: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True)
class Judged:
    """Candidates judged on rows that did not fit them; the last point is the model as it is. ``centre`` and ``scale``
    are mean and standard deviation of the aim: y, or the model's predictions where there is none.
    """

    fitted: FittedCorrections
    judgement: Judgement
    centre: float
    scale: float

    @classmethod
    def of(
        cls,
        model: ExistingModel,
        attributes: Attributes,
        target: Array | None,
        points: int,
        fold: Index,
        seed: int,
    ) -> Judged:
        """What is judged on a fold is fitted on the others; fold (row,)."""
        rows, weight = KeptAttributes.of(attributes), attributes.weight
        aim = model.prediction if target is None else target
        centre = float(weight @ aim)
        scale = float(np.sqrt(weight @ (aim - centre) ** 2)) or 1.0
        candidates = (cross_fitted(model, rows, fold, seed) - centre) / scale
        judged = JudgedRows.of(candidates, (aim - centre) / scale, rows, fold, model.response.combiner, seed)
        budgets = SelectionBudget.points(judged.choosing, points - 1)
        fitted = FittedCorrections.on(model, rows, np.arange(len(rows)), seed)
        return cls(fitted, Judgement(judged, budgets, scale, last=candidates[0]), centre, scale)

    @property
    def budgets(self) -> Sequence[SelectionBudget]:
        """One per point but the last."""
        return self.judgement.budgets

    @property
    def weight(self) -> Array:
        """Of the rows, summing to 1, (row,)."""
        return self.judgement.judged.attributes.weight

    @cached_property
    def predictions(self) -> Array:
        """Of the points, in units of y, (point, row)."""
        shown: Array = self.judgement.predictions * self.scale + self.centre
        return shown

    @cached_property
    def means(self) -> Array:
        """E[f | A] of the points, (point, row)."""
        judged = self.judgement.judged
        return judged.mean.fitted(self.predictions, judged.attributes, judged.seed)

    def shares(self, budget: SelectionBudget) -> Array:
        """Shares of the candidates within a budget on these rows, (candidate,)."""
        return without_small_shares(budget.nearest(self.judgement.judged.choosing).shares)


class RelevelledFront:
    """What :func:`relevel` returns: models between the one given and a level one.

    Attributes
    ----------
    front_ : DataFrame
        One row per model, from the least disparity to the model as it is: selection_dpvar, mse (NaN without y),
        mse_valid (False for rows that the model has seen), distance (mean squared change of the predictions), dpvar,
        dpvar_low, dpvar_high, share, members (how many candidates are mixed). Of a classifier with y, there are also
        log_loss and auc, and mse is the Brier score. Figures are in units of y², from rows
        that did not fit the correction. Intervals are most of the work: they are computed when the front is first
        read, and models can be taken without them.
    knee_index_ : int
        The row of the knee.
    kind_ : str
        What the model is.
    seen_ : bool
        Whether the rows are known to the model.
    sensitive_inputs_ : tuple of str
        Features of the model that are (nearly) sensitive attributes.
    classes_ : tuple or None
        Both classes of a classifier; figures are those of the probability of the second one.
    """

    cross_fitted_ = True

    def __init__(
        self,
        model: ExistingModel,
        judged: Judged,
        sensitive: Sensitive,
        target: Array | None,
        about: About,
        factors: Array | None = None,
    ) -> None:
        self._model, self._judged, self._sensitive, self._target = model, judged, sensitive, target
        self._factors = factors
        self.kind_, self.seen_, self.sensitive_inputs_, self.reason_ = (
            about.kind,
            about.seen,
            about.sensitive_inputs,
            about.reason,
        )
        self.classes_ = model.classes

    @cached_property
    def front_(self) -> pd.DataFrame:
        return self._measured(self._judged)

    @cached_property
    def knee_index_(self) -> int:
        return knee_index(self.front_.rename(columns={"distance": "mse", "mse": "error"}))

    def __len__(self) -> int:
        """How many models there are."""
        return len(self._judged.budgets) + 1

    def __repr__(self) -> str:
        last = self.front_.iloc[-1]
        first = self.front_.iloc[0]
        text = f"{len(self.front_)} models, share from {first['share']:.1%} to {last['share']:.1%}; {self.kind_}"
        return f"<RelevelledFront: {text}{', rows seen in training' if self.seen_ else ''}>"

    def best(self, *, max_dpvar: float | None = None, max_share: float | None = None) -> Any:
        """The model that changes least and whose DPVar (units of y²), or share of the variance, stays within a budget
        on rows that did not fit it; of the type that was given to :func:`relevel` where that is possible.
        """
        chosen = self._within(Budget.read("auto", max_dpvar, max_share))
        return self.model(-1) if chosen is None else self._changed(self._judged.shares(chosen))

    def figures(self, *, max_dpvar: float | None = None, max_share: float | None = None) -> pd.Series:
        """What ``front_`` would show of the model that :meth:`best` gives for the same budget."""
        chosen = self._within(Budget.read("auto", max_dpvar, max_share))
        if chosen is None:
            return self.front_.iloc[-1]
        alone = replace(self._judged, judgement=replace(self._judged.judgement, budgets=[chosen]))
        return self._measured(alone).iloc[0]

    def model(self, number: int) -> Any:
        """The model of a row of ``front_``, counted from 0; the last one is the model as it was given."""
        if not -len(self) <= number < len(self):
            raise InvalidInput(f"model({number}) was asked for; the front has rows 0 to {len(self) - 1}.")
        if number in (-1, len(self) - 1):
            return self._changed(np.eye(len(self._judged.fitted))[0])
        return self._changed(self._judged.shares(self._judged.budgets[number % len(self)]))

    def models(self) -> list[Any]:
        """The models of all rows of ``front_``."""
        return [self.model(number) for number in range(len(self))]

    def knee(self) -> Any:
        """The model of the front that is farthest below the straight line between its ends."""
        return self.model(self.knee_index_)

    def profiles(self) -> dict[str, list[MeanProfile]]:
        """For each attribute the average prediction along it, one profile per row of ``front_``."""
        sensitive = self._sensitive
        return attribute_profiles(self._judged.predictions, sensitive, sensitive.values, self._judged.weight)

    def conditional_means(self) -> Array:
        """How E[f | A] is distributed: 201 quantiles for each row of ``front_``, (model, quantile)."""
        return np.quantile(self._judged.means, np.linspace(0, 1, QUANTILES), axis=1).T

    def reliabilities(self) -> list[Reliability]:
        """Of probabilities, one per row of ``front_``; none for a regressor, or without y."""
        if self.classes_ is None or self._target is None:
            return []
        weight = self._judged.weight
        return [reliability(self._target, p.clip(0, 1), sample_weight=weight) for p in self._judged.predictions]

    def provenance(self) -> Provenance:
        """Where the figures of the front come from."""
        how = "All figures are from rows that did not fit the correction, by cross-validation over all rows."
        names = tuple(column.name for column in self._sensitive.columns) or self._sensitive.names
        return Provenance(
            rows_used=len(self._judged.weight),
            columns={"sensitive": names},
            settings={"model": self.kind_},
            method=(how,),
        )

    def audit(self, number: int) -> Audit:
        """An audit of a row of ``front_``, on rows that did not fit its correction."""
        frame = pd.DataFrame(self._sensitive.values, columns=list(self._sensitive.names))
        prediction, weight = self._judged.predictions[number], self._judged.weight
        return audit(prediction, sensitive_features=frame, sample_weight=weight, given=self._factors)

    def plot(self, ax: Any = None) -> FrontDisplay:
        """Draw the front."""
        return FrontDisplay.from_frame(self._shown(), ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """A copy of the front."""
        return self._shown()

    def to_html(self, path: str | Path, target: str = "the prediction") -> None:
        """Write the front as one self-contained page."""
        write_page(front_page(self, target, notes=self.notes(), before=GIVEN), Path(path))

    def notes(self) -> tuple[str, ...]:
        """What a reader of the front has to know, in sentences."""
        notes = [f"The model: {self.kind_}. The last point is the model as it was given."]
        if self.front_["mse"].isna().all():
            notes.append("No target was given: the error is the mean squared change of the predictions.")
        if self.seen_:
            notes.append("The model was trained on these rows: errors are too small and not valid.")
        if self.sensitive_inputs_:
            notes.append(f"The model reads sensitive attributes: {', '.join(self.sensitive_inputs_)}.")
        if self.reason_:
            notes.append(f"A correction was added, because the trees cannot be changed: {self.reason_}")
        return tuple(notes)

    def _within(self, budget: Budget | None) -> SelectionBudget | None:
        """The budget on selection rows that keeps a user's; None where the model as it is keeps it."""
        if budget is None:
            raise InvalidInput("No budget was given; pass best(max_dpvar=...) or best(max_share=...).")
        judgement = self._judged.judgement
        plain = judgement.intervals[-1]
        if (plain.share_high if budget.name == "max_share" else plain.high) <= budget.most:
            return None
        return allowed(judgement.calibration(budget.name), budget)

    def _measured(self, judged: Judged) -> pd.DataFrame:
        """One row per point."""
        front = _front(judged, self._target, self.seen_)
        if self.classes_ is None or self._target is None:
            return front
        return front.assign(**class_figures(judged.predictions, self._target, judged.weight))

    def _shown(self) -> pd.DataFrame:
        """The front with the distance in place of an error that is not known."""
        front = self.front_.copy()
        front["mse"] = front["mse"].fillna(front["distance"])
        return front

    def _changed(self, shares: Array) -> Any:
        fitted = self._judged.fitted
        return self._model.changed(fitted.change(shares), fitted.families)


def _front(judged: Judged, target: Array | None, seen: bool) -> pd.DataFrame:
    predictions, weight, intervals = judged.predictions, judged.weight, judged.judgement.intervals
    error = np.full(len(predictions), np.nan) if target is None else (predictions - target) ** 2 @ weight
    members = [int((judged.shares(budget) > 0).sum()) for budget in judged.budgets]
    return pd.DataFrame(
        {
            "selection_dpvar": [*(budget.most for budget in judged.budgets), np.inf],
            "mse": error,
            "mse_valid": not seen and target is not None,
            "distance": (predictions - predictions[-1]) ** 2 @ weight,
            "dpvar": [interval.estimate for interval in intervals],
            "dpvar_low": [interval.low for interval in intervals],
            "dpvar_high": [interval.high for interval in intervals],
            "share": [interval.share for interval in intervals],
            "members": [*members, 1],
        }
    )


def _target(y: Any, rows: int, classes: tuple[Any, Any] | None) -> Array:
    """Numbers, or for a classifier 0 and 1, (row,)."""
    given = np.asarray(y).reshape(-1)
    if len(given) != rows:
        raise InvalidInput(f"y has {len(given)} rows but X has {rows}; pass the same rows.")
    if classes is not None:
        classes = _named(given) if classes is UNNAMED else classes
        other = given[(given != classes[0]) & (given != classes[1])]
        if len(other):
            raise InvalidInput(f"y holds {str(other[0])!r}; the model knows {str(classes[0])!r}, {str(classes[1])!r}.")
        return np.where(given == classes[1], 1.0, 0.0)
    try:
        target = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidType(f"y holds values that are not numbers ({error}), but the model predicts numbers.") from None
    refuse_missing("y", target)
    return target


def _named(y: Any) -> tuple[Any, Any]:
    """A booster has forgotten what its classes were called; they were numbered in their order."""
    values = np.unique(y.astype(str)) if y.dtype == object else np.unique(y)
    return (values[0], values[1]) if len(values) == 2 else UNNAMED


def _copies(X: Any, sensitive: Sensitive) -> tuple[str, ...]:
    """Features that are (nearly) sensitive attributes."""
    numeric = X.select_dtypes("number") if isinstance(X, pd.DataFrame) else None
    values = np.asarray(X, dtype=np.float64) if numeric is None else numeric.to_numpy(dtype=np.float64)
    names = None if numeric is None else [str(name) for name in numeric.columns]
    return tuple(copies_of_sensitive(values, names, sensitive))
