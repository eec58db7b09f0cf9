"""What HSIC needs of A: its Gaussian kernel, centred, never kept as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from fairlevel.penalties.toolkit import Prepared


class PairSums(NamedTuple):
    """Σ_j w_j K_ij (HLH)_ij and Σ_j w_j K_ij (HLH)_ij (u_i − u_j), each (config, row)."""

    value: Tensor
    slope: Tensor


@dataclass(frozen=True)
class KernelRows(Prepared):
    """Attributes and the centring of their kernel L for each of several bandwidths; L itself is never kept.

    Shapes: sensitive (row, attribute), known (bandwidth,) as multiples of the median distance, bandwidths σ_A
    (bandwidth,), row_mean (bandwidth, row), mean (bandwidth,), row_weight (row,).
    """

    sensitive: Tensor
    known: Tensor
    bandwidths: Tensor
    row_mean: Tensor
    mean: Tensor
    row_weight: Tensor

    @cached_property
    def lengths(self) -> Tensor:
        """|a_i|² of each row, (row,)."""
        return self.sensitive.square().sum(dim=1)

    @cached_property
    def exponents(self) -> Tensor:
        """−1/2σ_A², what squared distances are multiplied by, (bandwidth,)."""
        return -0.5 / self.bandwidths.square()

    def centred(self, rows: slice, others: slice) -> Tensor:
        """(H L H) between some rows and others: (bandwidth, row, other)."""
        values = kernel(self.sensitive[rows], self.sensitive[others], self.bandwidths)
        values -= (self.row_mean[:, rows] - self.mean[:, None])[:, :, None]
        values -= self.row_mean[:, None, others]
        return values


def kernel(rows: Tensor, others: Tensor, bandwidths: Tensor) -> Tensor:
    """Gaussian kernel for each bandwidth: (row, k), (other, k), (bandwidth,) -> (bandwidth, row, other)."""
    lengths = rows.square().sum(dim=1)[:, None] + others.square().sum(dim=1)
    squares = torch.addmm(lengths, rows, others.T, alpha=-2).clamp_min_(0)
    return (squares * (-0.5 / bandwidths.square())[:, None, None]).exp_()
