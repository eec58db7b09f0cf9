r"""DPVar where rows belong together: estimates that leave out all rows of a group, such as all visits of one person.

As in :mod:`fairlevel.metrics.leave_one_out`, with the noise of a group as a whole: with S_gg the rows and columns of S
that belong to group g, the residual of a fit without the group is :math:`(I - S_{gg})^{-1} (f_g - \hat h_g)`, and

.. math:: \hat\psi = \sum_j q_j c_j^2 - \sum_g \sum_j q_j s_{gj} t_{gj}, \qquad
          s_g = B_g^\top W_g \tilde f_g, \quad t_g = B_g^\top W_g (f_g - \hat h_{-g}) .

Groups of one row give the leave-one-out estimate. Eigenvalues of S_gg above ``HIGH_LEVERAGE`` count as that. What
functions of L fit by chance is added for groups whose rows have leverages below ``LARGE_LEVERAGE`` on average.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fairlevel.conditional_mean.leave_one_out import HIGH_LEVERAGE
from fairlevel.conditional_mean.smoother import LEAST_LEFT_OUT, LinearSmoother
from fairlevel.metrics.leave_one_out import LARGE_LEVERAGE, LeaveOut, form_weights, split_by_nuisance
from fairlevel.metrics.row_groups import RowGroups


def left_out(
    residual: Tensor, smoother: LinearSmoother, shrinkage: Tensor, groups: RowGroups, power: float, least: float
) -> Tensor:
    """(I − S_gg)^(−power) of the residuals of each group, eigenvalues of I − S_gg at least ``least``; (…,
    row), (basis,) -> (…, row).
    """
    result = torch.empty_like(residual)
    root, functions = smoother.row_weight.sqrt(), smoother.fit.signed
    weights = functions.weights(shrinkage)
    for rows in groups.by_size:
        scale = root[rows]
        smoothing = functions.within_groups(rows, weights) * scale.unsqueeze(2) * scale.unsqueeze(1)
        leverage, vectors = torch.linalg.eigh(smoothing)
        stretch = (1 - leverage).clamp_min(least) ** -power
        along = vectors.transpose(1, 2) @ (root * residual)[..., rows].unsqueeze(-1)  # (…, group, row, 1)
        result[..., rows] = (vectors @ (stretch.unsqueeze(2) * along)).squeeze(-1) / scale
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
        residual = prediction - smoother.apply(prediction, float(ridges[number]))
        alone = left_out(residual, smoother, smoother.chosen_part(shrinkage), groups, cost, LEAST_LEFT_OUT)
        errors[:, number] = (smoother.row_weight * alone.square()).sum(dim=-1)
    if len(tried) < int(sensible.sum()):
        errors[:, sensible] = errors[:, tried]  # without a penalty all ridges agree
    return errors


def leave_groups_out_dpvar(prediction: Tensor, smoother: LinearSmoother, ridge: Tensor, groups: RowGroups) -> LeaveOut:
    """The debiased DPVar of each prediction; (config, row), (config,) -> :class:`LeaveOut`."""
    shrinkage = smoother.shrinkage(ridge)
    kept = form_weights(shrinkage, smoother.nuisance)
    coefficients, centred, fitted = split_by_nuisance(prediction, smoother, shrinkage)
    functions, weight = smoother.fit.signed, smoother.row_weight
    of_kept = functions.weights(kept)
    noise, residual = prediction.new_empty(len(prediction)), torch.empty_like(prediction)
    lost, only_factors = torch.zeros_like(noise), nuisance_only(smoother)
    factors = smoother.nuisance_functions[:, 1:] * weight.unsqueeze(1)
    for config, error in enumerate(centred - fitted):
        alone = left_out(error, smoother, shrinkage[config], groups, 1.0, 1 - HIGH_LEVERAGE)
        residual[config] = left_out(error, smoother, shrinkage[config], groups, 0.5, 1 - HIGH_LEVERAGE)
        noise[config] = groups.products(
            (weight * centred[config])[None], (weight * alone)[None], functions, of_kept[config]
        )
        if smoother.nuisance > 1:
            beyond = left_out(centred[config], smoother, only_factors, groups, 1.0, 1 - HIGH_LEVERAGE)
            scores, scores_beyond = (groups.sums(factors * each.unsqueeze(1)) for each in (alone, beyond))
            small = (groups.means(smoother.leverage(shrinkage[config])) < LARGE_LEVERAGE).unsqueeze(1)
            lost[config] = (small * scores_beyond * (scores_beyond - scores)).sum()
    estimate = (of_kept * coefficients.square()).sum(dim=-1) - noise + lost
    return LeaveOut(estimate, fitted, residual, kept, smoother.leverage(kept))


def leave_groups_out_matrix(prediction: Tensor, smoother: LinearSmoother, ridge: float, groups: RowGroups) -> Tensor:
    """The debiased DPVar of every mixture of predictions as a quadratic form, (config, row) -> (config, config): as
    :func:`fairlevel.metrics.leave_one_out.leave_out_matrix`, with groups in place of rows. The diagonal is
    :func:`leave_groups_out_dpvar` at this ridge.
    """
    shrinkage = smoother.shrinkage(ridge)
    kept = form_weights(shrinkage, smoother.nuisance)
    coefficients, centred, fitted = split_by_nuisance(prediction, smoother, shrinkage)
    functions, weight = smoother.fit.signed, smoother.row_weight
    of_kept = functions.weights(kept)
    alone = left_out(centred - fitted, smoother, shrinkage, groups, 1.0, 1 - HIGH_LEVERAGE)
    removed = groups.products(weight * centred, weight * alone, functions, of_kept)
    if smoother.nuisance > 1:
        beyond = left_out(centred, smoother, nuisance_only(smoother), groups, 1.0, 1 - HIGH_LEVERAGE)
        small = (groups.means(smoother.leverage(shrinkage)) < LARGE_LEVERAGE).unsqueeze(1)
        for factor in smoother.nuisance_functions[:, 1:].T * weight:
            scores, scores_beyond = (groups.sums((each * factor).T) for each in (alone, beyond))  # (group, config)
            removed = removed - (small * scores_beyond).T @ (scores_beyond - scores)
    return (coefficients * of_kept) @ coefficients.T - (removed + removed.T) / 2


def nuisance_only(smoother: LinearSmoother) -> Tensor:
    """The shrinkage of a fit of the nuisance functions alone, (basis,)."""
    shrinkage = smoother.row_weight.new_zeros(smoother.fit.count)
    shrinkage[: smoother.nuisance] = 1
    return shrinkage
