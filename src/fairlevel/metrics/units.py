"""What is independent, rows or groups of rows, and what that means for estimates, their noise and their tests."""

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
from fairlevel.metrics.leave_group_out import leave_group_out_errors, leave_groups_out_dpvar, left_out, nuisance_only
from fairlevel.metrics.leave_one_out import LeaveOut, leave_out_dpvar, nuisance_left_out
from fairlevel.metrics.row_groups import RowGroups
from fairlevel.threads import on_single_threads


@dataclass(frozen=True)
class IndependentUnits:
    """What is independent: rows, or groups of them."""

    groups: RowGroups | None = None

    @classmethod
    def of(cls, rows: Attributes) -> IndependentUnits:
        return cls() if rows.groups is None else cls(RowGroups.of(rows.groups))

    def sums(self, values: Tensor) -> Tensor:
        """Sums within each unit: (row, ...) -> (unit, ...)."""
        return values if self.groups is None else self.groups.sums(values)

    def errors(self, prediction: Tensor, smoother: LinearSmoother, ridges: Tensor, cost: float) -> Tensor:
        """The error of each ridge on units that are left out, (config, ridge)."""
        if self.groups is None:
            return smoother.leave_one_out(prediction, ridges, cost=cost)
        return leave_group_out_errors(prediction, smoother, self.groups, ridges, cost)

    def leave_out(self, prediction: Tensor, smoother: LinearSmoother, ridge: Tensor) -> LeaveOut:
        """The debiased DPVar of each prediction, units left out in turn; (config, row), (config,)."""
        if self.groups is None:
            return leave_out_dpvar(prediction, smoother, ridge)
        return leave_groups_out_dpvar(prediction, smoother, ridge, self.groups)

    def null_noise(self, centred: Tensor, smoother: LinearSmoother) -> Tensor:
        """The noise of each row when DPVar = 0, from residuals f̃ of the nuisance functions: f̃_i / √(1 − P_ii), or the
        same of each group; (..., row) for rows, (row,) for groups.
        """
        if self.groups is None:
            nuisance = smoother.nuisance_functions
            return centred / nuisance_left_out(nuisance, smoother.nuisance, smoother.row_weight).sqrt()
        return left_out(centred, smoother, nuisance_only(smoother), self.groups, 0.5, 1 - HIGH_LEVERAGE)

    def covariance(self, values: Tensor, functions: SignedFunctions, row_weight: Tensor) -> CoefficientCovariance:
        """K = Σ_u s_u s_uᵀ with s_u the sum of w_i v_i b_i over the rows of a unit; (row,)."""
        if self.groups is None:
            return functions.covariance(row_weight * values)
        return GroupScores.of(functions, row_weight * values, self.groups).covariance()

    def covariance_beside(
        self, values: Tensor, functions: SignedFunctions, others: Tensor, row_weight: Tensor
    ) -> CoefficientCovariance:
        """The same with further scores Σ w_i o_i of each unit after those of the columns; others (row, other)."""
        if self.groups is None:
            return functions.covariance_beside(row_weight * values, row_weight.unsqueeze(1) * others)
        sums = self.groups.sums(row_weight.unsqueeze(1) * others)
        return GroupScores.of(functions, row_weight * values, self.groups).beside(sums).covariance()

    def own_squares(self, values: Tensor, functions: SignedFunctions, kept: Tensor, row_weight: Tensor) -> Tensor:
        """Σ_u (s_uᵀ q s_u)², what pairs of a unit with itself add to tr(qKqK); a number."""
        return self._own(values, functions, kept, row_weight).square().sum()

    def own_difference(
        self, values_a: Tensor, values_b: Tensor, functions: SignedFunctions, kept: Tensor, row_weight: Tensor
    ) -> Tensor:
        """Σ_u (s_buᵀ q s_bu − s_auᵀ q s_au)², the own part for the difference of two estimates; a number."""
        own_a, own_b = (self._own(values, functions, kept, row_weight) for values in (values_a, values_b))
        return (own_b - own_a).square().sum()

    def _own(self, values: Tensor, functions: SignedFunctions, kept: Tensor, row_weight: Tensor) -> Tensor:
        """s_uᵀ q s_u of each unit, (unit,)."""
        if self.groups is None:
            return (row_weight * values).square() * functions.sums_of_squares(kept.unsqueeze(0)).squeeze(1)
        return GroupScores.of(functions, row_weight * values, self.groups).own(kept)

    def null_variance(
        self,
        covariance: CoefficientCovariance,
        residual: Tensor,
        functions: SignedFunctions,
        kept: Tensor,
        row_weight: Tensor,
    ) -> Tensor:
        r"""Variance of an estimate that is left when DPVar = 0, a number: 2 tr(qKqK) with K the covariance of the
        residuals, less the units' own part, which the estimate leaves out. ``kept`` is q, (function,).
        """
        own = self.own_squares(residual, functions, kept, row_weight)
        return 2 * (covariance.trace_of_square(kept) - own)


def null_variance(left_out: LeaveOut, smoother: LinearSmoother, units: IndependentUnits) -> Tensor:
    """:meth:`IndependentUnits.null_variance` of each estimate, (config,)."""
    first, weight = smoother.nuisance, smoother.row_weight
    functions = smoother.fit.beyond(first).signed

    def of(residual: Tensor, kept: Tensor) -> Tensor:
        covariance = units.covariance(residual, functions, weight)
        return units.null_variance(covariance, residual, functions, kept, weight)

    estimates = zip(left_out.residual, functions.weights(left_out.kept[:, first:]), strict=True)
    return torch.stack(on_single_threads(*(partial(of, residual, kept) for residual, kept in estimates)))
