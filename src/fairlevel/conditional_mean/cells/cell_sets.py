r"""All functions of some cells but a few, which need not be written out.

Let E be the scaled indicators of cells, E = Z diag(p)^(−1/2) with p the weights of the cells; they are orthonormal. A
set holds all combinations Ex that are orthogonal to a few others, EU; both x and U are orthonormal. The sum of squares
of its functions is that of E less that of EU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.membership import Membership
from fairlevel.conditional_mean.linear_algebra import thin_svd


@dataclass(frozen=True)
class CellSet:
    """Functions of a basis, from ``first`` on, that are all functions of some cells but those in ``lacking``. Both are
    orthonormal, and functions of the set have one weight q.

    Shapes: weight (cell,), lacking EU (cell, function).
    """

    first: int
    cells: Membership
    weight: Tensor
    lacking: Tensor

    @property
    def count(self) -> int:
        """The number of functions."""
        return len(self.weight) - self.lacking.shape[1]

    @property
    def end(self) -> int:
        """The function after the last one."""
        return self.first + self.count

    def moved(self, by: int) -> CellSet:
        """The same functions in a basis in which they stand elsewhere."""
        return replace(self, first=self.first + by)

    def written_out(self) -> Tensor:
        """The functions at each row, (row, function)."""
        root = self.weight.sqrt().unsqueeze(1)
        return self.cells.values(_complement(self.lacking * root).div_(root))


def _complement(columns: Tensor) -> Tensor:
    r"""Orthonormal columns orthogonal to k orthonormal ones: (row, k) -> (row, row − k).

    With UΣVᵀ the first k rows and P the other rows times V, they are one block reflector's, at the cost of a product:

    .. math:: \begin{pmatrix} -U P^\top \\ I - P (I + \Sigma)^{-1} P^\top \end{pmatrix}
    """
    count = columns.shape[1]
    left, singular, right = thin_svd(columns[:count])
    others = columns[count:] @ right.T
    result = columns.new_zeros(len(columns), len(others))
    torch.mm(-left, others.T, out=result[:count])
    result[count:].fill_diagonal_(1).addmm_(others / (1 + singular), others.T, alpha=-1)
    return result
