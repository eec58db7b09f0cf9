r"""DPVar without the upward bias of the plug-in, in closed form for linear smoothers.

For h = S f with shrinkage d, the form f'(I − (I − S)⁴)f leaves a bias of shrinkage of fourth order only (Tukey's
twicing, repeated): its diagonal is q = 1 − (1 − d)⁴. What remains is the noise of f given A on the diagonal of Q = B
diag(q) BᵀW, which is removed with leave-one-out estimates of the noise (Kline, Saggio & Sølvsten, Econometrica 2020),
valid when the noise differs from row to row:

.. math:: \hat\psi = \sum_{j \ge 1} q_j c_j^2 - \sum_i w_i Q_{ii} \hat\sigma_i^2, \qquad c = B^\top W f, \qquad
          \hat\sigma_i^2 = (f_i - \bar f)(f_i - \hat h_{-i}(a_i)), \qquad
          f_i - \hat h_{-i}(a_i) = \frac{f_i - \hat h(a_i)}{1 - S_{ii}} .

No folds are drawn: the answer depends on the data alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean.smoother import LinearSmoother

HIGH_LEVERAGE = 0.9  # above it a row all but determines its own fit; the pooled noise stands in for its own


@dataclass(frozen=True)
class LeaveOut:
    """Shapes: estimate (config,), level and residual (config, row), kept (config, basis)."""

    estimate: Tensor
    level: Tensor  # ĥ(a_i) − mean
    residual: Tensor  # (f_i − ĥ(a_i)) / √(1 − S_ii), whose square estimates the noise of a row
    kept: Tensor  # q_j, zero for the constant


def leave_out_dpvar(prediction: Tensor, smoother: LinearSmoother, ridge: Tensor) -> LeaveOut:
    """The debiased DPVar of each prediction; (config, row), (config,) -> :class:`LeaveOut`."""
    shrinkage = smoother.shrinkage(ridge)
    coefficients = smoother.coefficients(prediction)
    kept = kept_share(shrinkage)
    row_weight = smoother.row_weight
    squares = smoother.fit_basis.square().T
    own_weight = (shrinkage @ squares) * row_weight  # S_ii
    diagonal = (kept @ squares) * row_weight  # Q_ii

    centred = prediction - coefficients[:, :1]
    level = (coefficients * shrinkage)[:, 1:] @ smoother.fit_basis[:, 1:].T
    usable = own_weight < HIGH_LEVERAGE
    left_out = torch.where(usable, 1 - own_weight, 1)
    noise = centred * (centred - level) / left_out  # the mean's share of row i and of the left-out fit cancel
    share = (usable * row_weight).sum(dim=-1, keepdim=True).clamp_min(torch.finfo(prediction.dtype).tiny)
    pooled = (noise * usable * row_weight).sum(dim=-1, keepdim=True) / share
    total = (centred.square() * row_weight).sum(dim=-1, keepdim=True)  # where next to no row can tell: all may be noise
    noise = torch.where(usable, noise, torch.where(share > 0.25, pooled, total))

    plug_in = (kept * coefficients.square()).sum(dim=-1)
    estimate = plug_in - (row_weight * diagonal * noise).sum(dim=-1)
    return LeaveOut(estimate, level, (centred - level) / left_out.sqrt(), kept)


def kept_share(shrinkage: Tensor) -> Tensor:
    """q = 1 − (1 − d)⁴ for every direction but the constant: (..., basis) -> (..., basis)."""
    kept = 1 - (1 - shrinkage) ** 4
    kept[..., 0] = 0
    return kept


def null_variance(centred: Tensor, smoother: LinearSmoother, kept: Tensor) -> Tensor:
    r"""Variance of the estimate that is left when DPVar = 0: 2 tr(qKqK), K = Bᵀ diag(w² r²) B,
    less the rows' own part, which the estimate leaves out; one prediction.

    Shapes: centred (row,), kept (basis,) -> scalar.
    """
    scatter = noise_scatter(centred, smoother.fit_basis, smoother.row_weight)
    weighted = kept.unsqueeze(1) * scatter
    own = smoother.row_weight * smoother.leverage(kept) * centred.square()
    return 2 * ((weighted * weighted.T).sum() - own.square().sum())


def noise_scatter(centred: Tensor, basis: Tensor, row_weight: Tensor) -> Tensor:
    """Covariance of BᵀWf when the conditional mean is constant: (row,), (row, basis) -> (basis, basis)."""
    scaled = basis * (row_weight * centred).unsqueeze(1)
    return scaled.T @ scaled


def leave_out_covariance(prediction: Tensor, smoother: LinearSmoother, ridge: Tensor) -> Tensor:
    r"""Covariance of each prediction with its leave-one-out mean, Σ w (f − f̄)(h₋ᵢ − f̄); (config, row), (config,) ->
    (config,).

    Unlike :func:`leave_out_dpvar` it keeps the shrinkage of S, so it is the held-out counterpart of the penalty that
    trains with the same ridge.
    """
    shrinkage = smoother.shrinkage(ridge)
    own_weight = ((shrinkage @ smoother.fit_basis.square().T) * smoother.row_weight).clamp_max(HIGH_LEVERAGE)
    centred = prediction - (prediction * smoother.row_weight).sum(dim=-1, keepdim=True)
    residual = (centred - smoother.apply(centred, ridge)) / (1 - own_weight)
    return (smoother.row_weight * centred * (centred - residual)).sum(dim=-1)


def leave_out_matrix(prediction: Tensor, smoother: LinearSmoother, ridge: float) -> Tensor:
    r"""The debiased DPVar of every mixture of predictions as a quadratic form: (config, row) -> K (config, config).

    .. math:: \hat\psi(w^\top f) = w^\top K w, \qquad
              K_{ab} = \sum_{j \ge 1} q_j c_{aj} c_{bj}
              - \sum_i w_i Q_{ii} \tfrac12 \big(\tilde f_{ai} \tilde e_{bi} + \tilde f_{bi} \tilde e_{ai}\big)

    with f̃ the centred predictions and ẽ their leave-one-out residuals; the diagonal is :func:`leave_out_dpvar` at this
    ridge (up to rows of high leverage, whose own residual stands in here for the pooled noise).
    """
    shrinkage = smoother.shrinkage(ridge)
    coefficients = smoother.coefficients(prediction)
    kept = kept_share(shrinkage)
    own_weight = smoother.leverage(shrinkage).clamp_max(HIGH_LEVERAGE)
    centred = prediction - coefficients[:, :1]
    level = (coefficients * shrinkage)[:, 1:] @ smoother.fit_basis[:, 1:].T
    residual = (centred - level) / (1 - own_weight)
    noise = (centred * (smoother.row_weight * smoother.leverage(kept))) @ residual.T
    return (coefficients * kept) @ coefficients.T - (noise + noise.T) / 2
