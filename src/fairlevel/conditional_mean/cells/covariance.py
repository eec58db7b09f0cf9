"""Covariances of coefficients, with those of cells as a diagonal, and draws from them."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.overlap import Overlap

_DRAWS = 256  # at a time


@dataclass(frozen=True)
class CoefficientCovariance:
    """A covariance K of coefficients: of columns (column, column), of cells with columns (cell, column), and of cells,
    which is diagonal, (cell,). ``overlap`` makes products with cells cheaper.
    """

    columns: Tensor
    across: Tensor
    cells: Tensor
    overlap: Overlap = field(kw_only=True)

    @classmethod
    def plain(cls, columns: Tensor) -> CoefficientCovariance:
        """Of columns alone."""
        across = columns.new_empty(0, len(columns))
        return cls(columns, across, columns.new_empty(0), overlap=Overlap((), across))

    def __sub__(self, other: CoefficientCovariance) -> CoefficientCovariance:
        columns, across, cells = self.columns - other.columns, self.across - other.across, self.cells - other.cells
        return CoefficientCovariance(columns, across, cells, overlap=self.overlap)

    @property
    def normals(self) -> int:
        """How many standard normal numbers a draw from N(0, K) takes."""
        return len(self.columns) + len(self.cells)

    def diagonal(self) -> Tensor:
        """(function,)"""
        return torch.cat([self.columns.diagonal(), self.cells])

    def form(self, weights: Tensor) -> Tensor:
        """Σ_jk q_j q_k K_jk² = tr(qKqK): (…, function) -> (…)."""
        of_columns, of_cells = weights.tensor_split([len(self.columns)], dim=-1)
        both = of_columns @ self.columns.square() + 2 * (of_cells @ self.across.square())
        return (both * of_columns).sum(dim=-1) + of_cells.square() @ self.cells.square()

    def drawn_forms(self, normal: Tensor, weights: Tensor) -> Tensor:
        """Σ_j q_j c_j² of draws c from N(0, K) made of standard normal numbers: (draw, normal), (form, function)
        -> (draw, form). Cells come first; of columns, what cells do not determine is left to be drawn.
        """
        (of_columns, of_cells), (root, known) = weights.tensor_split([len(self.columns)], dim=1), self._roots()
        known_columns = self.overlap.factored(known)
        forms = []
        for part in torch.split(normal, _DRAWS):
            free, given = part.tensor_split([len(self.columns)], dim=1)
            columns = known_columns.products(given).addmm_(free, root.T)
            forms.append(torch.addmm(columns.square_() @ of_columns.T, given.square(), (of_cells * self.cells).T))
        return torch.cat(forms)

    def errors(self, loading: Tensor) -> Tensor:
        """Combinations of the coefficients as combinations of standard normal numbers, L R with K = R Rᵀ: (combination,
        function) -> (combination, normal).
        """
        of_columns, of_cells = loading.tensor_split([len(self.columns)], dim=1)
        root, known = self._roots()
        return torch.cat([of_columns @ root, of_columns @ known.T + of_cells * self.cells.sqrt()], dim=1)

    def _roots(self) -> tuple[Tensor, Tensor]:
        """Of columns, the root of what cells do not determine (column, column), and what they do (cell, column)."""
        known = self.across * torch.where(self.cells > 0, self.cells.rsqrt(), 0).unsqueeze(1)
        moments, vectors = torch.linalg.eigh(self.columns - known.T @ known)
        return vectors * moments.clamp_min(0).sqrt(), known
