"""Further questions to an audit, each answered by the DPVar of another quantity: errors, decisions, outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.inputs import EvaluationRows
from fairlevel.metrics.interval import DPVarInterval

ERRORS = ("mean error", "squared error", "under-prediction")
DECISIONS, OPPORTUNITY = "decisions", "equal opportunity"
ASKS = {
    "mean error": "Does the average of y − prediction differ between profiles?",
    "squared error": "Are predictions less accurate for some profiles?",
    "under-prediction": "Is y under-predicted by more for some profiles?",
    DECISIONS: "Does the share of rows with a prediction of at least {:g} differ between profiles?",
    OPPORTUNITY: "Among rows with y = 1, does the average prediction differ between profiles?",
}
_FEWEST_ROWS = 20


@dataclass(frozen=True)
class Question:
    """What was asked, in words, and the DPVar of the quantity that answers it, on ``rows`` rows."""

    name: str
    asks: str
    interval: DPVarInterval
    rows: int

    @property
    def moves_by(self) -> float:
        return self.interval.moves_by


def ask(rows: EvaluationRows, target: Array | None, threshold: float | None, seed: int) -> tuple[Question, ...]:
    """All questions that these rows can answer: some need y, or y of 0 and 1, or a threshold."""
    values: dict[str, Array] = {}  # whose DPVar is the answer, (row,)
    if target is not None:
        error = target - rows.prediction
        values |= {"mean error": error, "squared error": error**2, "under-prediction": np.maximum(error, 0.0)}
    if threshold is not None:
        values[DECISIONS] = decisions(rows.prediction, threshold)
    questions = _answers(rows, values, threshold, seed)
    if target is not None and np.isin(target, (0.0, 1.0)).all():
        positive = rows.take(np.flatnonzero(target == 1))
        groups = 2 if positive.groups is None else len(np.unique(positive.groups))
        if len(positive) >= _FEWEST_ROWS and groups >= 2:
            questions += _answers(positive, {OPPORTUNITY: positive.prediction}, threshold, seed)
    return questions


def decisions(prediction: Array, threshold: float) -> Array:
    """1 where a probability is at least the threshold, else 0; (row,)."""
    outside = int(((prediction < 0) | (prediction > 1)).sum())
    if outside:
        raise InvalidInput(
            f"threshold={threshold:g} turns probabilities into decisions, but y_pred holds {outside} values outside "
            "[0, 1]; pass probabilities, such as model.predict_proba(X)[:, 1], or leave threshold out."
        )
    check_threshold(threshold)
    return (prediction >= threshold).astype(np.float64)


def check_threshold(threshold: float) -> None:
    """Raise an error where no probability could decide."""
    if isinstance(threshold, bool) or not 0 < threshold <= 1:
        raise InvalidInput(f"threshold={threshold} was given; a number in (0, 1] is needed, such as 0.5.")


def refuse_other_labels(target: Array) -> None:
    """Raise an error where two classes, (row,), are not 0 and 1, as probabilities count them."""
    labels = np.unique(target)
    if len(labels) == 2 and not np.array_equal(labels, (0, 1)):
        first, second = labels
        raise InvalidInput(
            f"y_true holds {first:g} and {second:g}; beside probabilities, classes are 0 and 1: pass y_true == "
            f"{second:g}."
        )


def _answers(
    rows: EvaluationRows, values: Mapping[str, Array], threshold: float | None, seed: int
) -> tuple[Question, ...]:
    if not values:
        return ()
    intervals = DPVarEvaluator(rows.attributes(seed), seed).intervals(np.stack([*values.values()]))
    return tuple(
        Question(name, ASKS[name].format(threshold), interval, len(rows))
        for name, interval in zip(values, intervals, strict=True)
    )
