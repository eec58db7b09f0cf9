"""Products and decompositions of tall matrices, one row per row of the table."""

from __future__ import annotations

import torch
from torch import Tensor

_BLOCK, _STRIP = 2048, 48  # rows and functions at a time


def scatter_matrix(scale: Tensor, basis: Tensor) -> Tensor:
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


def thin_svd(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, s, Vᵗ with values = U diag(s) Vᵗ: (row, feature) -> (row, rank), (rank,), (rank, feature), in float64.

    Divide and conquer (LAPACK's gesdd) is fast. Some builds of it fail to converge where many singular values are
    equal, as those of columns that are orthonormal already. QR iterations (gesvd) are used then.
    """
    try:
        left, singular, right = torch.linalg.svd(values, full_matrices=False)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        from scipy.linalg import svd  # audits need no SciPy otherwise

        parts = svd(values.cpu().numpy(), full_matrices=False, lapack_driver="gesvd")
        left, singular, right = (torch.from_numpy(part).to(values.device) for part in parts)
    return left, singular, right
