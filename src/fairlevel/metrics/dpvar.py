"""DPVar = Var_A(E[f(X) | A]): how much the average prediction moves across the sensitive attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fairlevel.conditional_mean import LinearMean, MLPMean
from fairlevel.conditional_mean.leave_out import leave_out_dpvar
from fairlevel.conditional_mean.protocol import Array
from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.metrics.choice import Candidate, candidates, choose
from fairlevel.metrics.crossfit import covariance_form, paper_diagnostic
from fairlevel.metrics.inputs import read_rows


def dpvar(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    method: str = "debiased",
    regressor: LinearMean | MLPMean | None = None,
    sample_weight: Any = None,
    random_state: int = 0,
) -> float:
    r"""Variance of the conditional mean prediction given the sensitive attributes, in squared units of the prediction.

    .. math:: \mathrm{DPVar} = \operatorname{Var}_A\big(\mathbb E[f(X) \mid A]\big)

    Parameters
    ----------
    y_true : ignored; present because metrics are called as metric(y_true, y_pred)
    y_pred : array of shape (rows,)
    sensitive_features : array or frame of shape (rows,) or (rows, attributes); text and categories become indicators
    method : "debiased" (unbiased, may be slightly negative when the truth is near zero) or
        "paper" (a network fitted on one half, Var of its values on the other, averaged; biased upwards by the noise of
        the fit)
    regressor : the conditional mean; by default the best of splines, random features and groups ("debiased") or
        ``MLPMean()`` ("paper")
    sample_weight : array of shape (rows,), optional
    random_state : seed of random features, folds and networks

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from fairlevel import dpvar
    >>> group = np.array([0, 0, 1, 1])
    >>> float(dpvar(None, np.array([1.0, 1.0, 3.0, 3.0]), sensitive_features=group))
    1.0
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    rows = read_rows(y_pred, sensitive_features, sample_weight)
    if rows.spread == 0:
        return 0.0
    scaled = torch.from_numpy((rows.prediction - rows.mean) / rows.spread).unsqueeze(0)
    estimate = METHODS[method](scaled, rows.sensitive, rows.row_weight, regressor, random_state)
    return float(estimate) * rows.spread**2


def debiased(
    prediction: Tensor, sensitive: Array, row_weight: Array, regressor: LinearMean | MLPMean | None, seed: int
) -> Tensor:
    """Debiased DPVar of several predictions at once: (config, row) in float64 -> (config,)."""
    if isinstance(regressor, MLPMean):
        return covariance_form(prediction, sensitive, row_weight, regressor, seed)[0]
    return debiased_with(prediction, candidates(sensitive, row_weight, seed, regressor))


def debiased_with(prediction: Tensor, known: tuple[Candidate, ...]) -> Tensor:
    """Debiased DPVar with smoothers prepared before: (config, row) -> (config,)."""
    choice = choose(prediction, known)
    each = [leave_out_dpvar(prediction, candidate.smoother, choice.ridge).estimate for candidate in known]
    return torch.stack(each).gather(0, choice.index.unsqueeze(0)).squeeze(0)


def paper(
    prediction: Tensor, sensitive: Array, row_weight: Array, regressor: LinearMean | MLPMean | None, seed: int
) -> Tensor:
    """The paper's diagnostic of several predictions at once: (config, row) -> (config,)."""
    if isinstance(regressor, LinearMean):
        raise InvalidType(
            f"method='paper' trains a network, but regressor={regressor} was given; pass regressor=MLPMean() or "
            "method='debiased'."
        )
    return paper_diagnostic(prediction, sensitive, row_weight, regressor or MLPMean(), seed)


METHODS: dict[str, Callable[[Tensor, Array, Array, LinearMean | MLPMean | None, int], Tensor]] = {
    "debiased": debiased,
    "paper": paper,
}
