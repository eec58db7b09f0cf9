"""Whether probabilities mean what they say, and how well they fit, rank and decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.data.numbers import read_weights
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.inputs import read_vector

_SMALLEST = 1e-15  # of a probability, so that its log-loss is finite


@dataclass(frozen=True)
class Reliability:
    """Bins of similar probabilities: the mean probability, how often y is 1, and the share of all rows, each (bin,)."""

    probability: Array
    frequency: Array
    share: Array

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance between probability and frequency."""
        return float(self.share @ np.abs(self.probability - self.frequency))


def reliability(y_true: Any, y_prob: Any, *, bins: int = 10, sample_weight: Any = None) -> Reliability:
    r"""The mean probability against the observed frequency in bins of equal width over [0, 1]; empty bins are left out.

    For the rows i of a bin, with weights w,

    .. math:: \bar p = \frac{\sum_i w_i p_i}{\sum_i w_i}, \qquad \bar y = \frac{\sum_i w_i y_i}{\sum_i w_i} .

    Parameters
    ----------
    y_true : array of shape (rows,), 0 or 1
    y_prob : array of shape (rows,), probabilities of 1
    bins : how many
    sample_weight : array of shape (rows,), optional
    """
    target, probability = read_vector("y_true", y_true), read_vector("y_prob", y_prob)
    if len(target) != len(probability):
        raise InvalidInput(f"y_true has {len(target)} rows but y_prob has {len(probability)}; pass the same rows.")
    if not np.isin(target, (0.0, 1.0)).all():
        raise InvalidInput("y_true holds other values than 0 and 1; pass 1 for the class that y_prob belongs to.")
    if probability.min() < 0 or probability.max() > 1:
        raise InvalidInput("y_prob holds values outside [0, 1]; pass probabilities, such as predict_proba(X)[:, 1].")
    weight = read_weights(sample_weight, len(target))
    row_weight = np.ones(len(target)) if weight is None else weight
    edges = np.linspace(0, 1, bins + 1)
    bin_of_row = np.searchsorted(edges[1:-1], probability)
    total = np.bincount(bin_of_row, row_weight, bins)
    filled = total > 0
    sums = (np.bincount(bin_of_row, row_weight * each, bins) for each in (probability, target))
    mean, frequency = (each[filled] / total[filled] for each in sums)
    return Reliability(mean, frequency, total[filled] / total.sum())


def class_figures(probability: Array, target: Array, weight: Array, threshold: float = 0.5) -> dict[str, list[float]]:
    """Log-loss, area under the ROC curve, and accuracy of decisions (1 at or above the threshold), of each model.

    Shapes: probability of the second class (model, row), target 0 or 1 (row,), weight (row,).
    """
    from sklearn.metrics import log_loss, roc_auc_score  # only where there are classes

    clipped = np.clip(probability, _SMALLEST, 1 - _SMALLEST)
    correct = (probability >= threshold) == (target == 1)
    return {
        "log_loss": [float(log_loss(target, each, sample_weight=weight, labels=[0, 1])) for each in clipped],
        "auc": [float(roc_auc_score(target, each, sample_weight=weight)) for each in clipped],
        "accuracy": (correct @ (weight / weight.sum())).tolist(),
    }
