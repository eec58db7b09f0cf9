"""How well probabilities of two classes fit, rank and decide."""

from __future__ import annotations

import numpy as np

from fairlevel.arrays import Array

_SMALLEST = 1e-15  # of a probability, so that its log-loss is finite


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
