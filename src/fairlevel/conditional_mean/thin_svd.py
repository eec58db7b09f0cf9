"""The singular value decomposition, also of matrices on which the fast algorithm fails."""

from __future__ import annotations

import torch
from torch import Tensor


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
