"""Audits of predictions across sensitive attributes, in numbers, plots and plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, overload

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.auditing.answer import METHOD, Audit, Verdict
from fairlevel.auditing.by_group import group_table, is_grouping, read_groups
from fairlevel.auditing.flags import rare_categories, repeated_rows
from fairlevel.auditing.questions import ask, decisions, refuse_other_labels
from fairlevel.auditing.side_figures import SIDE_ROWS, SideFigures
from fairlevel.auditing.stored_audit import StoredAudit, audit_stored
from fairlevel.data.features import refuse_shuffled
from fairlevel.data.numbers import rounding_limit
from fairlevel.data.sensitive import as_frame, refuse_one_profile
from fairlevel.data.stored_rows import Roles, is_stored
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.extras import has_networks, networks
from fairlevel.metrics.dpvar import interval_of_rows
from fairlevel.metrics.inputs import MOST_ROWS, read_rows, read_seed, read_vector
from fairlevel.metrics.reliability import class_figures, reliability
from fairlevel.removed import refuse_removed
from fairlevel.report.provenance import Provenance
from fairlevel.threads import on_single_threads

__all__ = ["Audit", "Verdict", "audit"]


@overload
def audit(
    y_pred: Any,
    *,
    sensitive_features: Any,
    given: Any = None,
    y_true: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    threshold: float | None = None,
    by: Any = None,
    rows: int = MOST_ROWS,
    random_state: Any = 0,
) -> Audit: ...


@overload
def audit(
    y_pred: Any,
    *,
    predictions: str | Sequence[str],
    sensitive_features: str | Sequence[str],
    given: str | Sequence[str] = (),
    y_true: str | None = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    threshold: float | None = None,
    by: str | None = None,
    categories: str | Sequence[str] = (),
    rows: int = MOST_ROWS,
    random_state: Any = 0,
) -> StoredAudit: ...


def audit(
    y_pred: Any,
    *,
    sensitive_features: Any,
    given: Any = None,
    y_true: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    threshold: float | None = None,
    by: Any = None,
    predictions: Any = None,
    categories: Any = (),
    rows: int = MOST_ROWS,
    random_state: Any = 0,
    **others: Any,
) -> Audit | StoredAudit:
    """How predictions differ across sensitive attributes: by how much their average differs, how certain that is, which
    attributes it comes from, whether errors and decisions differ too, and what DPVar does not measure.

    Parameters
    ----------
    y_pred : array of shape (rows,). Or stored rows: a Parquet file, a folder, a pattern such as "folder/*.parquet", a
        list of these, or a ``pyarrow.dataset.Dataset``, with names of columns everywhere else. All rows are counted;
        those that lack a number of an attribute are left out
    sensitive_features : array or frame of shape (rows,) or (rows, attributes), numeric or categorical
    given : legitimate factors L, array or frame of shape (rows,) or (rows, factors), optional: only differences between
        rows with the same L count. The audit then also states the DPVar without them
    y_true : array of shape (rows,), optional; adds accuracy, overall and by group, and whether errors differ; for y of
        0 and 1 also whether predictions differ among rows with y = 1 (equal opportunity)
    sample_weight : array of shape (rows,), optional; survey weights, see :func:`dpvar`
    groups : array of shape (rows,), optional; rows with the same label belong together, such as the visits of one
        person
    threshold : optional; y_pred holds probabilities, and a decision is 1 where its probability is at least this: adds
        the DPVar of decisions
    by : array of shape (rows,), optional; a further column to tabulate predictions by
    predictions : of stored rows, the column with predictions, or several, which are audited on the same sample
    categories : of stored rows, columns that hold categories although they look like numbers
    rows : how many rows the figures come from at most; of more, so many are drawn at random
    random_state : int

    Returns
    -------
    Audit; for stored rows :class:`StoredAudit`
    """
    _refuse_unknown(others)
    seed = read_seed(random_state)
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 2:
        raise InvalidInput(f"rows={rows!r} was given; a whole number of at least 2 is needed, such as 200_000.")
    if is_stored(y_pred):
        roles = Roles(
            *(_names(predictions), _names(sensitive_features), _names(given)),
            *(y_true, sample_weight, by, groups),
            _names(categories),
        )
        return audit_stored(y_pred, roles, threshold, rows, seed)
    _refuse_names(y_pred, predictions=predictions is not None, categories=len(categories))
    refuse_shuffled(y_pred=y_pred, y_true=y_true, by=by)
    counted = read_rows(y_pred, sensitive_features, sample_weight, given, groups)
    frame = as_frame(sensitive_features).reset_index(drop=True)
    refuse_one_profile(counted.sensitive)
    used = np.arange(len(frame))
    if sample_weight is not None:
        used = np.flatnonzero(read_vector("sample_weight", sample_weight))
    target = None if y_true is None else _aligned("y_true", read_vector("y_true", y_true), frame)
    tabulated = _tabulated(frame, by)
    if threshold is not None:
        decisions(counted.prediction, threshold)  # refused before the work
        if target is not None:
            refuse_other_labels(target[used])
    every, picked = len(counted), counted.sample(seed, rows)
    counted, used = counted.take(picked), used[picked]
    frame, target = frame.iloc[used].reset_index(drop=True), None if target is None else target[used]
    factors = () if given is None else tuple(map(str, as_frame(given).columns))
    chosen = _side_rows(len(counted), seed)
    side = counted.take(chosen)
    if has_networks():
        networks("diagnostic")  # which trains on one of the threads; all of them have to know PyTorch
    interval, *beside, overall, questions = on_single_threads(
        lambda: interval_of_rows(counted, None, seed),  # the longest where rows are many
        *SideFigures.tasks(side, frame.iloc[chosen], seed),
        lambda: None if given is None else interval_of_rows(replace(counted, factors=None), None, seed),
        lambda: ask(counted, target, threshold, seed),
    )
    provenance = Provenance(
        rows_used=len(counted),
        rows_dropped=len(y_pred) - every,
        why_dropped="weight 0",
        columns={"sensitive": tuple(map(str, frame.columns)), "given": factors},
        settings={} if threshold is None else {"threshold": f"{threshold:g}"},
        seed=seed,
        method=(METHOD, *sampled_in_words(len(counted), every, seed)),
    )
    return Audit.of(
        interval,
        SideFigures(*beside),
        questions,
        provenance=provenance,
        given=factors,
        rows=len(counted),
        overall=overall,
        more_flags=(*repeated_rows(counted), *rare_categories(interval, frame)),
        groups={
            name: group_table(column.iloc[used], counted.prediction, counted.row_weight, target)
            for name, column in tabulated.items()
        },
        side_rows=len(side),
        accuracy=_accuracy(counted.prediction, target, counted.row_weight, threshold),
        reliability=None
        if target is None or not _are_probabilities(counted.prediction, target)
        else reliability(target, counted.prediction, sample_weight=counted.row_weight),
    )


def _refuse_unknown(others: Mapping[str, Any]) -> None:
    """Arguments that there are not, or no longer."""
    known = [each.name for each in signature(audit).parameters.values() if each.kind is Parameter.KEYWORD_ONLY]
    for name in others:
        refuse_removed(f"audit({name}=)", InvalidType)
        near = get_close_matches(name, known, n=1)
        hint = f". Did you mean {near[0]!r}?" if near else ""
        raise InvalidType(f"audit() got an unexpected keyword argument {name!r}{hint}")


def _refuse_names(source: Any, **given: Any) -> None:
    """Arguments for stored rows that come with arrays."""
    for name, is_given in given.items():
        if is_given:
            raise InvalidType(
                f"{name}= is for stored rows, but {type(source).__name__} was given; pass a path, a list of paths or a "
                "pyarrow.dataset.Dataset."
            )


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _tabulated(frame: pd.DataFrame, by: Any) -> dict[str, pd.Series]:
    """The columns that predictions are tabulated by: attributes of few categories, and ``by``."""
    columns = {str(name): frame[name] for name in frame.columns if is_grouping(frame[name])}
    if by is not None:
        name = str(getattr(by, "name", None) or "by")
        columns[f"{name} (by)" if name in columns else name] = _aligned("by", read_groups(by), frame)
    return columns


def _aligned(name: str, values: Any, frame: pd.DataFrame) -> Any:
    if len(values) != len(frame):
        raise InvalidInput(f"{name} has {len(values)} rows but y_pred has {len(frame)}; pass the same rows.")
    return values


def sampled_in_words(rows: int, every: int, seed: int) -> tuple[str, ...]:
    """Where figures come from a part of the rows."""
    if rows == every:
        return ()
    return (f"DPVar and every table come from {rows:,} of {every:,} rows, sampled at random (seed {seed}).",)


def _side_rows(rows: int, seed: int) -> Index:
    if rows <= SIDE_ROWS:
        return np.random.default_rng(seed).permutation(rows)
    return np.random.default_rng(seed).choice(rows, SIDE_ROWS, replace=False)


def _accuracy(prediction: Array, target: Array | None, row_weight: Array, threshold: float | None) -> dict[str, float]:
    if target is None:
        return {}
    weight = row_weight / row_weight.sum()
    mse = float(weight @ (prediction - target) ** 2)
    if np.ptp(target) <= rounding_limit(target):
        return {"mse": mse, "rmse": mse**0.5}  # R² compares with the variance of y, and there is none
    figures = {"mse": mse, "rmse": mse**0.5, "r2": 1 - mse / float(weight @ (target - weight @ target) ** 2)}
    if not _are_probabilities(prediction, target):
        return figures
    classes = class_figures(prediction[None], target, weight, 0.5 if threshold is None else threshold)
    return figures | {name: values[0] for name, values in classes.items()} | {"brier": mse}


def _are_probabilities(prediction: Array, target: Array) -> bool:
    """Whether y holds zeros and ones, both of them, and the prediction numbers between."""
    both = np.isin(target, (0.0, 1.0)).all() and target.min() < target.max()
    return bool(both and prediction.min() >= 0 and prediction.max() <= 1)
