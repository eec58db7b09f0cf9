r"""A linear smoother h = S f, factored once for every prediction that will ever be smoothed.

With row weights W = diag(w), Σw = 1, features come in three parts: nuisance functions (the constant, or the constant
and functions of legitimate factors L), free functions of A and penalised ones. The nuisance functions are
orthonormalised, the free part is made orthogonal to them, the penalised part to both, and diagonalised. That leaves a
basis B with BᵀWB = I and

.. math:: S_\lambda = B_{at} \operatorname{diag}(d) B_{fit}^\top W, \qquad
          d_j = 1 \text{ (nuisance, free)}, \quad d_j = s_j / (s_j + \lambda) \text{ (penalised)} .

Any ridge λ is then a diagonal, and all configurations are smoothed by two thin matrix products. Only what the
functions after the nuisance explain is disparity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.products import PaddedProducts, Products, StoredProducts
from fairlevel.conditional_mean.row_blocks import RowBlocks
from fairlevel.conditional_mean.spectrum import Spectrum
from fairlevel.tensors import to_device

MANY_ROWS = 100_000
"""Above so many rows functions are stored once, and the smoother of a penalty is factored from moments."""
LEAST_LEFT_OUT = 0.02
"""1 − S_ii, or the eigenvalues of I − S_gg of a group, count as at least this when ridges are compared."""
_BLOCK = 2**16  # residuals at a time, which stay in cache
_ROWS = 1024  # whose squared functions do


@dataclass(frozen=True)
class LinearSmoother:
    """The factored smoother.

    Shapes: basis at the fit rows and at others, moments (penalised basis,), row_weight (fit row,); predictions (config,
    fit row), smoothed (config, at row). The first basis function is the constant 1; the first ``nuisance`` functions
    are no disparity, and columns of the basis.
    """

    fit: Basis
    at: Basis
    moments: Tensor
    row_weight: Tensor
    nuisance: int = 1
    one_by_one: bool = False
    """Whether each configuration is rounded as if it was alone."""

    @property
    def fit_basis(self) -> Tensor:
        """All functions at the fit rows, (fit row, basis); those of cells are written out."""
        return self.fit.written_out

    @property
    def nuisance_functions(self) -> Tensor:
        """At the fit rows, (fit row, nuisance)."""
        return self.fit.columns[:, : self.nuisance]

    @property
    def free(self) -> int:
        """Number of unpenalised functions, nuisance functions included."""
        return self.fit.count - len(self.moments)

    @cached_property
    def effective_rows(self) -> float:
        """Kish's effective number of rows, 1 / Σ w² (the number of rows when weights are equal)."""
        return float(1 / self.row_weight.double().square().sum())

    @cached_property
    def weighted_basis(self) -> Tensor:
        """W B, (fit row, basis)."""
        return self.fit_basis * self.row_weight.unsqueeze(1)

    @cached_property
    def products(self) -> Products:
        """Of all functions at the fit rows, as steps of training need them."""
        basis, many = self.fit_basis, len(self.row_weight) > MANY_ROWS
        compiled = RowBlocks.of(basis, self.row_weight, rounded=many) if self.one_by_one else None
        if compiled is not None:
            return compiled
        return StoredProducts(basis, self.row_weight) if many else PaddedProducts(basis, self.row_weight)

    def rounding_one_by_one(self) -> LinearSmoother | None:
        """Itself with products that round each configuration as if it was alone, for any number of them; None where
        there is no compiled code.
        """
        found = replace(self, one_by_one=True)
        return found if isinstance(found.products, RowBlocks) else None

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> LinearSmoother:
        """A copy with all functions as columns."""
        fit = Basis(self.fit_basis.to(device, dtype))
        at = fit if self.at is self.fit else Basis(self.at.written_out.to(device, dtype))
        return to_device(replace(self, fit=fit, at=at), dtype, device)

    def trimmed(self, ridge: float, least: float) -> LinearSmoother:
        """Without the functions of which this ridge leaves less than ``least`` times what it leaves of the first
        penalised one: a smoother like any other, whose h differs by at most ``least`` times the spread of f.
        """
        penalised = self.shrinkage(ridge)[self.free :]
        count = self.free + int((penalised >= least * penalised[:1]).sum())  # moments fall
        fit = self.fit.until(count)
        at = fit if self.at is self.fit else self.at.until(count)
        return LinearSmoother(fit, at, self.moments[: count - self.free], self.row_weight, self.nuisance)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The effect of a ridge, which does not depend on single rows."""
        return Spectrum(self.free, self.moments, self.effective_rows, self.nuisance)

    def shrinkage(self, ridge: Tensor | float) -> Tensor:
        """d_j for each ridge: (config,) -> (config, basis); a number -> (basis,)."""
        return self.spectrum.shrinkage(ridge)

    def coefficients(self, prediction: Tensor) -> Tensor:
        """Bᵀ W f: (config, fit row) -> (config, basis); column 0 is the weighted mean."""
        return (prediction * self.row_weight) @ self.fit_basis  # weighting the basis would need as much memory again

    def apply(self, prediction: Tensor, ridge: Tensor | float) -> Tensor:
        """h = S f: (config, fit row) -> (config, at row)."""
        functions = self.fit.signed
        coefficients = functions.coefficients(prediction * self.row_weight)
        return self.at.signed.combined(coefficients * functions.weights(self.shrinkage(ridge)))

    def beyond_nuisance(self, prediction: Tensor) -> Tensor:
        """f less its projection on the nuisance functions, (config, fit row); by default f less its weighted mean."""
        result = prediction
        for function in self.nuisance_functions.T:
            result = result - (prediction * (function * self.row_weight)).sum(dim=-1, keepdim=True) * function
        return result

    def leverage(self, diagonal: Tensor) -> Tensor:
        """Diagonal of B diag(·) BᵀW on the fit rows: (…, basis) -> (…, fit row); functions of one set of cells have the
        same number.
        """
        weights = self.fit.signed.weights(diagonal.reshape(-1, diagonal.shape[-1]))
        leverage = diagonal.new_empty(len(weights), len(self.row_weight))
        for start in range(0, len(self.row_weight), _ROWS):
            rows = slice(start, start + _ROWS)
            leverage[:, rows] = self.fit.signed.take(rows).sums_of_squares(weights).T
        return leverage.mul_(self.row_weight).view(*diagonal.shape[:-1], -1)

    def choose_ridge(self, prediction: Tensor) -> Tensor:
        """The ridge with the smallest generalised cross-validation error, (config,); the largest of several."""
        square = (prediction.square() * self.row_weight).sum(dim=-1)
        functions = self.fit.signed
        energy = functions.energy(functions.coefficients(prediction * self.row_weight), self.fit.count)
        return self.spectrum.choose_ridge(energy, square)

    def leave_one_out(self, prediction: Tensor, ridges: Tensor, cost: float) -> Tensor:
        r"""Leave-one-out error of each ridge, (config, ridge): like :meth:`Spectrum.gcv`, but with the leverage of each
        row in place of the average leverage.

        .. math:: \sum_i w_i \Big( \frac{f_i - (S_\lambda f)_i}{(1 - S_{ii})^\kappa} \Big)^2

        Where noise is largest at the edge of A, the average leverage is too small for those rows and noise is mistaken
        for structure. Functions of L are in every fit and do not count in S_ii: rows that they determine would decide
        the choice. All ridges and configurations are evaluated by one product per block of rows.
        """
        sensible = self.spectrum.sensible(ridges, cost)
        tried = ridges[sensible] if len(self.moments) else ridges[sensible][:1]  # without a penalty all ridges agree
        errors = prediction.new_full((len(prediction), len(ridges)), torch.inf)
        if len(tried):
            errors[:, sensible] = self._leave_one_out(prediction, self.shrinkage(tried), cost)
        return errors

    def chosen_part(self, shrinkage: Tensor) -> Tensor:
        """The shrinkage without functions of L beyond the constant: (…, basis) -> (…, basis)."""
        if self.nuisance == 1:
            return shrinkage
        part = shrinkage.clone()
        part[..., 1 : self.nuisance] = 0
        return part

    def _leave_one_out(self, prediction: Tensor, shrinkage: Tensor, cost: float) -> Tensor:
        """The same for given shrinkages (ridge, basis): (config, row) -> (config, ridge)."""
        functions = self.fit.signed
        coefficients = functions.coefficients(prediction * self.row_weight)
        towards = (coefficients.unsqueeze(1) * functions.weights(shrinkage)).flatten(0, 1)  # (config · ridge, function)
        chosen = functions.weights(self.chosen_part(shrinkage))
        configs, ridges = len(prediction), len(shrinkage)
        errors = prediction.new_zeros(configs, ridges)
        size = max(64, min(1024, _BLOCK // (configs * ridges)))
        for start in range(0, len(self.row_weight), size):
            rows = slice(start, start + size)
            part, weight = functions.take(rows), self.row_weight[rows].unsqueeze(1)
            left_out = (1 - part.sums_of_squares(chosen) * weight).clamp_min_(LEAST_LEFT_OUT)  # 1 − S_ii, (row, ridge)
            residual = part.combined(towards).T.contiguous().view(-1, configs, ridges)
            residual -= prediction[:, rows].T.unsqueeze(2)
            errors += residual.square_().mul_((weight * left_out.pow_(-cost).square_()).unsqueeze(1)).sum(dim=0)
        return errors
