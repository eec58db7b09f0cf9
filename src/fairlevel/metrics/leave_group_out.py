r"""DPVar where rows belong together: estimates that leave out all rows of a group, such as all visits of one person.

As in :mod:`fairlevel.metrics.leave_one_out`, with the noise of a group as a whole: with S_gg the rows and columns of S
that belong to group g, the residual of a fit without the group is :math:`(I - S_{gg})^{-1} (f_g - \hat h_g)`, and

.. math:: \hat\psi = \sum_j q_j c_j^2 - \sum_g \sum_j q_j s_{gj} t_{gj}, \qquad
          s_g = B_g^\top W_g \tilde f_g, \quad t_g = B_g^\top W_g (f_g - \hat h_{-g}) .

Groups of one row give the leave-one-out estimate. Eigenvalues of S_gg above ``HIGH_LEVERAGE`` count as that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Index
from fairlevel.conditional_mean.leave_one_out import HIGH_LEVERAGE
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.metrics.leave_one_out import LARGE_LEVERAGE, LeaveOut, kept_share

_LEAST_LEFT = 0.02  # as in LinearSmoother.leave_one_out


@dataclass(frozen=True)
class RowGroups:
    """Which rows belong together: a number from 0 for each row, (row,)."""

    number: Tensor

    @classmethod
    def of(cls, groups: Index) -> RowGroups:
        return cls(torch.from_numpy(np.unique(groups, return_inverse=True)[1].astype(np.int64)))

    @cached_property
    def count(self) -> int:
        return int(self.number.max()) + 1

    @cached_property
    def by_size(self) -> list[Tensor]:
        """Row numbers, one table (group, row of the group) for each size of groups."""
        order = torch.argsort(self.number, stable=True)
        sizes = torch.bincount(self.number)
        starts = sizes.cumsum(0) - sizes
        return [order[starts[sizes == size].unsqueeze(1) + torch.arange(int(size))] for size in torch.unique(sizes)]

    def sums(self, values: Tensor) -> Tensor:
        """Sums over the rows of each group: (row, ...) -> (group, ...)."""
        return values.new_zeros(self.count, *values.shape[1:]).index_add_(0, self.number, values)


def left_out(
    residual: Tensor, smoother: LinearSmoother, shrinkage: Tensor, groups: RowGroups, power: float, least: float
) -> Tensor:
    """(I − S_gg)^(−power) of the residuals of each group, eigenvalues of I − S_gg at least ``least``; (row,),
    (basis,) -> (row,).
    """
    result = torch.empty_like(residual)
    root = smoother.row_weight.sqrt()
    scaled = smoother.fit_basis * (root.unsqueeze(1) * shrinkage.sqrt())
    for rows in groups.by_size:
        own = scaled[rows]  # (group, row, basis)
        leverage, vectors = torch.linalg.eigh(own @ own.transpose(1, 2))
        stretch = (1 - leverage).clamp_min(least) ** -power
        along = (vectors.transpose(1, 2) @ (root * residual)[rows].unsqueeze(2)).squeeze(2)
        result[rows] = (vectors @ (stretch * along).unsqueeze(2)).squeeze(2) / root[rows]
    return result


def leave_group_out_errors(
    prediction: Tensor, smoother: LinearSmoother, groups: RowGroups, ridges: Tensor, cost: float
) -> Tensor:
    """The error of each ridge on groups that are left out, (config, ridge); see ``LinearSmoother.leave_one_out``."""
    sensible = smoother.spectrum.sensible(ridges, cost)
    errors = prediction.new_full((len(prediction), len(ridges)), torch.inf)
    tried = torch.nonzero(sensible).squeeze(1)[: None if len(smoother.moments) else 1]
    for number in tried.tolist():
        shrinkage = smoother.shrinkage(float(ridges[number]))
        residual = prediction - (smoother.coefficients(prediction) * shrinkage) @ smoother.fit_basis.T
        for config, own in enumerate(residual):
            alone = left_out(own, smoother, smoother.chosen_part(shrinkage), groups, cost, _LEAST_LEFT)
            errors[config, number] = (smoother.row_weight * alone.square()).sum()
    if len(tried) < int(sensible.sum()):
        errors[:, sensible] = errors[:, tried]  # without a penalty all ridges agree
    return errors


def leave_groups_out_dpvar(prediction: Tensor, smoother: LinearSmoother, ridge: Tensor, groups: RowGroups) -> LeaveOut:
    """The debiased DPVar of each prediction; (config, row), (config,) -> :class:`LeaveOut`."""
    shrinkage = smoother.shrinkage(ridge)
    coefficients = smoother.coefficients(prediction)
    kept = kept_share(shrinkage, smoother.nuisance)
    first, basis, weighted = smoother.nuisance, smoother.fit_basis, smoother.weighted_basis
    centred = prediction - coefficients[:, :first] @ basis[:, :first].T
    fitted = (coefficients * shrinkage)[:, first:] @ basis[:, first:].T
    noise, residual = prediction.new_empty(len(prediction)), torch.empty_like(prediction)
    lost, only_factors = torch.zeros_like(noise), nuisance_only(smoother)
    for config, own in enumerate(centred - fitted):
        alone = left_out(own, smoother, shrinkage[config], groups, 1.0, 1 - HIGH_LEVERAGE)
        residual[config] = left_out(own, smoother, shrinkage[config], groups, 0.5, 1 - HIGH_LEVERAGE)
        scores = groups.sums(weighted * centred[config].unsqueeze(1))
        scores_alone = groups.sums(weighted * alone.unsqueeze(1))
        noise[config] = (scores * scores_alone).sum(dim=0) @ kept[config]
        if first > 1:
            beyond = left_out(centred[config], smoother, only_factors, groups, 1.0, 1 - HIGH_LEVERAGE)
            scores_beyond = groups.sums(weighted * beyond.unsqueeze(1))
            own_weight = groups.sums(smoother.leverage(shrinkage[config]))
            small = (own_weight < LARGE_LEVERAGE).unsqueeze(1)
            lost[config] = (small * scores_beyond * (scores_beyond - scores_alone))[:, 1:first].sum()
    estimate = (kept * coefficients.square()).sum(dim=-1) - noise + lost
    diagonal = (kept @ basis.square().T) * smoother.row_weight
    return LeaveOut(estimate, fitted, residual, kept, diagonal)


def nuisance_only(smoother: LinearSmoother) -> Tensor:
    """The shrinkage of a fit of the nuisance functions alone, (basis,)."""
    shrinkage = smoother.row_weight.new_zeros(smoother.fit_basis.shape[1])
    shrinkage[: smoother.nuisance] = 1
    return shrinkage


def group_scores(values: Tensor, basis: Tensor, row_weight: Tensor, groups: RowGroups) -> Tensor:
    """Σ_{i in g} w_i v_i b_i: (row,), (row, basis) -> (group, basis)."""
    return groups.sums(basis * (row_weight * values).unsqueeze(1))
