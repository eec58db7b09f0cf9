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
    r"""Mean squared error + ζ · DPVar, the paper's validation score, in units of y²."""
    target, prediction = read_vector("y_true", y_true), read_vector("y_pred", y_pred)
    if len(target) != len(prediction):
        raise InvalidInput(f"y_true has {len(target)} rows but y_pred has {len(prediction)}; pass the same rows.")
    error = float(np.mean((prediction - target) ** 2))
    return error + zeta * dpvar(y_true, y_pred, sensitive_features=sensitive_features)


def fair_scorer(zeta: float = 1.0) -> Callable[..., float]:
    """A scorer −(MSE + ζ DPVar) that takes ``sensitive_features`` by metadata routing.

    Use it as ``GridSearchCV(..., scoring=fair_scorer(2.0).set_score_request(sensitive_features=True))``.
    """
    if not (np.isfinite(zeta) and zeta >= 0):
        raise InvalidInput(f"zeta={zeta} was given; a finite number ≥ 0 is needed, such as 1.0.")
    scorer: Callable[..., float] = make_scorer(fair_loss, greater_is_better=False, zeta=zeta)
    return scorer
