r"""Optimisers for many networks at once, with one learning rate per configuration.

The caller owns parameters and state; both are updated in place. The number of steps taken may be a scalar tensor, so
that a step recorded in a CUDA graph needs no number from the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput
from fairlevel.networks.fits import AdamNumbers
from fairlevel.networks.on_gpu import kernels_for_adam

LARGEST_STABLE_EIGENVALUE = 4.0  # up to here plain steps of size 0.1 never diverged in our studies


class Moments(NamedTuple):
    """Running first and second moments of the gradient, each (config, parameter)."""

    mean: Tensor
    square: Tensor


@runtime_checkable
class Optimizer(Protocol):
    """A rule that turns a gradient into new parameters, with its step size and number of steps."""

    @property
    def learning_rate(self) -> float: ...

    @property
    def steps(self) -> int: ...

    def stable_rate(self, largest_eigenvalue: float) -> float: ...

    def init(self, parameters: Tensor) -> Moments | None: ...

    def update(
        self, parameters: Tensor, gradient: Tensor, state: Moments | None, learning_rate: Tensor, step: int | Tensor
    ) -> tuple[Tensor, Moments | None]: ...


@dataclass(frozen=True)
class GradientDescent:
    r"""Full-batch gradient descent, the paper's optimiser.

    .. math:: \omega \leftarrow \omega - \eta_c \nabla_c
    """

    learning_rate: float = 0.1
    steps: int = 1000

    def __post_init__(self) -> None:
        _check(self)

    def stable_rate(self, largest_eigenvalue: float) -> float:
        """The step size, reduced where the second moment of the inputs has a large eigenvalue: curvature grows with it,
        and plain steps larger than 2/curvature diverge.
        """
        return self.learning_rate * min(1.0, LARGEST_STABLE_EIGENVALUE / max(largest_eigenvalue, 1e-30))

    def init(self, parameters: Tensor) -> None:
        return None

    def update(
        self, parameters: Tensor, gradient: Tensor, state: Moments | None, learning_rate: Tensor, step: int | Tensor
    ) -> tuple[Tensor, Moments | None]:
        return parameters.addcmul_(gradient, learning_rate.unsqueeze(1), value=-1), state


@dataclass(frozen=True)
class Adam:
    r"""Adam with bias correction; the step size follows half a cosine from η down to ``final_fraction`` · η.

    .. math:: m \leftarrow \beta_1 m + (1-\beta_1) g,\quad v \leftarrow \beta_2 v + (1-\beta_2) g^2,\quad
              \omega \leftarrow \omega - \eta_t \frac{m/(1-\beta_1^t)}{\sqrt{v/(1-\beta_2^t)} + \epsilon}

    ``final_fraction=1`` keeps the step size constant.
    """

    learning_rate: float = 0.01
    steps: int = 600
    final_fraction: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _check(self)

    def stable_rate(self, largest_eigenvalue: float) -> float:
        """The step size as it is: Adam's steps do not grow with curvature."""
        return self.learning_rate

    def init(self, parameters: Tensor) -> Moments:
        return Moments(torch.zeros_like(parameters), torch.zeros_like(parameters))

    def update(
        self, parameters: Tensor, gradient: Tensor, state: Moments | None, learning_rate: Tensor, step: int | Tensor
    ) -> tuple[Tensor, Moments | None]:
        mean, square = state if state is not None else self.init(parameters)
        kernels = kernels_for_adam(parameters, gradient, mean, square, learning_rate)
        if kernels is not None and isinstance(step, Tensor):
            kernels.adam(parameters, gradient, (mean, square), learning_rate, step, self._numbers)
            return parameters, Moments(mean, square)
        taken = step if parameters.is_cuda else float(step)  # operations on a scalar tensor cost more than on a number
        mean.lerp_(gradient, 1 - self.beta1)
        square.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        scale = (square / (1 - self.beta2 ** (taken + 1))).sqrt_().add_(self.epsilon)
        rate = learning_rate.unsqueeze(1) * (self._anneal(taken) / (1 - self.beta1 ** (taken + 1)))
        return parameters.sub_(mean.div(scale).mul_(rate)), Moments(mean, square)

    @property
    def _numbers(self) -> AdamNumbers:
        return AdamNumbers(self.beta1, self.beta2, self.epsilon, self.final_fraction, max(self.steps - 1, 1))

    def _anneal(self, step: float | Tensor) -> float | Tensor:
        """The share of the step size that is left after so many steps."""
        progress = step / max(self.steps - 1, 1)
        wave = torch.cos(pi * progress.clamp_max(1)) if isinstance(progress, Tensor) else cos(pi * min(progress, 1.0))
        return self.final_fraction + (1 - self.final_fraction) * (1 + wave) / 2


OPTIMIZERS: dict[str, type[GradientDescent] | type[Adam]] = {"gd": GradientDescent, "adam": Adam}


def _check(optimizer: Optimizer) -> None:
    if not optimizer.learning_rate > 0:
        raise InvalidInput(
            f"learning_rate={optimizer.learning_rate} was given; a positive number is needed, such as 0.01."
        )
    if optimizer.steps < 1:
        raise InvalidInput(f"steps={optimizer.steps} was given; at least 1 is needed, such as 600.")
