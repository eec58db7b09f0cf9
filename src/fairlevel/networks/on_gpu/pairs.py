"""Sums over all pairs of rows for HSIC by one Triton kernel: no pair is ever written to memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from fairlevel.networks.on_gpu import triton_kernels
from fairlevel.penalties.hsic import KernelRows, PairSums

MOST_ATTRIBUTES = 64  # more do not fit the registers
ROWS = 64  # of a block of pairs


class PairsOnGPU:
    """Launches the kernel; a launch can be recorded into a CUDA graph."""

    def __init__(self, kernels: Any) -> None:
        self._kernels = kernels

    def sums(self, u: Tensor, rows: KernelRows) -> PairSums:
        """For u = f / σ_f, (config, row)."""
        u, sensitive = u.contiguous(), rows.sensitive.contiguous()
        value, slope = torch.empty_like(u), torch.empty_like(u)
        (configs, count), attributes = u.shape, sensitive.shape[1]
        launch = self._kernels.pair_sums[(configs, -(-count // ROWS))]
        padded = max(16, 1 << max(attributes - 1, 0).bit_length())
        of_a = sensitive, sensitive.square().sum(dim=1), -0.5 / rows.bandwidth**2, rows.row_mean.contiguous(), rows.mean
        ends = rows.row_weight.contiguous(), value, slope, count, attributes
        launch(u, *of_a, *ends, PADDED=padded, BLOCK=ROWS, num_warps=4, num_stages=1)
        return PairSums(value, slope)


def pairs_on_gpu(u: Tensor, sensitive: Tensor) -> PairsOnGPU | None:
    """What computes the sums for float32 tensors on a GPU, or None where PyTorch must do the work."""
    suits = u.is_cuda and u.dtype == sensitive.dtype == torch.float32 and sensitive.shape[1] <= MOST_ATTRIBUTES
    return _load() if suits else None


@cache
def _load() -> PairsOnGPU | None:
    kernels = triton_kernels("fairlevel.networks.on_gpu.cuda_kernels")
    return None if kernels is None else PairsOnGPU(kernels)
