"""What HSIC needs of A: its Gaussian kernel, centred, never kept as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fairlevel.arrays import AnyArray, namespace
from fairlevel.penalties.toolkit import Prepared


class PairSums(NamedTuple):
    """Σ_j w_j K_ij (HLH)_ij and Σ_j w_j K_ij (HLH)_ij (u_i − u_j), each (config, row)."""

    value: AnyArray
    slope: AnyArray


@dataclass(frozen=True)
class KernelRows(Prepared):
    """Attributes and the centring of their kernel L for each of several bandwidths; L itself is never kept.

    Shapes: sensitive (row, attribute), known (bandwidth,) as multiples of the median distance, bandwidths σ_A
    (bandwidth,), row_mean (bandwidth, row), mean (bandwidth,), row_weight (row,).
    """

    sensitive: AnyArray
    known: AnyArray
    bandwidths: AnyArray
    row_mean: AnyArray
    mean: AnyArray
    row_weight: AnyArray

    @cached_property
    def lengths(self) -> AnyArray:
        """|a_i|² of each row, (row,)."""
        return (self.sensitive**2).sum(1)

    @cached_property
    def exponents(self) -> AnyArray:
        """−1/2σ_A², what squared distances are multiplied by, (bandwidth,)."""
        return -0.5 / self.bandwidths**2

    def centred(self, rows: slice, others: slice) -> AnyArray:
        """(H L H) between some rows and others: (bandwidth, row, other)."""
        values = kernel(self.sensitive[rows], self.sensitive[others], self.bandwidths)
        values -= (self.row_mean[:, rows] - self.mean[:, None])[:, :, None]
        values -= self.row_mean[:, None, others]
        return values


def kernel(rows: AnyArray, others: AnyArray, bandwidths: AnyArray) -> AnyArray:
    """Gaussian kernel for each bandwidth: (row, k), (other, k), (bandwidth,) -> (bandwidth, row, other)."""
    xp = namespace(rows)
    squares = (rows**2).sum(1)[:, None] + (others**2).sum(1) - 2 * rows @ others.T
    return xp.exp(xp.clip(squares, min=0.0) * (-0.5 / bandwidths**2)[:, None, None])
