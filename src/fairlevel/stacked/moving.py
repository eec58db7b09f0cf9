"""Sending a record of tensors to another device and precision."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

Record = TypeVar("Record", bound=Any)


def moved(record: Record, dtype: torch.dtype, device: torch.device | str) -> Record:
    """A frozen dataclass with its floating tensors on ``device`` in ``dtype``; other fields stay as they are, and
    fields that are one tensor stay one.
    """
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor) and value.is_floating_point()}
    there = {id(value): value.to(device, dtype) for value in tensors.values()}
    return replace(record, **{name: there[id(value)] for name, value in tensors.items()})
