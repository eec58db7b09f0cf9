"""Products of functions with a few predictions in compiled C: one configuration rounds as in a grid of any size."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from fairlevel.compiled import call, shared_library

SOURCE = Path(__file__).with_name("row_blocks.c")
_MOST_CONFIGS = 64  # at a time; their sums over a block of rows are kept on the stack


@dataclass(frozen=True)
class RowBlocks:
    """Functions packed in blocks of rows, as the C source says: a fifth of the time of PyTorch's products for twelve
    predictions, half of it for one.

    Of very many rows functions are rounded to bytes, for a quarter of the reading. Rounding changes a function by less
    than a hundredth of its spread, at random: c = BᵀWf by as much of what it is by chance where A says nothing about f.

    Shapes: packed (block, function, row of the block), scales (block, function) of bytes, row_weight (row,).
    """

    library: ctypes.CDLL
    packed: Tensor
    scales: Tensor | None
    row_weight: Tensor
    count: int

    @classmethod
    def of(cls, basis: Tensor, row_weight: Tensor, rounded: bool) -> RowBlocks | None:
        """From functions, (row, function), in 32 bits on a CPU; None where there is no compiled code."""
        library = _library()
        if library is None or basis.dtype != torch.float32 or basis.device.type != "cpu":
            return None
        (rows, count), block = basis.shape, int(library.rows_per_block())
        blocks = -(-rows // block)
        packed = torch.empty(blocks, count, block, dtype=torch.uint8 if rounded else torch.float32)
        scales = torch.empty(blocks, count) if rounded else None
        call(library.pack, basis, *basis.stride(), rows, count, packed, scales)
        return cls(library, packed, scales, row_weight.contiguous(), count)

    def coefficients(self, prediction: Tensor) -> Tensor:
        """BᵀWf: (config, row) -> (config, function)."""
        return _in_parts(self._row_sums, prediction)

    def combined(self, coefficients: Tensor) -> Tensor:
        """W B c: (config, function) -> (config, row)."""
        return _in_parts(self._combined, coefficients)

    def _row_sums(self, prediction: Tensor) -> Tensor:
        configs, rows = prediction.shape
        panels = -(-rows // int(self.library.rows_per_panel()))
        partial, sums = prediction.new_empty(panels, configs, self.count), prediction.new_empty(configs, self.count)
        self._call("row_sums", rows, configs, prediction, self.row_weight, partial, sums)
        return sums

    def _combined(self, coefficients: Tensor) -> Tensor:
        configs, rows = len(coefficients), len(self.row_weight)
        out = coefficients.new_empty(configs, rows)
        self._call("combined", rows, configs, coefficients, self.row_weight, out)
        return out

    def _call(self, name: str, rows: int, configs: int, *tensors: Tensor) -> None:
        call(getattr(self.library, name), self.packed, self.scales, rows, self.count, configs, *tensors)


def _in_parts(product: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    """The product with a limited number of configurations at a time."""
    if len(values) <= _MOST_CONFIGS:
        return product(values.contiguous())
    return torch.cat([product(part.contiguous()) for part in torch.split(values, _MOST_CONFIGS)])


@cache
def _library() -> ctypes.CDLL | None:
    """The compiled library, or None where it cannot be built, opened or understood."""
    path = shared_library(SOURCE)
    try:
        library = None if path is None else ctypes.CDLL(str(path))
        if library is not None:
            for name in ("rows_per_block", "rows_per_panel"):
                getattr(library, name).restype = ctypes.c_int64
            for name in ("pack", "row_sums", "combined"):
                getattr(library, name)
        return library
    except (OSError, AttributeError):
        return None
