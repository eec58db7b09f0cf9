"""Blocks of rows that fit the cache of a CPU; a GPU takes all rows at once."""

from __future__ import annotations

from collections.abc import Iterator

import torch

_ROWS = 512


def row_blocks(rows: int, device: torch.device) -> Iterator[slice]:
    """Slices that cover all rows: on a CPU of so many rows that their activations stay in a cache."""
    size = _ROWS if device.type == "cpu" else max(rows, 1)
    return (slice(start, min(start + size, rows)) for start in range(0, max(rows, 1), size))
