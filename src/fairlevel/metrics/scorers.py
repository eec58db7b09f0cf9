"""Scorers for model selection with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.dpvar import dpvar
from fairlevel.metrics.inputs import read_vector


def fair_loss(y_true: Any, y_pred: Any, *, sensitive_features: Any, zeta: float = 1.0) -> float:
    r"""Mean squared error + ζ · DPVar, the paper's validation score, in units of y². Where y_true holds two classes of
    text, y_pred are probabilities of the second one.
    """
    target, prediction = read_vector("y_true", _numbers(y_true)), read_vector("y_pred", y_pred)
    if len(target) != len(prediction):
        raise InvalidInput(f"y_true has {len(target)} rows but y_pred has {len(prediction)}; pass the same rows.")
    error = float(np.mean((prediction - target) ** 2))
    return error + zeta * dpvar(None, y_pred, sensitive_features=sensitive_features)


def _numbers(target: Any) -> Any:
    """Two classes of text as zeros and ones, in their order; anything else as it is."""
    values = np.asarray(target)
    if values.dtype.kind not in "UST" and not _all_text(values):
        return target
    classes = np.unique(values)
    return (values == classes[1]).astype(np.float64) if len(classes) == 2 else target


def _all_text(values: Any) -> bool:
    return values.dtype.kind == "O" and all(isinstance(value, str) for value in values.ravel())


def fair_scorer(zeta: float = 1.0) -> Callable[..., float]:
    """A scorer −(MSE + ζ DPVar) that takes ``sensitive_features`` by metadata routing. For a classifier of two classes,
    both figures are those of its probabilities.

    Use it as ``GridSearchCV(..., scoring=fair_scorer(2.0).set_score_request(sensitive_features=True))``.
    """
    if not (np.isfinite(zeta) and zeta >= 0):
        raise InvalidInput(f"zeta={zeta} was given; a finite number ≥ 0 is needed, such as 1.0.")
    response = ("predict_proba", "predict")
    scorer: Callable[..., float] = make_scorer(fair_loss, response_method=response, greater_is_better=False, zeta=zeta)
    return scorer
