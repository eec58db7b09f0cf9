r"""DPVar without the upward bias of the plug-in, in closed form for linear smoothers.

For h = S f with shrinkage d, the form f'(I − (I − S)⁴)f leaves a bias of shrinkage of fourth order only (Tukey's
twicing, repeated): its diagonal is q = 1 − (1 − d)⁴, and 0 for nuisance functions. What remains is the noise of f given
A on the diagonal of Q = B diag(q) BᵀW, which is removed with leave-one-out estimates of the noise (Kline, Saggio &
Sølvsten, Econometrica 2020), valid when the noise differs from row to row:

.. math:: \hat\psi = \sum_j q_j c_j^2 - \sum_i w_i Q_{ii} \hat\sigma_i^2, \qquad c = B^\top W f, \qquad
          \hat\sigma_i^2 = \tilde f_i (f_i - \hat h_{-i}(a_i)), \qquad
          f_i - \hat h_{-i}(a_i) = \frac{f_i - \hat h(a_i)}{1 - S_{ii}} ,

with f̃ the prediction less its projection on the nuisance functions (f − f̄ by default). No folds are drawn: the answer
depends on the data alone. The average noise of the other rows is used for rows whose leverage S_ii exceeds
``HIGH_LEVERAGE``; the same rule holds for one prediction, for mixtures, and for rows that are read block by block.

Functions of L, with leverages P_ii, also fit a part of h̃ = E[f|A, L] − E[f|L] by chance, of size Σ w_i P_ii h̃_i². It
is added, beyond the constant, with u_i (u_i − (f_i − ĥ_{−i}(a_i))) in place of h̃_i², where u_i = f̃_i / (1 − P_ii) is
the residual of row i from a fit of L alone without that row: noise cancels. Rows with S_ii ≥ ``LARGE_LEVERAGE`` are
left out of this sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean.leave_one_out import HIGH_LEVERAGE
from fairlevel.conditional_mean.smoother import LinearSmoother

LARGE_LEVERAGE = 0.5 - 1e-9  # at or above it, what functions of L fit of a row is mostly its noise
"""Where two rows make up a cell, their leverage is 0.5 up to rounding, which must not decide."""
_FEWEST_USABLE = 0.25  # share of rows below which their average noise is no estimate: all variance may be noise


@dataclass(frozen=True)
class LeaveOut:
    """Shapes: estimate (config,), fitted, residual and diagonal (config, row), kept (config, basis)."""

    estimate: Tensor
    fitted: Tensor  # ĥ(a_i) beyond the nuisance functions
    residual: Tensor  # (f_i − ĥ(a_i)) / √(1 − S_ii), whose square estimates the noise of a row
    kept: Tensor  # q_j, zero for nuisance functions
    diagonal: Tensor  # Q_ii


@dataclass(frozen=True)
class Leverage:
    """The leverage rule: ``left_out`` is 1 − S_ii, and 1 for rows of high leverage, whose own noise is not ``usable``.

    Shapes: left_out, usable (row,), or (config, row) for one ridge per configuration; row_weight (row,).
    """

    left_out: Tensor
    usable: Tensor
    row_weight: Tensor

    @classmethod
    def of(cls, own_weight: Tensor, row_weight: Tensor) -> Leverage:
        """The rule for leverages S_ii, (…, row), and weights of the rows, (row,)."""
        usable = own_weight < HIGH_LEVERAGE
        return cls(torch.where(usable, 1 - own_weight, 1), usable, row_weight)

    def noise_weight(self, diagonal: Tensor) -> tuple[Tensor, Tensor]:
        r"""Weights u and v with Σ w Q_ii σ̂_i² = Σ u_i f̃_i (f̃_i − ĥ_i) + Σ v_i f̃_i²: the noise that an estimate with
        diagonal Q_ii (…, row) contains, as a quadratic form of the prediction. u is (…, row), v is (…, 1) times w.
        """
        weighted_diagonal = self.row_weight * diagonal
        weight = self.row_weight * self.usable
        usable_weight = weight.sum(dim=-1, keepdim=True)
        needed = (weighted_diagonal * ~self.usable).sum(dim=-1, keepdim=True)  # what rows of high leverage would need
        pooled, unknown = _from_others(usable_weight, needed)
        u = (weighted_diagonal * self.usable + pooled * weight) / self.left_out
        return u, unknown * self.row_weight

    def noise_sums(self, diagonal: Tensor, centred: Tensor, fitted: Tensor) -> NoiseSums:
        """What some of the rows add to the same noise; all (row,)."""
        weighted_diagonal, weight = self.row_weight * diagonal, self.row_weight * self.usable
        squares = centred * (centred - fitted) / self.left_out
        return NoiseSums(
            weight.sum(),
            (weighted_diagonal * ~self.usable).sum(),
            (weighted_diagonal * self.usable * squares).sum(),
            (weight * squares).sum(),
            (self.row_weight * centred.square()).sum(),
        )


@dataclass(frozen=True)
class NoiseSums:
    """Sums over rows for :meth:`Leverage.noise_weight`: usable weight, what other rows need, the noise of usable rows
    with their own weights and with equal ones, and Σ w f̃².
    """

    usable: Tensor
    needed: Tensor
    own: Tensor
    equal: Tensor
    square: Tensor

    @property
    def stacked(self) -> Tensor:
        return torch.stack([self.usable, self.needed, self.own, self.equal, self.square])

    @property
    def total(self) -> Tensor:
        """Σ w Q_ii σ̂_i² of all rows."""
        pooled, unknown = _from_others(self.usable, self.needed)
        return self.own + pooled * self.equal + unknown * self.square


def _from_others(usable: Tensor, needed: Tensor) -> tuple[Tensor, Tensor]:
    """How rows of high leverage get their noise: from the average of the usable rows, of this weight, or, where these
    are few, from all variance; a factor for each.
    """
    enough = usable > _FEWEST_USABLE
    pooled = torch.where(enough, needed / usable.clamp_min(torch.finfo(needed.dtype).tiny), 0)
    return pooled, torch.where(enough, 0, needed)


def leave_out_dpvar(prediction: Tensor, smoother: LinearSmoother, ridge: Tensor) -> LeaveOut:
    """The debiased DPVar of each prediction; (config, row), (config,) -> :class:`LeaveOut`."""
    shrinkage = smoother.shrinkage(ridge)
    kept = form_weights(shrinkage, smoother.nuisance)
    own_weight, diagonal = smoother.leverage(torch.stack([shrinkage, kept]))
    leverage = Leverage.of(own_weight, smoother.row_weight)
    coefficients, centred, fitted = split_by_nuisance(prediction, smoother, shrinkage)
    u, v = leverage.noise_weight(diagonal)
    noise = (u * centred * (centred - fitted)).sum(dim=-1) + (v * centred.square()).sum(dim=-1)
    of_factors, alone = factor_leverage(smoother.nuisance_functions, smoother.row_weight, leverage)
    beyond = centred / alone
    lost = (of_factors * beyond * (beyond - (centred - fitted) / leverage.left_out)).sum(dim=-1)
    estimate = (smoother.fit.signed.weights(kept) * coefficients.square()).sum(dim=-1) - noise + lost
    return LeaveOut(estimate, fitted, (centred - fitted) / leverage.left_out.sqrt(), kept, diagonal)


def leave_out_matrix(prediction: Tensor, smoother: LinearSmoother, ridge: float) -> Tensor:
    r"""The debiased DPVar of every mixture of predictions as a quadratic form: (config, row) -> K (config, config).

    .. math:: \hat\psi(w^\top f) = w^\top K w, \qquad
              K_{ab} = \sum_j q_j c_{aj} c_{bj}
              - \sum_i w_i Q_{ii} \tfrac12 \big(\tilde f_{ai} \tilde e_{bi} + \tilde f_{bi} \tilde e_{ai}\big)
              + \sum_i w_i P_{ii} \tfrac12 \big(u_{ai} (u_{bi} - \tilde e_{bi}) + u_{bi} (u_{ai} - \tilde e_{ai})\big)

    with f̃ the predictions beyond the nuisance functions and ẽ their leave-one-out residuals. The last sum is what
    functions of L fit by chance: P_ii are their leverages beyond the constant, u = f̃ / (1 − P_ii) with P_ii of all
    nuisance functions, and rows with S_ii ≥ ``LARGE_LEVERAGE`` are left out. The diagonal is :func:`leave_out_dpvar` at
    this ridge.
    """
    shrinkage = smoother.shrinkage(ridge)
    kept = form_weights(shrinkage, smoother.nuisance)
    leverage = Leverage.of(smoother.leverage(shrinkage), smoother.row_weight)
    coefficients, centred, fitted = split_by_nuisance(prediction, smoother, shrinkage)
    u, v = leverage.noise_weight(smoother.leverage(kept))
    of_factors, alone = factor_leverage(smoother.nuisance_functions, smoother.row_weight, leverage)
    residual = centred - fitted
    noise = u * residual + v * centred
    lost = of_factors / alone * (centred / alone - residual / leverage.left_out)
    removed = centred @ (noise - lost).T  # one product for both sums over rows
    kept_squares = (coefficients * smoother.fit.signed.weights(kept)) @ coefficients.T
    return kept_squares - (removed + removed.T) / 2


def split_by_nuisance(prediction: Tensor, smoother: LinearSmoother, shrinkage: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Coefficients of each prediction on the functions of ``Basis.signed`` (config, function), what the nuisance
    functions leave of it, and what the smoother fits beyond them, both (config, row).
    """
    functions, first = smoother.fit.signed, smoother.nuisance
    coefficients = functions.coefficients(prediction * smoother.row_weight)
    centred = prediction - coefficients[:, :first] @ smoother.nuisance_functions.T
    shrunk = coefficients * functions.weights(shrinkage)
    shrunk[:, :first] = 0
    return coefficients, centred, functions.combined(shrunk)


def factor_leverage(nuisance: Tensor, row_weight: Tensor, leverage: Leverage) -> tuple[Tensor, Tensor]:
    """w_i P_ii of the functions of L beyond the constant, zero where there are none or S_ii is large, (…, row), and
    1 − P_ii of all nuisance functions, (row,); ``nuisance`` are their values, (row, function).
    """
    small = leverage.usable & (leverage.left_out > 1 - LARGE_LEVERAGE)
    of_factors = nuisance[:, 1:].square().sum(dim=1)
    return row_weight.square() * of_factors * small, nuisance_left_out(nuisance, row_weight)


def nuisance_left_out(nuisance: Tensor, row_weight: Tensor) -> Tensor:
    """1 − P_ii of the nuisance functions (row, function), and 1 for rows of high leverage, (row,). A residual f̃_i of
    these functions alone has this multiple of the variance of the noise of its row.
    """
    return Leverage.of(nuisance.square().sum(dim=1) * row_weight, row_weight).left_out


def form_weights(shrinkage: Tensor, nuisance: int) -> Tensor:
    """q = 1 − (1 − d)⁴ for every function after the nuisance functions: (..., basis) -> (..., basis)."""
    kept = 1 - (1 - shrinkage) ** 4
    kept[..., :nuisance] = 0
    return kept
