"""Row weights as tensors, and copies of records of tensors on another device."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput

Record = TypeVar("Record", bound=Any)


def to_device(record: Record, dtype: torch.dtype, device: torch.device | str) -> Record:
    """A copy of a frozen dataclass with its floating tensors on ``device`` in ``dtype``.

    Other fields stay as they are. Fields that hold the same tensor still share one tensor in the copy.
    """
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor) and value.is_floating_point()}
    there = {id(value): value.to(device, dtype) for value in tensors.values()}
    return replace(record, **{name: there[id(value)] for name, value in tensors.items()})


def weights_of_part(sample_weight: Array | None, part: slice, rows: int) -> Tensor:
    """Weights of some of the rows, scaled to sum to 1 over them, (row of the part,)."""
    weight = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    own = weight[part]
    if not own.sum() > 0:
        raise InvalidInput(
            "sample_weight is zero on all rows of a part of the training rows; positive weights are needed there."
        )
    return torch.from_numpy(own / own.sum())
