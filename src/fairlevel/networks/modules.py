"""Trained copies of a user's ``nn.Module``: prediction and files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import Parameter, signature
from math import isfinite
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import torch
from torch import Tensor, nn

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.members.protocol import Device, Written
from fairlevel.onnx_graph import OnnxGraph, OnnxValue
from fairlevel.threads import use_as_many_threads

_ROWS_AT_ONCE = 65_536


class ModuleClassMissing(FairLevelError, ImportError):
    """A file holds a user's module, and its class is not at hand."""


@dataclass(frozen=True)
class ModuleMembers:
    """Modules of one class, in evaluation mode."""

    modules: tuple[nn.Module, ...]

    kind: ClassVar[str] = "modules"
    native: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.modules)

    @torch.no_grad()
    def predict(self, x: Array, device: Device = "cpu") -> Array:
        use_as_many_threads()
        here = torch.device(device).type == "cpu"
        modules = self.modules if here else [deepcopy(module).to(device) for module in self.modules]
        blocks = []
        for start in range(0, max(len(x), 1), _ROWS_AT_ONCE):
            rows = torch.from_numpy(np.array(x[start : start + _ROWS_AT_ONCE], dtype=np.float32)).to(device)
            outputs = [module(rows).reshape(len(rows)).double().cpu() for module in modules]
            blocks.append(torch.stack(outputs) if outputs else torch.empty(0, len(rows), dtype=torch.float64))
        predictions: Array = torch.cat(blocks, dim=1).numpy()
        return predictions

    def take(self, index: Index) -> Self:
        return type(self)(tuple(self.modules[int(number)] for number in index))

    def join(self, others: Sequence[Self]) -> Self:
        return type(self)(tuple(module for each in (self, *others) for module in each.modules))

    def written(self) -> Written:
        arrays = {
            f"{number}.{name}": _numpy(value)
            for number, module in enumerate(self.modules)
            for name, value in module.state_dict().items()
        }
        return Written({"count": len(self.modules), "module_class": describe_module(self.modules[0])}, arrays)

    @classmethod
    def from_file(cls, written: Written, module: Any = None) -> Self:
        described = written.description["module_class"]
        template, modules = module_from(described, module), []
        for number in range(int(written.description["count"])):
            own = f"{number}."
            state = {
                name.removeprefix(own): torch.tensor(value)
                for name, value in written.arrays.items()
                if name.startswith(own)
            }
            copy = deepcopy(template)
            try:
                copy.load_state_dict(state)
            except RuntimeError:
                _refuse(described, "was made with other settings")
            modules.append(copy.eval())
        return cls(tuple(modules))

    def add_to(self, graph: OnnxGraph, inputs: OnnxValue) -> OnnxValue:
        raise InvalidInput(
            f"{type(self.modules[0]).__name__} is your own module; export it with torch.onnx.export(module, ...)."
        )


def _numpy(value: Tensor) -> Any:
    """The same numbers; types of 16 bits and less that NumPy lacks as 32 bits, which hold them exactly."""
    value = value.detach().cpu()
    try:
        return value.numpy().copy()
    except TypeError:
        return value.float().numpy()


def describe_module(module: nn.Module) -> dict[str, Any]:
    """The class of a module and, where its attributes of the same names are plain values, the arguments it takes."""
    kind = type(module)
    arguments, unread = {}, []
    for name, parameter in list(signature(kind.__init__).parameters.items())[1:]:
        value = getattr(module, name, None)
        several = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if several or not _is_plain(value):
            unread.append(name)
        else:
            arguments[name] = value
    return {"path": f"{kind.__module__}:{kind.__qualname__}", "arguments": arguments, "unread": unread}


def module_from(description: Mapping[str, Any], given: nn.Module | None = None) -> nn.Module:
    """An untrained module of the class in a file: the one given, or one made from a class that is imported already.

    Nothing is imported on behalf of a file.
    """
    home, _, name = str(description["path"]).partition(":")
    if given is not None:
        if f"{type(given).__module__}:{type(given).__qualname__}" != description["path"]:
            raise InvalidInput(f"module={type(given).__name__} was given; the model holds a {description['path']}.")
        return deepcopy(given).cpu()
    kind: Any = sys.modules.get(home)
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise ModuleClassMissing(
            f"The model holds a module of class {name} from {home}, which is not imported; import it first, or pass "
            f"load(folder, module={name}(...))."
        )
    if description.get("unread"):
        _refuse(description, f"takes {', '.join(description['unread'])}, which the file does not hold")
    try:
        with torch.random.fork_rng(devices=[]):  # its first parameters, which are replaced, are drawn
            return kind(**description["arguments"])
    except TypeError:
        _refuse(description, "needs arguments that are not in the file")


def _refuse(description: Mapping[str, Any], why: str) -> NoReturn:
    name = str(description["path"]).partition(":")[2]
    raise ModuleClassMissing(f"The module {name} {why}; pass load(folder, module={name}(...)).")


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))
