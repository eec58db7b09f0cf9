"""A user's own ``nn.Module`` as a predictor.

Every configuration starts from a copy of the module as it was given. Modules whose forward pass is a pure function of
parameters and rows are trained as one stack by ``torch.func``. Others (dropout, batch norm, or anything that
``torch.func.vmap`` refuses) are trained one by one, each with its own random numbers and its own buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from fairlevel.arrays import Array, Flags
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import InvalidInput
from fairlevel.members.protocol import same_numbers
from fairlevel.networks.backend import TorchBackend, resolve_device
from fairlevel.networks.modules import ModuleMembers
from fairlevel.networks.network_stack import ParameterLearner
from fairlevel.networks.optimizers import Optimizer
from fairlevel.predictors.protocol import Configurations, Learner, LearnerFactory, Predictor, Tiling

_CHECKED_ROWS = 4
_MOST_TOGETHER = 16  # configurations per tile, which bounds memory


@dataclass(frozen=True)
class TorchModule(Predictor):
    """Any module that maps (row, feature) in float32 to (row,) or (row, 1).

    X reaches the module as given: scale columns in a Pipeline if the module expects it. The target is standardised.
    """

    module: nn.Module

    name: ClassVar[str] = "module"
    uses_optimizer: ClassVar[bool] = True

    def prepare(self, x: Array, seed: int, device: str, scaler: Scaler | None = None) -> ModuleFactory:
        backend = TorchBackend(resolve_device(device), records=False)
        template, rows = deepcopy(self.module).to(backend.device, torch.float32), backend.array(x[:4])
        if any(map(nn.parameter.is_lazy, template.parameters())):
            template.eval()(rows)  # lazy layers take their sizes from the first rows
        if not all(isinstance(value, Tensor) for value in template.state_dict().values()):
            raise InvalidInput(f"predictor={_name(template)} keeps extra state that is no tensor; keep it in buffers.")
        if not any(parameter.requires_grad for parameter in template.parameters()):
            raise InvalidInput(f"predictor={_name(template)} has no parameters that require a gradient.")
        _check_output(template, rows)
        return ModuleFactory(template, _is_pure(template, rows), seed, backend)


@dataclass(frozen=True)
class ModuleFactory(LearnerFactory):
    """A copy of the user's module, and whether its configurations can be stacked."""

    template: nn.Module
    stackable: bool
    seed: int
    backend: TorchBackend

    def steps(self, optimizer: Optimizer) -> int:
        return optimizer.steps

    def inputs(self, x: Array) -> Tensor:
        return self.backend.array(x)

    def tiling(self, rows: int, configs: int) -> Tiling:
        return Tiling(min(configs, _MOST_TOGETHER))

    def learner(self, configurations: Configurations, optimizer: Optimizer) -> Learner:
        kind = StackedModules if self.stackable else SeparateModules
        return kind(self.template, configurations, optimizer, self.seed)


class StackedModules(ParameterLearner):
    """All configurations in one call of the module."""

    def __init__(self, template: nn.Module, configurations: Configurations, optimizer: Optimizer, seed: int) -> None:
        self._layout = _Layout.of(template)
        super().__init__(self._layout.flat(template), configurations, optimizer)
        self._template, self._training = template, deepcopy(template).train()
        self._evaluating = deepcopy(template).eval()
        self._fixed = {
            name: value.detach() for name, value in template.state_dict().items() if name not in self._layout.shapes
        }
        self._leaf = self._output = self._parameters
        self._seen: Tensor | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        self._seen = inputs[:_CHECKED_ROWS]
        with torch.enable_grad():
            self._leaf = self._parameters.detach().requires_grad_()
            self._output = self._call(self._training, self._leaf, inputs)
        return self._output.detach()

    def pullback(self, gradient: Tensor) -> Tensor:
        return torch.autograd.grad(self._output, self._leaf, gradient)[0]

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> Tensor:
        return self._call(self._evaluating, self._parameters, inputs)

    def model(self) -> ModuleMembers:
        modules = []
        for row in self._parameters:
            module = deepcopy(self._template)  # which was never called and so keeps no activations
            _copy_into(module, self._layout.named(row))
            _require_nothing_else(deepcopy(module), partial(self._as_trained, row), self._seen)
            modules.append(module.eval().cpu())
        return ModuleMembers(tuple(modules))

    def _as_trained(self, row: Tensor, rows: Tensor) -> Tensor:
        """Predictions for rows by the module that was called in training, with these parameters."""
        named = {**self._fixed, **self._layout.named(row)}
        found: Tensor = functional_call(self._training.eval(), named, (rows,))
        self._training.train()
        return found

    def _call(self, module: nn.Module, parameters: Tensor, inputs: Tensor) -> Tensor:
        def one(row: Tensor) -> Tensor:
            return _vector(functional_call(module, {**self._fixed, **self._layout.named(row)}, (inputs,)))

        stacked: Tensor = vmap(one)(parameters)
        return stacked


class SeparateModules(ParameterLearner):
    """One copy of the module per configuration, whose parameters are views of the matrix."""

    def __init__(self, template: nn.Module, configurations: Configurations, optimizer: Optimizer, seed: int) -> None:
        self._layout, self._template = _Layout.of(template), template
        super().__init__(self._layout.flat(template), configurations, optimizer)
        self._modules = [deepcopy(template) for _ in range(len(configurations))]
        for module, row in zip(self._modules, self._parameters, strict=True):
            for name, value in self._layout.named(row).items():
                module.get_parameter(name).data = value
        self._trained = [[module.get_parameter(name) for name in self._layout.shapes] for module in self._modules]
        device = self._parameters.device
        self._random = [torch.Generator(device).manual_seed(seed).get_state() for _ in self._modules]
        self._numbers = list(map(_numbers_of, self._modules))
        self._outputs: list[Tensor] = []
        self._seen: Tensor | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        self._outputs, self._seen = [], inputs[:_CHECKED_ROWS]
        with torch.enable_grad(), torch.random.fork_rng(devices=_cuda_devices(inputs)):
            for number, module in enumerate(self._modules):
                _set_random_state(inputs, self._random[number])
                self._outputs.append(_vector(module.train()(inputs)))
                self._random[number] = _random_state(inputs)
        return torch.stack([output.detach() for output in self._outputs])

    def pullback(self, gradient: Tensor) -> Tensor:
        rows = []
        for output, trained, own in zip(self._outputs, self._trained, gradient, strict=True):
            slopes = torch.autograd.grad(output, trained, own, allow_unused=True)
            parts = [
                slope if slope is not None else torch.zeros_like(p) for slope, p in zip(slopes, trained, strict=True)
            ]
            rows.append(torch.cat([part.flatten() for part in parts]))
        return torch.stack(rows)

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> Tensor:
        return torch.stack([_vector(module.eval()(inputs)) for module in self._modules])

    def snapshot(self, which: Flags) -> None:
        for number in np.flatnonzero(which):
            self._numbers[number] = _numbers_of(self._modules[number])

    def restore(self) -> None:
        for module, numbers in zip(self._modules, self._numbers, strict=True):
            _copy_into(module, numbers)

    def model(self) -> ModuleMembers:
        copies = []
        for module in self._modules:
            copy = deepcopy(self._template)  # which was never called and so keeps no activations
            _copy_into(copy, _numbers_of(module))
            _require_nothing_else(deepcopy(copy), module.eval(), self._seen)
            copies.append(copy.eval().cpu())
        return ModuleMembers(tuple(copies))


@torch.no_grad()
def _require_nothing_else(copy: nn.Module, trained: Callable[[Tensor], Tensor], rows: Tensor | None) -> None:
    """Raise an error if a trained module predicts otherwise than a copy with its parameters and buffers: then it keeps
    something else, which neither early stopping nor a file would have.
    """
    if rows is None or not all(bool(torch.isfinite(value).all()) for value in copy.parameters()):
        return
    found = []
    for predict in (copy.eval(), trained):
        with torch.random.fork_rng(devices=_cuda_devices(rows)):
            torch.manual_seed(0)
            found.append(_vector(predict(rows)).cpu().double().numpy())
    if np.isfinite(found[1]).all() and not same_numbers(found[1], found[0]):
        raise InvalidInput(
            f"{type(copy).__name__} predicts from something that training changes and that is neither a parameter "
            "nor a buffer; make it a buffer with self.register_buffer(name, tensor)."
        )


@dataclass(frozen=True)
class _Layout:
    """Where each trained parameter stands in a row of parameters."""

    shapes: dict[str, torch.Size]

    @classmethod
    def of(cls, module: nn.Module) -> _Layout:
        return cls({name: value.shape for name, value in module.named_parameters() if value.requires_grad})

    def flat(self, module: nn.Module) -> Tensor:
        """The module's parameters as one row, (1, parameter)."""
        parts = [module.get_parameter(name).detach().flatten() for name in self.shapes]
        return torch.cat(parts).unsqueeze(0)

    def named(self, row: Tensor) -> dict[str, Tensor]:
        """Views of a row, (parameter,), by name."""
        parts = torch.split(row, [shape.numel() for shape in self.shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}


def _vector(output: Tensor) -> Tensor:
    """(row,) or (row, 1) of any float type -> (row,) in float32."""
    return (output.squeeze(-1) if output.ndim == 2 else output).float()


def _numbers_of(module: nn.Module) -> dict[str, Tensor]:
    """Copies of all parameters and buffers, those included that a state_dict leaves out."""
    return {name: value.detach().clone() for name, value in (*module.named_parameters(), *module.named_buffers())}


@torch.no_grad()
def _copy_into(module: nn.Module, numbers: Mapping[str, Tensor]) -> None:
    """Write numbers into the parameters and buffers of these names."""
    own = dict((*module.named_parameters(), *module.named_buffers()))
    for name, value in numbers.items():
        own[name].copy_(value)


def _name(module: nn.Module) -> str:
    return type(module).__name__


@torch.no_grad()
def _check_output(module: nn.Module, rows: Tensor) -> None:
    """Refuse a module that does not map (row, feature) to one number per row."""
    try:
        output = deepcopy(module).eval()(rows)
    except Exception as error:
        raise InvalidInput(
            f"predictor={_name(module)} cannot read rows of {rows.shape[1]} features: {error}"
        ) from error
    if not isinstance(output, Tensor) or tuple(output.shape) not in ((len(rows),), (len(rows), 1)):
        shape = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise InvalidInput(
            f"predictor={_name(module)} maps {tuple(rows.shape)} to {shape}; one number per row is needed, of shape "
            f"({len(rows)},) or ({len(rows)}, 1)."
        )


@torch.no_grad()
def _is_pure(module: nn.Module, rows: Tensor) -> bool:
    """Whether the forward pass uses no random numbers in training, changes no buffer, and can be mapped."""
    layout = _Layout.of(module)
    for copy in (deepcopy(module).train(), deepcopy(module).eval()):
        before = {name: value.clone() for name, value in copy.named_buffers()}
        fixed = {name: value for name, value in copy.state_dict().items() if name not in layout.shapes}

        def one(row: Tensor, copy: nn.Module = copy, fixed: Mapping[str, Tensor] = fixed) -> Tensor:
            return _vector(functional_call(copy, {**fixed, **layout.named(row)}, (rows,)))

        try:
            vmap(one)(layout.flat(module).repeat(2, 1))  # vmap refuses random numbers
            copy(rows)
        except Exception:
            return False
        if not all(torch.equal(before[name], value) for name, value in copy.named_buffers()):
            return False
    return True


def _cuda_devices(inputs: Tensor) -> list[int]:
    return [inputs.get_device()] if inputs.is_cuda else []


def _random_state(inputs: Tensor) -> Tensor:
    return torch.cuda.get_rng_state(inputs.device) if inputs.is_cuda else torch.get_rng_state()


def _set_random_state(inputs: Tensor, state: Tensor) -> None:
    if inputs.is_cuda:
        torch.cuda.set_rng_state(state, inputs.device)
    else:
        torch.set_rng_state(state)
