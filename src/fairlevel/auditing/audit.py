"""Audits of predictions across sensitive attributes, in numbers, plots and plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, overload

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.auditing.answer import Audit, Verdict
from fairlevel.auditing.dependence import measure_dependence, paper_estimate
from fairlevel.auditing.flags import find_flags, question_flags, rare_categories, repeated_rows
from fairlevel.auditing.questions import ask, decisions, refuse_other_labels
from fairlevel.auditing.stored_audit import StoredAudit, audit_stored
from fairlevel.auditing.tables import attribute_shares, group_table, is_grouping, read_groups, worst_profiles
from fairlevel.data.features import refuse_shuffled
from fairlevel.data.numbers import rounding_limit
from fairlevel.data.sensitive import Sensitive, as_frame, refuse_one_profile
from fairlevel.data.stored_rows import Roles, is_stored
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.extras import has_networks, networks
from fairlevel.metrics.dpvar import interval_of_rows
from fairlevel.metrics.inputs import MOST_ROWS, EvaluationRows, read_every_row, read_seed, read_vector, sample_of
from fairlevel.metrics.profile import attribute_profiles
from fairlevel.metrics.reliability import class_figures, reliability
from fairlevel.removed import refuse_removed
from fairlevel.report.provenance import Provenance
from fairlevel.threads import on_single_threads

__all__ = ["Audit", "Verdict", "audit"]

SIDE_ROWS = 10_000
"""Rows behind the figures beside DPVar, which uses all."""
METHOD = (
    "DPVar is the variance of the average prediction across profiles, without the upward bias of a plain estimate; ± "
    "is its square root, in units of the prediction. Intervals cover the truth in 95 % of tables; p is valid where the "
    "noise differs from row to row."
)


@overload
def audit(y_pred: Any, *, sensitive_features: Any, predictions: None = None, **others: Any) -> Audit: ...


@overload
def audit(y_pred: Any, *, sensitive_features: Any, predictions: str | Sequence[str], **others: Any) -> StoredAudit: ...


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
        those that lack a number of an attribute, a target or a weight are left out
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
    every = read_every_row(y_pred, sensitive_features, sample_weight, given, groups)
    frame = as_frame(sensitive_features).reset_index(drop=True)
    counting = np.flatnonzero(every.row_weight)
    refuse_one_profile(every.sensitive[counting])
    target = None if y_true is None else _aligned("y_true", read_vector("y_true", y_true), frame)
    tabulated = _tabulated(frame, by)
    if threshold is not None:  # refused before the work
        decisions(every.prediction[counting], threshold)
        if target is not None:
            refuse_other_labels(target[counting])
    used = counting[sample_of(len(counting), seed, rows)]
    measured, frame, target = every.take(used), frame.iloc[used], None if target is None else target[used]
    if has_networks():
        networks("diagnostic")  # which trains on one of the threads; all of them have to know PyTorch
    side = _side_rows(len(used), seed)
    tasks: dict[str, Callable[[], Any]] = {
        "interval": lambda: interval_of_rows(measured, None, seed),  # the longest where rows are many
        **_side_tasks(measured.take(side), frame.iloc[side], seed),
        "overall": lambda: None if given is None else interval_of_rows(replace(measured, factors=None), None, seed),
        "questions": lambda: ask(measured, target, threshold, seed),
    }
    figures = dict(zip(tasks, on_single_threads(*tasks.values()), strict=True))
    interval, overall, paper = figures["interval"], figures["overall"], figures.pop("paper")
    plug_in, floor = (None, None) if paper is None else (paper.value, paper.by_chance)
    flags = (
        *find_flags(interval, overall or interval, plug_in, figures["measures"]),
        *question_flags(figures["questions"]),
        *repeated_rows(measured),
        *rare_categories(interval, frame),
    )
    factors = () if given is None else tuple(map(str, as_frame(given).columns))
    provenance = Provenance(
        rows_used=len(used),
        rows_dropped=len(y_pred) - len(counting),
        why_dropped="weight 0",
        columns={"sensitive": tuple(map(str, frame.columns)), "given": factors},
        settings={} if threshold is None else {"threshold": f"{threshold:g}"},
        seed=seed,
        method=(METHOD, *sampled_in_words(len(used), len(counting), seed)),
    )
    prediction, weight = measured.prediction, measured.row_weight
    return Audit(
        **figures,
        plug_in=plug_in,
        floor=floor,
        flags=flags,
        groups={name: group_table(column.iloc[used], prediction, weight, target) for name, column in tabulated.items()},
        rows=len(used),
        side_rows=len(side),
        accuracy=_accuracy(prediction, target, weight, threshold),
        reliability=None
        if target is None or not _are_probabilities(prediction, target)
        else reliability(target, prediction, sample_weight=weight),
        given=factors,
        provenance=provenance,
    )


def _side_tasks(rows: EvaluationRows, frame: pd.DataFrame, seed: int) -> dict[str, Callable[[], Any]]:
    """What computes the figures beside DPVar, by field of :class:`Audit`; ``frame`` holds the attributes as they were
    given. The one that needs most memory comes first, beside the one that needs least, and short ones last.
    """
    attributes, prediction = rows.attributes(seed), rows.prediction

    def profiles() -> dict[str, Any]:
        sensitive = Sensitive(rows.sensitive, (), rows.columns)
        along = attribute_profiles(prediction[None], sensitive, rows.row_weight, rows.groups)
        return {name: profile for name, (profile,) in along.items()}

    return {
        "measures": lambda: measure_dependence(rows, seed),
        "paper": lambda: paper_estimate(rows, seed),
        "attributes": lambda: attribute_shares(prediction, attributes, rows.columns, seed),
        "profiles": profiles,
        "worst": lambda: worst_profiles(prediction, attributes, frame, seed),
    }


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
    """The numbers of all rows, or of some, in random order."""
    random = np.random.default_rng(seed)
    return random.permutation(rows) if rows <= SIDE_ROWS else random.choice(rows, SIDE_ROWS, replace=False)


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
