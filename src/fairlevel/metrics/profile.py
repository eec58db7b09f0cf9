"""The average prediction along one attribute, with a band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import norm

from fairlevel.conditional_mean import GroupMean, LinearMean, SplineMean
from fairlevel.conditional_mean.groups import few_levels
from fairlevel.conditional_mean.protocol import Array
from fairlevel.metrics.inputs import read_rows


@dataclass(frozen=True)
class MeanProfile:
    """E[f(X) | A_k = a] on a grid of values with a pointwise band; at, mean, low, high are all (point,)."""

    at: Array
    mean: Array
    low: Array
    high: Array
    overall: float


def mean_profile(
    y_pred: Any, *, attribute: Any, points: int = 101, level: float = 0.95, sample_weight: Any = None
) -> MeanProfile:
    """The conditional mean of a prediction along one attribute, by a penalised spline, or by group where it takes few
    values.

    The grid spans the middle 98 % of the attribute. The band is pointwise and allows for noise that varies along it.
    """
    rows = read_rows(
        y_pred, np.asarray(attribute, dtype=np.float64).reshape(len(np.asarray(attribute)), -1)[:, :1], sample_weight
    )
    values = rows.sensitive
    regressor: LinearMean
    if few_levels(values)[0]:
        regressor, at = GroupMean(), np.unique(values)
    else:
        first, last = np.quantile(values, [0.01, 0.99])
        regressor, at = SplineMean(), np.linspace(first, last, points)
    smoother = regressor.prepare(values, at[:, None], row_weight=rows.row_weight)
    prediction = torch.from_numpy(rows.prediction).unsqueeze(0)
    ridge = smoother.choose_ridge(prediction)
    mean = smoother.apply(prediction, ridge)[0]
    shrinkage = smoother.shrinkage(ridge)[0]
    fitted = (smoother.coefficients(prediction)[0] * shrinkage) @ smoother.fit_basis.T
    scaled = smoother.fit_basis * (smoother.row_weight * (prediction[0] - fitted)).unsqueeze(1)
    scatter = scaled.T @ scaled
    loading = smoother.at_basis * shrinkage
    error = ((loading @ scatter) * loading).sum(dim=1).clamp_min(0).sqrt()
    half = float(norm.ppf((1 + level) / 2)) * error
    return MeanProfile(at, mean.numpy(), (mean - half).numpy(), (mean + half).numpy(), rows.mean)
