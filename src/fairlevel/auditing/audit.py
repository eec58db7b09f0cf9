"""Audits of predictions across sensitive attributes, in numbers, plots and plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, overload

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.auditing.answer import Audit, Verdict
from fairlevel.auditing.dependence import Measure, measure_dependence
from fairlevel.auditing.flags import find_flags, question_flags, rare_categories, repeated_rows
from fairlevel.auditing.questions import Question, ask, decisions, refuse_other_labels
from fairlevel.auditing.stored_audit import StoredAudit, audit_stored
from fairlevel.auditing.tables import attribute_shares, group_table, is_grouping, read_groups, worst_profiles
from fairlevel.data.features import refuse_shuffled
from fairlevel.data.numbers import rounding_limit
from fairlevel.data.sensitive import Sensitive, as_frame, refuse_one_profile
from fairlevel.data.stored_rows import Roles, is_stored
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.metrics.dpvar import interval_of_rows
from fairlevel.metrics.inputs import MOST_ROWS, EvaluationRows, read_every_row, read_seed, read_vector
from fairlevel.metrics.interval import DPVarInterval
from fairlevel.metrics.profile import MeanProfile, attribute_profiles
from fairlevel.metrics.reliability import Reliability, class_figures, reliability
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
    for name, is_given in {"predictions": predictions is not None, "categories": len(categories)}.items():
        if is_given:
            raise InvalidType(
                f"{name}= is for stored rows, but {type(y_pred).__name__} was given; pass a path, a list of paths or a "
                "pyarrow.dataset.Dataset."
            )
    refuse_shuffled(y_pred=y_pred, y_true=y_true, by=by)
    measured = read_every_row(y_pred, sensitive_features, sample_weight, given, groups)
    frame = as_frame(sensitive_features).reset_index(drop=True)
    counting = np.flatnonzero(measured.row_weight)
    refuse_one_profile(measured.sensitive[counting])
    target = None if y_true is None else read_vector("y_true", y_true)
    tabulated = {str(name): frame[name] for name in frame.columns if is_grouping(frame[name])}
    if by is not None:
        name = str(getattr(by, "name", None) or "by")
        tabulated[f"{name} (by)" if name in tabulated else name] = read_groups(by)
    for name, values in {"y_true": target, "by": None if by is None else [*tabulated.values()][-1]}.items():
        if values is not None and len(values) != len(frame):
            raise InvalidInput(f"{name} has {len(values)} rows but y_pred has {len(frame)}; pass the same rows.")
    if threshold is not None:  # refused before the work
        decisions(measured.prediction[counting], threshold)
        if target is not None:
            refuse_other_labels(target[counting])
    used = measured.sample(seed, int(rows))
    measured, frame, target = measured.take(used), frame.iloc[used], None if target is None else target[used]
    prediction, weight = measured.prediction, measured.row_weight
    figures = _figures(measured, frame, target, threshold, seed)
    flags = (
        *find_flags(figures.interval, figures.overall or figures.interval, figures.measures),
        *question_flags(figures.questions),
        *repeated_rows(measured),
        *rare_categories(figures.interval, frame),
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
    accuracy, calibration = _accuracy(prediction, target, weight, threshold)
    return Audit(
        **vars(figures),
        flags=flags,
        groups={name: group_table(column.iloc[used], prediction, weight, target) for name, column in tabulated.items()},
        rows=len(used),
        side_rows=min(len(used), SIDE_ROWS),
        accuracy=accuracy,
        reliability=calibration,
        given=factors,
        provenance=provenance,
    )


@dataclass(frozen=True)
class Figures:
    """What takes time to compute; see :class:`Audit`."""

    interval: DPVarInterval
    overall: DPVarInterval | None
    questions: tuple[Question, ...]
    measures: tuple[Measure, ...]
    attributes: pd.DataFrame
    worst: pd.DataFrame
    profiles: dict[str, MeanProfile]


def _figures(
    rows: EvaluationRows, frame: pd.DataFrame, target: Array | None, threshold: float | None, seed: int
) -> Figures:
    """All figures, in parallel; ``frame`` holds the attributes as they were given."""
    part = np.random.default_rng(seed).permutation(len(rows))[:SIDE_ROWS]
    side = rows.take(part)
    attributes, unconditional = side.attributes(seed), replace(rows, factors=None)
    tasks: dict[str, Callable[[], Any]] = {
        "interval": lambda: interval_of_rows(rows, None, seed),  # the longest where rows are many
        "measures": lambda: measure_dependence(side, seed),
        "attributes": lambda: attribute_shares(side.prediction, attributes, side.columns, seed),
        "profiles": lambda: attribute_profiles(
            side.prediction[None], Sensitive(side.sensitive, (), side.columns), side.row_weight, side.groups
        ),
        "worst": lambda: worst_profiles(side.prediction, attributes, frame.iloc[part], seed),
        "overall": lambda: None if rows.factors is None else interval_of_rows(unconditional, None, seed),
        "questions": lambda: ask(rows, target, threshold, seed),
    }
    figures = dict(zip(tasks, on_single_threads(*tasks.values()), strict=True))
    profiles = {name: profile for name, (profile,) in figures.pop("profiles").items()}
    return Figures(**figures, profiles=profiles)


def _refuse_unknown(others: Mapping[str, Any]) -> None:
    """Arguments that there are not, or no longer."""
    known = [each.name for each in signature(audit).parameters.values() if each.kind is Parameter.KEYWORD_ONLY]
    for name in others:
        refuse_removed(f"audit({name}=)", InvalidType)
        near = get_close_matches(name, known, n=1)
        hint = f". Did you mean {near[0]!r}?" if near else ""
        raise InvalidType(f"audit() got an unexpected keyword argument {name!r}{hint}")


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def sampled_in_words(rows: int, of: int, seed: int) -> tuple[str, ...]:
    """Where figures come from a part of the rows."""
    if rows == of:
        return ()
    return (f"DPVar and every table come from {rows:,} of {of:,} rows, sampled at random (seed {seed}).",)


def _accuracy(
    prediction: Array, target: Array | None, row_weight: Array, threshold: float | None
) -> tuple[dict[str, float], Reliability | None]:
    """Figures of accuracy where y is known; of probabilities of y = 1 also against its frequencies."""
    if target is None:
        return {}, None
    weight = row_weight / row_weight.sum()
    mse = float(weight @ (prediction - target) ** 2)
    figures = {"mse": mse, "rmse": mse**0.5}
    if np.ptp(target) <= rounding_limit(target):
        return figures, None  # R² compares with the variance of y, and there is none
    figures["r2"] = 1 - mse / float(weight @ (target - weight @ target) ** 2)
    if not np.isin(target, (0.0, 1.0)).all() or prediction.min() < 0 or prediction.max() > 1:
        return figures, None
    classes = class_figures(prediction[None], target, weight, 0.5 if threshold is None else threshold)
    figures |= {name: values[0] for name, values in classes.items()} | {"brier": mse}
    return figures, reliability(target, prediction, sample_weight=row_weight)
