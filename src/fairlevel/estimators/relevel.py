"""relevel: the front of a model that exists, without training it again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from fairlevel.arrays import Array
from fairlevel.conditional_mean.factors import attributes_within
from fairlevel.data.features import as_dense, as_table, refuse_shuffled
from fairlevel.data.numbers import read_weights, refuse_missing
from fairlevel.data.sensitive import (
    Sensitive,
    as_frame,
    encode_sensitive,
    refuse_one_profile,
    refuse_too_many_attributes,
)
from fairlevel.data.splitting import AnyRows, read_splitting
from fairlevel.estimators.reading import copies_of_sensitive
from fairlevel.estimators.relevelled_front import GivenRows, RelevelledFront
from fairlevel.exceptions import InvalidInput, InvalidType, NegativePredictions, SeenRows, UnknownName
from fairlevel.fronts.evaluation import FEWEST_ROWS, Evaluation
from fairlevel.metrics.evaluator import with_learnt
from fairlevel.metrics.inputs import read_factors, read_seed
from fairlevel.progress import stage
from fairlevel.releveling.existing import UNNAMED
from fairlevel.releveling.fitting import CrossFitted, count_folds
from fairlevel.releveling.reading import METHODS, in_order, read_model
from fairlevel.threads import numpy_on_one_thread, use_threads

CHANCE_ERRORS = 2.0  # added to DPVar: of many mixtures, some look level on few rows by chance


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
    n_jobs: int | None = None,
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
    y : array of shape (rows,), numbers or classes, optional. With it, leaves also move towards what these rows say,
        unless the model has seen them; without it the front shows how far predictions move, not how accurate they are
    sample_weight : array of shape (rows,), optional
    given : array or frame of shape (rows,) or (rows, factors), optional; legitimate factors: only rows that share them
        are compared
    groups : array of shape (rows,), optional; rows with the same label belong together, such as the visits of one
        person: folds keep them together, and intervals count groups, not rows
    time : array of shape (rows,), numbers or dates, optional; folds are then stretches of time
    seen : whether the model was trained on these rows. Its errors there are too small, and so are those of the front
    method : how the trees of an ensemble change: "averages" for leaves that move against the disparity of the rows in
        them and, where y is known, towards it; "trees" for one weight per tree; "leaves" for the best value of every
        leaf, which costs far more. "correction" adds small new trees on top of any model. "auto" is "averages" for
        ensembles and "correction" for others
    points : models on the front
    random_state : int
    n_jobs : threads, as in :class:`fairlevel.FairRegressor`

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
    X = as_dense(X)
    seed = read_seed(random_state)
    if not isinstance(points, int | np.integer) or points < 2:
        raise InvalidInput(f"points={points!r} was given; a whole number ≥ 2 is needed.")
    by_row = {"sensitive_features": sensitive_features, "y": y, "given": given, "groups": groups, "time": time}
    refuse_shuffled(X=X, sample_weight=sample_weight, **by_row)
    weight = read_weights(sample_weight, len(X))
    if weight is not None and not weight.all():
        counted = np.flatnonzero(weight)
        X, weight = _safe_indexing(X, counted), weight[counted]
        sensitive_features, y, given, groups, time = (
            None if values is None else _safe_indexing(values, counted) for values in by_row.values()
        )
    rows = len(X)
    if rows < FEWEST_ROWS:
        that_count = "" if sample_weight is None else " of positive weight"
        raise InvalidInput(f"{rows} rows{that_count} were given; relevel needs at least {FEWEST_ROWS}.")
    sensitive = encode_sensitive(sensitive_features, rows)
    refuse_too_many_attributes(sensitive.values.shape[1], rows)
    refuse_one_profile(sensitive.values)
    factors = None if given is None else read_factors(given, sensitive)
    stage("reading the model and its predictions")
    with use_threads(n_jobs):
        existing, reason = read_model(model, X, method, seed)
    target = None if y is None else _target(y, rows, existing.classes)
    if existing.seen and not seen:
        warnings.warn(
            SeenRows(
                "These are the rows that the model was trained on, so its errors here, and those of the front, are too "
                "small; pass rows that it has not seen, or confirm with seen=True (--seen)."
            ),
            stacklevel=2,
        )
    splits = read_splitting(groups, time, X) or AnyRows(rows)
    attributes = attributes_within(sensitive.values, factors, weight, splits.groups, seed)
    stage("finding corrections")
    with use_threads(n_jobs):
        trained_on = seen or existing.seen
        fold = splits.folds(count_folds(rows), seed)
        attributes = with_learnt(attributes, existing.prediction, seed)
        # errors on rows that the model has seen are too small to learn from
        corrections = CrossFitted.of(existing, attributes, None if trained_on else target, fold, seed)
        stage("choosing among them")
        aim, combiner = existing.prediction if target is None else target, existing.response.combiner
        with numpy_on_one_thread():  # its threads would keep a core busy after their work
            evaluation = Evaluation.of(corrections.predictions, aim, attributes, fold, combiner, seed, CHANCE_ERRORS)
            given_rows = GivenRows(
                sensitive,
                as_frame(sensitive_features).reset_index(drop=True),
                None if given is None else as_frame(given).reset_index(drop=True),
                target,
                trained_on,
            )
            copies = _copies(in_order(model, X), sensitive)
            front = RelevelledFront(corrections.fitted, evaluation, int(points), given_rows, copies, reason)
            below_zero = front.below_zero_
    if below_zero:
        warnings.warn(NegativePredictions(below_zero), stacklevel=2)
    return front


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
    """A booster stores no names of classes; their order is that of sorted names."""
    try:
        values = np.unique(y)
    except TypeError:  # of several types, which have no order
        return UNNAMED
    return (values[0], values[1]) if len(values) == 2 else UNNAMED


def _copies(X: Any, sensitive: Sensitive) -> tuple[str, ...]:
    """Features that are (nearly) sensitive attributes."""
    numeric = pd.DataFrame(as_table(X)).select_dtypes("number")
    if numeric.empty:
        return ()
    names = [str(name) for name in numeric.columns] if hasattr(X, "columns") else None
    return tuple(copies_of_sensitive(numeric.to_numpy(dtype=np.float64), names, sensitive))
