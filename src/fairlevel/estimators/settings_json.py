"""Settings as plain values for JSON, and back: only classes of this package, never code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import isabstract
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from fairlevel.data.encoder import TableEncoder
from fairlevel.exceptions import InvalidInput

if TYPE_CHECKING:
    from torch import nn

_HOMES = (
    "penalties",
    "penalties.protocol",
    "penalties.gdp_nodes",
    "conditional_mean",
    "networks.inner_losses",
    "networks.mlp_mean",
    "predictors",
    "networks.optimizers",
    "fronts.combiners",
    "candidates",
)


@cache
def known_classes() -> dict[str, type]:
    """Classes whose objects may stand in a file, by name. Most need PyTorch, which settings of names and numbers do
    not.
    """
    return {
        name: value
        for home in _HOMES
        for name, value in vars(import_module(f"fairlevel.{home}")).items()
        if isinstance(value, type) and is_dataclass(value) and not isabstract(value)
        if value.__module__.startswith("fairlevel.")
    }


def to_plain(value: Any) -> Any:
    """Numbers, text and lists as they are; an object of a known class as its name and fields."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return {"float": str(value)}  # JSON has no infinity
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, Enum):
        return to_plain(value.value)
    if isinstance(value, Mapping):
        return {"numbers": {str(name): to_plain(entry) for name, entry in value.items()}}
    if isinstance(value, TableEncoder):
        return {"class": type(value).__name__, "settings": value.get_params()}
    if hasattr(value, "state_dict"):
        from fairlevel.members.modules import describe_module

        return {"module": describe_module(value)}
    if is_dataclass(value) and type(value).__name__ in known_classes():
        settings = {field.name: to_plain(getattr(value, field.name)) for field in fields(value) if field.init}
        return {"class": type(value).__name__, "settings": settings}
    raise InvalidInput(
        f"{value!r} cannot be written to a file: {type(value).__name__} is no class of fairlevel, and files hold no "
        "code. Use names, numbers or objects of fairlevel."
    )


def from_plain(value: Any, module: nn.Module | None = None) -> Any:
    """What :func:`to_plain` wrote; lists come back as tuples. ``module`` stands for a module that the file names."""
    if isinstance(value, list):
        return tuple(from_plain(entry, module) for entry in value)
    if isinstance(value, Mapping):
        if "float" in value:
            return float(value["float"])
        if "module" in value:
            from fairlevel.members.modules import module_from

            return module_from(value["module"], module)
        if "numbers" in value:
            return {name: from_plain(entry, module) for name, entry in value["numbers"].items()}
        name = value.get("class")
        if name == TableEncoder.__name__:
            return TableEncoder(**value["settings"])
        if name not in known_classes():
            raise InvalidInput(f"The file names a class {name!r} that this version of fairlevel does not know.")
        settings = {key: from_plain(entry, module) for key, entry in value["settings"].items()}
        return _object(name, settings)
    return value


def _object(name: str, settings: dict[str, Any]) -> Any:
    """An object of a known class. Older versions wrote ``scale_free`` for LinearR2."""
    if name == "LinearR2" and not settings.pop("scale_free", True):
        mean = known_classes()["RidgeMean"](ridge=settings.pop("ridge"))
        return known_classes()["ClosedFBO"](mean, **settings)
    return known_classes()[name](**settings)
