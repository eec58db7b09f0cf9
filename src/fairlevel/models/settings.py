"""Settings as plain values for JSON, and back: objects of this package alone, never code. What predicts needs none of
them, so none is a reason to refuse a file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from importlib import import_module
from inspect import isabstract
from math import isfinite
from typing import Any

import numpy as np

from fairlevel.data.encoder import TableEncoder
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
    """An object that a file names and that cannot be made here: its class is a user's own, needs PyTorch or another
    package. The model predicts all the same; to fit it again, the object is needed.
    """

    kind: str
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.kind}(...), whose class is not at hand"


def known_classes() -> dict[str, type]:
    """Classes whose objects may stand in a file, by name."""
    return _classes_in(*(import_module(f"fairlevel.{home}") for home in _HOMES))


def _classes_in(*modules: Any) -> dict[str, type]:
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and is_dataclass(value) and not isabstract(value)
        if value.__module__.startswith("fairlevel")
    }


def _known_class(name: str) -> type | None:
    """The class of this name, where it is at hand; classes of others have their module in their names."""
    if "." in name:
        return None
    if name == TableEncoder.__name__:
        return TableEncoder
    if name in known_classes():
        return known_classes()[name]
    modules = [networks(home) for home in _NETWORK_HOMES] if has_networks() else []
    if "fairlevel_study" in sys.modules:
        modules.append(import_module("fairlevel_study.penalties"))
    return _classes_in(*modules).get(name)


def to_plain(value: Any) -> Any:
    """Numbers, text and lists as they are; an object as the name of its class and what it was made with, as far as
    that can be known.
    """
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
    if isinstance(value, NotAtHand):
        return {"class": value.kind, "settings": value.settings}
    if hasattr(value, "state_dict") and hasattr(value, "forward"):
        return {"module": networks("modules").describe_module(value)}
    kind, settings = type(value), {}
    if is_dataclass(value):
        settings = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    elif kind is TableEncoder:
        settings = value.get_params()
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name.startswith("fairlevel") and _known_class(kind.__name__) is kind:
        name = kind.__name__
    return {"class": name, "settings": {key: to_plain(entry) for key, entry in settings.items()}}


def from_plain(value: Any, module: Any = None) -> Any:
    """What :func:`to_plain` wrote; lists come back as tuples. ``module`` stands for a module that the file names."""
    if isinstance(value, list):
        return tuple(from_plain(entry, module) for entry in value)
    if not isinstance(value, Mapping):
        return value
    if "float" in value:
        return float(value["float"])
    if "module" in value:
        return networks("modules").module_from(value["module"], module)
    if "numbers" in value:
        return {name: from_plain(entry, module) for name, entry in value["numbers"].items()}
    kind, as_written = _known_class(value["class"]), NotAtHand(str(value["class"]), dict(value["settings"]))
    if kind is None:
        return as_written
    taken = {field.name for field in fields(kind)} if is_dataclass(kind) else value["settings"].keys()
    settings = value["settings"].items()  # earlier versions wrote more
    try:
        return kind(**{name: from_plain(entry, module) for name, entry in settings if name in taken})
    except (TypeError, ValueError):  # values that this version does not take
        return as_written
