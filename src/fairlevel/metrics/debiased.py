r"""DPVar without the upward bias of the plug-in, in closed form for linear smoothers.

For h = S f with shrinkage d, the form f'(I − (I − S)⁴)f leaves a bias of shrinkage of fourth order only (Tukey's
twicing, repeated): its diagonal is q = 1 − (1 − d)⁴. What remains is the noise of f given A on the diagonal of
Q = B diag(q) BᵀW, which is removed with leave-one-out estimates of the noise (Kline, Saggio & Sølvsten, Econometrica
2020), valid when the noise differs from row to row. With scores of each unit, a row or a group of rows,

.. math:: \hat\psi = \sum_j q_j c_j^2 - \sum_u s_u^\top \operatorname{diag}(q)\, t_u, \qquad
          s_u = B_u^\top W_u \tilde f_u, \quad t_u = B_u^\top W_u (f_u - \hat h_{-u}), \quad
          f_u - \hat h_{-u} = (I - S_{uu})^{-1} (f_u - \hat h_u) ,

with f̃ the prediction less its projection on the nuisance functions (f − f̄ by default). No folds are drawn: the answer
depends on the data alone. Units that all but determine their own fit (S_uu has an eigenvalue above ``HIGH_LEVERAGE``)
get the average noise of the others; where the others are few, all variance.

Functions of L, with leverages P, also fit a part of h̃ = E[f|A, L] − E[f|L] by chance. It is added, beyond the constant:
with p_u and e_u the scores of L of f̃_u and of f_u − ĥ_{−u}, where f̃_u is the residual of a fit of L alone without the
unit, Σ_u p_uᵀ(p_u − e_u): noise cancels. Units with S_uu ≥ ``LARGE_LEVERAGE`` on average are left out of this sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairlevel.arrays import Array, Flags
from fairlevel.conditional_mean.smoother import HIGH_LEVERAGE, LEAST_LEFT_OUT, RIDGES, LinearSmoother
from fairlevel.metrics.units import Scores, Units

LARGE_LEVERAGE = 0.5 - 1e-9  # at or above it, what functions of L fit of a row is mostly its noise
"""Where two rows make up a cell, their leverage is 0.5 up to rounding, which must not decide."""
_FEWEST_USABLE = 0.25  # share of the weight of units below which their average noise is no estimate
LEAST_DF = 0.5  # of functions of A that an estimate uses; with fewer the rows are too few for the attributes


def form_weights(shrinkage: Array) -> Array:
    """q = 1 − (1 − d)⁴ for every function of A."""
    weights: Array = 1 - (1 - shrinkage) ** 4
    return weights


@dataclass(frozen=True)
class Debiased:
    """The estimate with one smoother and one ridge; predictions are (config, row)."""

    smoother: LinearSmoother
    ridge: float
    units: Units

    @cached_property
    def shrinkage(self) -> Array:
        """d, (function,)."""
        return self.smoother.shrinkage(self.ridge)

    @cached_property
    def q(self) -> Array:
        """q, (function,)."""
        return form_weights(self.shrinkage)

    @property
    def informative(self) -> bool:
        """Whether the rows are enough for the attributes."""
        return float(self.q.sum()) - self.smoother.counts_constant >= LEAST_DF

    @property
    def noise_is_known(self) -> bool:
        """Whether each unit tells its own noise; otherwise units that differ more than others would look like DPVar."""
        return not self._unusable.any()

    @property
    def chance(self) -> float:
        """The standard error by chance, √(2 Σ q²) / units: that of a prediction of variance 1 that has no DPVar."""
        units = min(self.smoother.effective_rows, self.units.count)
        return float(np.sqrt(2 * (np.square(self.q).sum() - self.smoother.counts_constant)) / units)

    def error_by_chance(self, prediction: Array) -> float:
        """The standard error that the estimate of one prediction, (1, row), has if its DPVar is 0."""
        return float(np.sqrt(self.null_variance(self.scores(self.noise(prediction)[0]))))

    def fitted(self, prediction: Array) -> Array:
        """ĥ beyond the nuisance functions, (config, row)."""
        return self.smoother.functions.combined(self.shrinkage * self.smoother.coefficients(prediction))

    def noise(self, prediction: Array) -> Array:
        """(I − S_uu)^(−½) of the residuals of each unit, whose squares estimate its noise: (config, row)."""
        residual = self.smoother.beyond_nuisance(prediction) - self.fitted(prediction)
        return left_out(residual, self.smoother, self.shrinkage, self.units, 0.5, self._unusable)

    def estimates(self, prediction: Array) -> Array:
        """Debiased DPVar of each prediction, (config,)."""
        estimates: Array = np.diagonal(self.matrix(prediction)).copy()
        return estimates

    def matrix(self, prediction: Array) -> Array:
        """K with wᵀKw the debiased DPVar of the mixture wᵀf: (config, row) -> (config, config)."""
        smoother, units, weight = self.smoother, self.units, self.smoother.row_weight
        centred = smoother.beyond_nuisance(prediction)
        coefficients = smoother.functions.sums(weight * centred)
        residual = centred - smoother.functions.combined(self.shrinkage * coefficients)
        alone = left_out(residual, smoother, self.shrinkage, units, 1.0, self._unusable)
        removed = self._noise_form(centred, alone)
        if smoother.nuisance.shape[1] > 1:
            beyond = left_out(centred, smoother, np.zeros_like(self.shrinkage), units, 1.0)
            sizes = np.bincount(units.number, minlength=units.count)
            small = (units.sums(self._leverage) / sizes < LARGE_LEVERAGE) & ~self._unusable
            for factor in smoother.nuisance[:, 1:].T * weight:
                scores, scores_beyond = (units.sums((each * factor).T)[small] for each in (alone, beyond))
                removed -= scores_beyond.T @ (scores_beyond - scores)
        form: Array = (coefficients * self.q) @ coefficients.T - (removed + removed.T) / 2
        return form

    def _noise_form(self, centred: Array, alone: Array) -> Array:
        """Σ_u s_uᵀ diag(q) t_u of pairs of f̃ and f − ĥ_{−u}; units of high leverage get the average of the others."""
        functions, units, unusable = self.smoother.functions, self.units, self._unusable
        left, right = self.smoother.row_weight * centred, self.smoother.row_weight * alone
        if units.are_rows:
            square = functions.squares(self.q)
            total = (left * np.where(unusable, 0.0, square)) @ right.T
        else:
            total = np.zeros((len(left), len(right)))
            usable = ~unusable
            for rows in units.by_size:
                rows = rows[usable[units.number[rows[:, 0]]]]
                products = functions.within(rows, self.q)
                total += np.einsum("aur,urs,bus->ab", left[:, rows], products, right[:, rows])
        if not unusable.any():
            return total
        weight = self.smoother.row_weight
        needed = units.sums(weight * self.smoother.leverage(self.q))[unusable].sum()
        known = units.sums(weight)[~unusable].sum()
        if known > _FEWEST_USABLE:
            total += needed / known * (centred * ~unusable[units.number]) @ right.T
        else:
            total += needed * centred @ left.T
        return total

    @cached_property
    def _unusable(self) -> Flags:
        """Units that all but determine their own fit, (unit,)."""
        return self.units.any(self._leverage >= HIGH_LEVERAGE)

    @cached_property
    def _leverage(self) -> Array:
        """S_ii, (row,)."""
        return self.smoother.nuisance_leverage + self.smoother.leverage(self.shrinkage)

    def scores(self, noise: Array) -> Scores:
        """Scores of the functions of A for the noise of the rows, (row,)."""
        return self.units.scores(self.smoother.functions, self.smoother.row_weight * noise)

    def null_variance(self, scores: Scores) -> float:
        r"""The variance that the estimate has when DPVar = 0: 2 (tr(qKqK) − Σ_u (s_uᵀ q s_u)²).

        The last sum is the part of tr(qKqK) that comes from pairs of a unit with itself, which the estimate leaves out.
        """
        with_itself = float(np.square(scores.products(scores, self.q)).sum())
        return max(2 * (float(scores.covariance().traces(self.q)[1]) - with_itself), 0.0)


def left_out(
    residual: Array,
    smoother: LinearSmoother,
    shrinkage: Array,
    units: Units,
    power: float,
    unusable: Flags | None = None,
    least: float = 1 - HIGH_LEVERAGE,
) -> Array:
    """(I − S_uu)^(−power) of the residuals of each unit, eigenvalues of I − S_uu at least ``least``; unusable units as
    they are; (config, row).
    """
    weight = smoother.row_weight
    if units.are_rows:
        remaining = 1 - smoother.nuisance_leverage - smoother.leverage(shrinkage)
        remaining = np.clip(remaining, least, None) if unusable is None else np.where(unusable, 1.0, remaining)
        return residual / remaining**power
    result, root = residual.copy(), np.sqrt(weight)
    for rows in units.by_size:
        rows = rows if unusable is None else rows[~unusable[units.number[rows[:, 0]]]]
        scale = root[rows]
        nuisance = smoother.nuisance[rows]
        inside = nuisance @ nuisance.transpose(0, 2, 1) + smoother.functions.within(rows, shrinkage)
        leverage, vectors = np.linalg.eigh(inside * scale[:, :, None] * scale[:, None, :])
        stretch = np.clip(1 - leverage, least, None) ** -power
        along = np.einsum("urs,kur->kus", vectors, (root * residual)[:, rows])
        result[:, rows] = np.einsum("urs,kus->kur", vectors, along * stretch) / np.where(scale > 0, scale, 1.0)
    return result


def leave_out_errors(prediction: Array, smoother: LinearSmoother, units: Units, ridges: Array, cost: float) -> Array:
    """The error of each ridge on units that are left out, (config, ridge), infinite where it may not be used; see
    ``LinearSmoother.leave_one_out``.
    """
    errors = np.full((len(prediction), len(ridges)), np.inf)
    sensible = np.flatnonzero(smoother.sensible(ridges, cost))
    tried = ridges[sensible if len(smoother.moments) else sensible[:1]]  # without a penalty all ridges agree
    if units.are_rows:
        errors[:, sensible] = smoother.leave_one_out(prediction, tried, cost)
        return errors
    without_factors = replace(smoother, nuisance=smoother.nuisance[:, :1])  # which every fit has
    of_groups = np.empty((len(prediction), len(tried)))
    for number, ridge in enumerate(tried.tolist()):
        residual, shrinkage = prediction - smoother.apply(prediction, ridge), smoother.shrinkage(ridge)
        alone = left_out(residual, without_factors, shrinkage, units, cost, least=LEAST_LEFT_OUT)
        of_groups[:, number] = np.square(alone) @ smoother.row_weight
    errors[:, sensible] = of_groups
    return errors


def cross_validated_ridge(prediction: Array, smoother: LinearSmoother, units: Units) -> Array:
    """The ridge with the smallest error on rows, or groups, that are left out, (config,)."""
    if units.are_rows:
        return smoother.choose_ridge(prediction)
    errors = leave_out_errors(prediction, smoother, units, RIDGES[::-1], cost=2.0)  # dearer, since groups are few
    best: Array = RIDGES[::-1][errors.argmin(axis=1)]
    return best
