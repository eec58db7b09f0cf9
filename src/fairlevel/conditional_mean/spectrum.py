"""The effect of a ridge on a smoother whose basis is orthonormal; nothing here depends on single rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

RIDGES = torch.cat([torch.logspace(-7, 2, 28, dtype=torch.float64), torch.tensor([float("inf")], dtype=torch.float64)])
"""The ridge values among which generalised cross-validation chooses; infinity leaves the free part alone."""


@dataclass(frozen=True)
class Spectrum:
    """The number of unpenalised functions, the first ``nuisance`` of them no disparity, and the second moments of
    penalised functions, (penalised basis,), on ``rows`` rows.
    """

    free: int
    moments: Tensor
    rows: float
    nuisance: int = 1

    def shrinkage(self, ridge: Tensor | float) -> Tensor:
        """d_j for each ridge, 1 or s_j / (s_j + λ): (config,) -> (config, basis); a number -> (basis,)."""
        ridge = torch.as_tensor(ridge, dtype=self.moments.dtype, device=self.moments.device).unsqueeze(-1)
        penalised = self.moments / (self.moments + ridge)
        ones = penalised.new_ones(*penalised.shape[:-1], self.free)
        return torch.cat([ones, penalised], dim=-1)

    @property
    def spent_on_factors(self) -> float:
        """The share of the rows that functions of L beyond the constant cost, at most a half."""
        return min((self.nuisance - 1) / self.rows, 0.5)

    def df(self, ridge: Tensor | float) -> Tensor:
        """Degrees of freedom, tr S."""
        return self.shrinkage(ridge).sum(dim=-1)

    def sensible(self, ridges: Tensor, cost: float) -> Tensor:
        """Which ridges the choice may use, (ridge,). Too many degrees of freedom for the rows are refused. So are too
        few where every function of A is penalised: below four, or below half of the available ones, no disparity could
        be found.
        """
        df = self.df(ridges)
        least = min(4.0, len(self.moments) / 2) if self.free == self.nuisance else 0.0
        return (cost * df < self.rows) & (df - self.free >= least)

    def gcv(self, energy: Tensor, square: Tensor, ridges: Tensor = RIDGES, cost: float = 1.0) -> Tensor:
        r"""Generalised cross-validation error of each sensible ridge, (config, ridge).

        .. math:: \mathrm{GCV}(\lambda) =
                  \frac{\sum_i w_i (f_i - (S_\lambda f)_i)^2}{(1 - \kappa \operatorname{tr} S_\lambda / n)^2}

        ``cost`` is κ, the price of a degree of freedom: 1 aims at the smallest error, larger values make it less likely
        that noise is mistaken for structure. Shapes: energy c² of f (config, basis), square Σ w f² (config,).
        """
        residual = (square.unsqueeze(-1) - energy.sum(dim=-1, keepdim=True)).clamp_min(0)
        lost = (1 - self.shrinkage(ridges)).square()
        left = 1 - cost * self.df(ridges) / self.rows
        error = (residual + energy @ lost.T) / left.square()
        return torch.where(self.sensible(ridges, cost), error, torch.inf)

    def choose_ridge(self, energy: Tensor, square: Tensor) -> Tensor:
        """The ridge with the smallest generalised cross-validation error, (config,); the largest of several."""
        best = self.gcv(energy, square).flip(-1).argmin(dim=-1).cpu()
        return RIDGES.flip(0)[best].to(energy.device)
