"""Means that leave the row itself out, in closed form for linear smoothers."""

from __future__ import annotations

import torch
from torch import Tensor

from fairlevel.conditional_mean.smoother import LinearSmoother

HIGH_LEVERAGE = 0.9  # above it a row all but determines its own fit


def leave_out_covariance(prediction: Tensor, smoother: LinearSmoother, ridge: Tensor) -> Tensor:
    r"""Covariance of each prediction with its leave-one-out mean, beyond the nuisance functions: (config, row),
    (config,) -> (config,).

    .. math:: \sum_i w_i \tilde f_i \Big(\tilde f_i - \frac{\tilde f_i - (S \tilde f)_i}{1 - S_{ii}}\Big)

    with f̃ the prediction less its projection on the nuisance functions (f − f̄ by default). It keeps the shrinkage of
    S, unlike the DPVar estimate of :mod:`fairlevel.metrics.leave_one_out`, so it is the held-out counterpart of a
    penalty with the same ridge. Leverages above 0.9 count as 0.9.
    """
    if smoother.one_by_one and len(prediction) > 1:
        parts = zip(torch.split(prediction, 1), torch.split(ridge, 1), strict=True)
        return torch.cat([leave_out_covariance(own, smoother, of_own) for own, of_own in parts])
    shrinkage = smoother.shrinkage(ridge)
    own_weight = smoother.leverage(shrinkage).clamp_max(HIGH_LEVERAGE)
    centred = smoother.beyond_nuisance(prediction)
    residual = (centred - smoother.apply(centred, ridge)) / (1 - own_weight)
    return (smoother.row_weight * centred * (centred - residual)).sum(dim=-1)
