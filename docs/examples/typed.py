"""The public names in a program that mypy checks in its strict mode: the package carries its types (``py.typed``)."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fairlevel import FairClassifier, FairnessPath, FairRegressor, audit, compare, dpvar, dpvar_interval, load
from fairlevel.exceptions import InvalidInput
from fairlevel.torch import DPVarPenalty


def measured(prediction: NDArray[np.float64], sensitive: pd.DataFrame) -> tuple[float, float]:
    """DPVar and the upper end of its share."""
    value: float = dpvar(None, prediction, sensitive_features=sensitive)
    upper: float = dpvar_interval(prediction, sensitive_features=sensitive).share_high
    return value, upper


def fitted(X: pd.DataFrame, y: NDArray[np.float64], sensitive: pd.DataFrame, folder: Path) -> NDArray[np.float64]:
    """Train, save, load, predict."""
    model: FairRegressor = FairRegressor(weight=1.0, random_state=0).fit(X, y, sensitive_features=sensitive)
    model.save(folder)
    again = load(folder)
    assert isinstance(again, FairRegressor)
    return np.asarray(again.predict(X), dtype=np.float64)


def front(X: pd.DataFrame, y: NDArray[np.float64], sensitive: pd.DataFrame) -> pd.DataFrame:
    """The trade-off, and a model within a budget."""
    path: FairnessPath = FairnessPath(random_state=0).fit(X, y, sensitive_features=sensitive)
    best = path.best(max_share=0.05)
    assert isinstance(best, FairRegressor | FairClassifier)
    frame: pd.DataFrame = path.front_
    return frame


def reported(first: NDArray[np.float64], second: NDArray[np.float64], sensitive: pd.DataFrame, page: Path) -> float:
    """An audit as a page, and the difference of two predictions."""
    audit(first, sensitive_features=sensitive).to_html(page)
    try:
        difference: float = compare(first, second, sensitive_features=sensitive).difference
    except InvalidInput as error:
        raise SystemExit(str(error)) from None
    return difference


def loss(
    prediction: torch.Tensor, target: torch.Tensor, sensitive: torch.Tensor, penalty: DPVarPenalty
) -> torch.Tensor:
    """A term of a loss."""
    disparity: torch.Tensor = penalty(prediction, sensitive)
    return (prediction - target).square().mean() + disparity
