r"""What is independent, rows or groups of rows: one place for all formulas that differ between the two.

A *unit* is a row, or a group of rows. With weights w_i, noise v_i of the rows and signed functions φ_i of A, the scores
of a unit and the covariance of coefficients are

.. math:: s_u = \sum_{i \in u} w_i v_i \varphi_i, \qquad K = \sum_u s_u s_u^\top .

``weighted`` stands for w_i v_i below, (row,), and ``q`` for the weights of functions in a quadratic form, (function,).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.cells.signed_functions import SignedFunctions
from fairlevel.conditional_mean.leave_one_out import HIGH_LEVERAGE
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.metrics.group_scores import GroupScores
from fairlevel.metrics.leave_group_out import (
    leave_group_out_errors,
    leave_groups_out_dpvar,
    leave_groups_out_matrix,
    left_out,
    nuisance_only,
)
from fairlevel.metrics.leave_one_out import LeaveOut, leave_out_dpvar, leave_out_matrix, nuisance_left_out
from fairlevel.metrics.row_groups import RowGroups
from fairlevel.threads import on_single_threads


@dataclass(frozen=True)
class IndependentUnits:
    """Groups of rows; rows where ``groups`` is None."""

    groups: RowGroups | None = None

    @classmethod
    def of(cls, rows: Attributes) -> IndependentUnits:
        return cls() if rows.groups is None else cls(RowGroups.of(rows.groups))

    def sums(self, values: Tensor) -> Tensor:
        """Sums within each unit: (row, ...) -> (unit, ...)."""
        return values if self.groups is None else self.groups.sums(values)

    def errors(self, prediction: Tensor, smoother: LinearSmoother, ridges: Tensor, cost: float) -> Tensor:
        """The error of each ridge on units that are left out: (config, row), (ridge,) -> (config, ridge)."""
        if self.groups is None:
            return smoother.leave_one_out(prediction, ridges, cost=cost)
        return leave_group_out_errors(prediction, smoother, self.groups, ridges, cost)

    def leave_out(self, prediction: Tensor, smoother: LinearSmoother, ridge: Tensor) -> LeaveOut:
        """The debiased DPVar of each prediction, units left out in turn; (config, row), (config,)."""
        if self.groups is None:
            return leave_out_dpvar(prediction, smoother, ridge)
        return leave_groups_out_dpvar(prediction, smoother, ridge, self.groups)

    def leave_out_matrix(self, prediction: Tensor, smoother: LinearSmoother, ridge: float) -> Tensor:
        """The same of every mixture of predictions as a quadratic form: (config, row) -> (config, config)."""
        if self.groups is None:
            return leave_out_matrix(prediction, smoother, ridge)
        return leave_groups_out_matrix(prediction, smoother, ridge, self.groups)

    def null_noise(self, centred: Tensor, smoother: LinearSmoother) -> Tensor:
        """The noise v of each row when DPVar = 0, from residuals f̃ of the nuisance functions with leverages P:
        f̃_i / √(1 − P_ii), and (I − P_gg)^(−1/2) f̃_g for groups; (…, row) for rows, (row,) for groups.
        """
        if self.groups is None:
            return centred / nuisance_left_out(smoother.nuisance_functions, smoother.row_weight).sqrt()
        return left_out(centred, smoother, nuisance_only(smoother), self.groups, 0.5, 1 - HIGH_LEVERAGE)

    def covariance(self, weighted: Tensor, functions: SignedFunctions) -> CoefficientCovariance:
        """K = Σ_u s_u s_uᵀ."""
        if self.groups is None:
            return functions.covariance(weighted)
        return GroupScores.of(functions, weighted, self.groups).covariance()

    def covariance_beside(
        self, weighted: Tensor, functions: SignedFunctions, weighted_others: Tensor
    ) -> CoefficientCovariance:
        """The same with further scores after those of the columns, the sums of w_i o_i over the rows of each unit;
        weighted_others (row, other).
        """
        if self.groups is None:
            return functions.covariance_beside(weighted, weighted_others)
        scores = GroupScores.of(functions, weighted, self.groups)
        return scores.beside(self.groups.sums(weighted_others)).covariance()

    def forms(self, weighted: Tensor, functions: SignedFunctions, q: Tensor) -> Tensor:
        """s_uᵀ diag(q) s_u of each unit, (unit,)."""
        if self.groups is None:
            return weighted.square() * functions.sums_of_squares(q.unsqueeze(0)).squeeze(1)
        return GroupScores.of(functions, weighted, self.groups).forms(q)

    def null_variance(
        self, covariance: CoefficientCovariance, weighted: Tensor, functions: SignedFunctions, q: Tensor
    ) -> Tensor:
        r"""The variance that an estimate has when DPVar = 0, a number: 2 (tr(qKqK) − Σ_u (s_uᵀ q s_u)²).

        K is the covariance of the residuals. The last sum is the part of tr(qKqK) = Σ_uv (s_uᵀ q s_v)² that comes from
        pairs of a unit with itself, which the estimate leaves out.
        """
        own = self.forms(weighted, functions, q).square().sum()
        return 2 * (covariance.trace_of_square(q) - own)


def null_variance(estimates: LeaveOut, smoother: LinearSmoother, units: IndependentUnits) -> Tensor:
    """:meth:`IndependentUnits.null_variance` of each estimate, (config,)."""
    first = smoother.nuisance
    functions = smoother.fit.beyond(first).signed

    def of_one(residual: Tensor, q: Tensor) -> Tensor:
        weighted = smoother.row_weight * residual
        return units.null_variance(units.covariance(weighted, functions), weighted, functions, q)

    every = zip(estimates.residual, functions.weights(estimates.kept[:, first:]), strict=True)
    return torch.stack(on_single_threads(*(partial(of_one, residual, q) for residual, q in every)))
