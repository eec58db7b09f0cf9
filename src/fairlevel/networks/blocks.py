"""Blocks of rows that fit the cache of a CPU; a GPU takes all rows at once."""

from __future__ import annotations

from collections.abc import Iterator

import torch

_ROWS = 512


def row_blocks(rows: int, device: torch.device) -> Iterator[slice]:
    """Slices that cover all rows. They depend only on the number of rows and the device, so that sums over blocks are
    the same whatever other configurations are computed.
    """
    size = _ROWS if device.type == "cpu" else max(rows, 1)
    return (slice(start, min(start + size, rows)) for start in range(0, max(rows, 1), size))
