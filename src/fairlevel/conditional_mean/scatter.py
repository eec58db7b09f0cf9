"""Sums of products of functions over many rows."""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK, _STRIP = 2048, 48  # rows and functions at a time


def scatter(scale: Tensor, basis: Tensor) -> Tensor:
    """Σ_i s_i² b_i b_iᵀ: (row,), (row, basis) -> (basis, basis). With s = √w these are second moments; with s = w v the
    covariance of BᵀWf for noise v.

    Rows are scaled in blocks, so that no copy of very many is made, and of the symmetric result only the upper part is
    computed, in strips.
    """
    count = basis.shape[1]
    starts = range(0, count, _STRIP)
    strips = [basis.new_zeros(min(_STRIP, count - start), count - start) for start in starts]
    room = basis.new_empty(min(_BLOCK, len(basis)), count)
    for first in range(0, len(basis), _BLOCK):
        rows = slice(first, first + _BLOCK)
        part = basis[rows]
        scaled = torch.mul(part, scale[rows].unsqueeze(1), out=room[: len(part)])
        for start, strip in zip(starts, strips, strict=True):
            strip.addmm_(scaled[:, start : start + _STRIP].T, scaled[:, start:])
    result = basis.new_empty(count, count)
    for start, strip in zip(starts, strips, strict=True):
        result[start : start + _STRIP, start:] = strip
        result[start:, start : start + _STRIP] = strip.T
    return result
