"""Fitted functions of A as plain values, ready for JSON, and back; nothing that a file names is run or imported."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch

from fairlevel.conditional_mean.blockwise import Functions
from fairlevel.conditional_mean.cells.discrete_columns import Cells
from fairlevel.conditional_mean.factors import FactorFeatures, LegitimateFactors
from fairlevel.conditional_mean.groups import GroupFeatures
from fairlevel.conditional_mean.protocol import FeaturesOf, FeaturesWithin, Standardiser
from fairlevel.conditional_mean.random_features import RoundedWaves, Waves
from fairlevel.conditional_mean.ridge import PenalisedColumns
from fairlevel.conditional_mean.splines import SplineFeatures
from fairlevel.exceptions import InvalidInput

FUNCTIONS: dict[str, type] = {
    each.__name__: each
    for each in (
        Cells,
        Functions,
        FactorFeatures,
        FeaturesOf,
        FeaturesWithin,
        GroupFeatures,
        LegitimateFactors,
        PenalisedColumns,
        RoundedWaves,
        SplineFeatures,
        Standardiser,
        Waves,
    )
}
"""What a file may hold."""


def to_plain(value: Any) -> Any:
    """Numbers, lists and dictionaries; numbers of 64 bits come back exactly."""
    if is_dataclass(value) and not isinstance(value, type):
        if FUNCTIONS.get(type(value).__name__) is not type(value):
            raise InvalidInput(f"{type(value).__name__} is a function of your own, which cannot be stored.")
        return {"is": type(value).__name__} | plain_fields(value)
    if isinstance(value, torch.Tensor):
        return to_plain(value.numpy()) | {"is": "tensor"}
    if isinstance(value, np.ndarray):
        return {"is": "array", "type": value.dtype.name, "shape": list(value.shape), "values": _finite(value)}
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def plain_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass of any kind, each as :func:`to_plain` gives it."""
    return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}


def from_plain(plain: Any) -> Any:
    """What :func:`to_plain` was given."""
    if isinstance(plain, list):
        return tuple(from_plain(each) for each in plain)
    if not isinstance(plain, dict):
        return plain
    if plain["is"] in ("array", "tensor"):
        values = np.array(plain["values"], dtype=plain["type"]).reshape(plain["shape"])
        return torch.from_numpy(values) if plain["is"] == "tensor" else values
    return FUNCTIONS[plain["is"]](**{name: from_plain(each) for name, each in plain.items() if name != "is"})


def _finite(values: Any) -> list[Any]:
    """JSON has no infinity: it is written as text, which NumPy reads."""
    plain = values.ravel().tolist()
    return plain if values.dtype.kind != "f" or np.isfinite(values).all() else [_text(each) for each in plain]


def _text(number: float) -> float | str:
    return number if np.isfinite(number) else str(number)
