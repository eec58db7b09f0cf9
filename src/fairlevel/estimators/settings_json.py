"""Settings as plain values for JSON, and back: only classes of this package, never code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import isabstract
from math import isfinite
from typing import Any

import numpy as np

from fairlevel.data.encoder import TableEncoder
from fairlevel.exceptions import InvalidInput
from fairlevel.extras import has_networks, networks

_HOMES = (
    "penalties",
    "penalties.gdp",
    "penalties.inner_losses",
    "conditional_mean",
    "predictors",
    "fronts.combiners",
    "candidates",
)
_NETWORK_HOMES = ("penalties", "mlp_mean", "mlp", "optimizers")


@dataclass(frozen=True, repr=False)
class NotAtHand:
    """An object that a file names and that cannot be made here: its class needs PyTorch, or another package. The model
    predicts all the same; to fit it again, the class is needed.
    """

    kind: str
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.kind}(...), whose class is not at hand"


def known_classes() -> dict[str, type]:
    """Classes whose objects may stand in a file, by name."""
    return _classes_in(*(import_module(f"fairlevel.{home}") for home in _HOMES))


@cache
def _classes_in(*modules: Any) -> dict[str, type]:
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and is_dataclass(value) and not isabstract(value)
        if value.__module__.startswith("fairlevel")
    }


def _known_class(name: str) -> type | None:
    """The class of this name, where it is at hand."""
    if name in known_classes():
        return known_classes()[name]
    modules = [networks(home) for home in _NETWORK_HOMES] if has_networks() else []
    if "fairlevel_study" in sys.modules:
        modules.append(import_module("fairlevel_study.penalties"))
    return _classes_in(*modules).get(name)


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
    if isinstance(value, NotAtHand):
        return {"class": value.kind, "settings": value.settings}
    if hasattr(value, "state_dict"):
        return {"module": networks("modules").describe_module(value)}
    if is_dataclass(value) and _known_class(type(value).__name__) is type(value):
        settings = {field.name: to_plain(getattr(value, field.name)) for field in fields(value) if field.init}
        return {"class": type(value).__name__, "settings": settings}
    raise InvalidInput(
        f"{value!r} cannot be written to a file: {type(value).__name__} is no class of fairlevel, and files hold no "
        "code. Use names, numbers or objects of fairlevel."
    )


def from_plain(value: Any, module: Any = None) -> Any:
    """What :func:`to_plain` wrote; lists come back as tuples. ``module`` stands for a module that the file names."""
    if isinstance(value, list):
        return tuple(from_plain(entry, module) for entry in value)
    if isinstance(value, Mapping):
        if "float" in value:
            return float(value["float"])
        if "module" in value:
            return networks("modules").module_from(value["module"], module)
        if "numbers" in value:
            return {name: from_plain(entry, module) for name, entry in value["numbers"].items()}
        name = str(value.get("class"))
        if name == TableEncoder.__name__:
            return TableEncoder(**value["settings"])
        if name == "LinearR2" and not value["settings"].get("scale_free", True):  # as 0.1 wrote it
            rest = {key: entry for key, entry in value["settings"].items() if key not in ("scale_free", "ridge")}
            mean = {"class": "RidgeMean", "settings": {"ridge": value["settings"]["ridge"]}}
            return from_plain({"class": "ClosedFBO", "settings": {"mean": mean, **rest}}, module)
        known = _known_class(name)
        if known is None:
            return NotAtHand(str(name), dict(value["settings"]))
        taken = {field.name for field in fields(known)}  # earlier versions wrote more
        return known(**{key: from_plain(entry, module) for key, entry in value["settings"].items() if key in taken})
    return value
