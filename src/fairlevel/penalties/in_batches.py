r"""Penalties on rows that come in batches: what they must know of all rows is a moving average of moments.

The gradient of a batch uses the moments from before it. Given those, a row's pull does not depend on which other rows
are in its batch, so that the average over batches is the gradient on all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.moments import moment_functions
from fairlevel.conditional_mean.random_features import median_distance
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties.fbo_closed import ClosedFBO
from fairlevel.penalties.hsic import HSIC
from fairlevel.penalties.hsic_features import FeatureHSIC
from fairlevel.penalties.protocol import Penalty

MEMORY = 0.1  # weight of the newest batch in the moving average


class Moments(NamedTuple):
    """A moving average of moments, (config, …), and the weight it has gathered: their quotient is free of the start."""

    average: Tensor
    gathered: float

    @property
    def divisor(self) -> float:
        """What the average has to be divided by."""
        return max(self.gathered, MEMORY)

    @property
    def value(self) -> Tensor:
        return self.average / self.divisor

    def after(self, average: Tensor) -> Moments:
        """With an average that a new batch, of weight ``MEMORY``, has entered."""
        return Moments(average, self.gathered + MEMORY * (1 - self.gathered))


class BatchStep(NamedTuple):
    """Gradient (config, row of the batch) by the moments before the batch, and the state after it."""

    gradient: Tensor
    state: Any


class BatchPenalty(Protocol):
    """A penalty that knows all rows' attributes and is asked about some of them at a time."""

    def init(self, configs: int) -> Any: ...

    def value(self, state: Any) -> Tensor:
        """The penalty by the state's moments, (config,)."""

    def step(self, prediction: Tensor, rows: slice, state: Any) -> BatchStep:
        """Shapes: prediction (config, row of the batch); ``rows`` are those of the batch among all."""


@dataclass(frozen=True)
class NothingInBatches:
    """No penalty."""

    def init(self, configs: int) -> Tensor:
        return torch.zeros(configs)

    def value(self, state: Tensor) -> Tensor:
        return state

    def step(self, prediction: Tensor, rows: slice, state: Tensor) -> BatchStep:
        return BatchStep(torch.zeros_like(prediction), state)


@dataclass(frozen=True)
class FBOInBatches:
    r"""Closed-form FBO: g_i = (2/b) v(a_i)ᵀ c, with c = E[v f] kept as a moving average and P = ‖c‖².

    Shapes: functions v (row, function), which stay where memory is large.
    """

    functions: Tensor
    device: torch.device

    def init(self, configs: int) -> Moments:
        return Moments(self.functions.new_zeros(configs, self.functions.shape[1], device=self.device), 0.0)

    def value(self, state: Moments) -> Tensor:
        return state.value.square().sum(dim=-1)

    def step(self, prediction: Tensor, rows: slice, state: Moments) -> BatchStep:
        functions, count = self.functions[rows].to(prediction), prediction.shape[1]
        average = state.average
        gradient = torch.addmm(prediction, average, functions.T, beta=0, alpha=2 / (count * state.divisor))
        after = torch.addmm(average, prediction, functions, beta=1 - MEMORY, alpha=MEMORY / count)
        return BatchStep(gradient, state.after(after))


@dataclass(frozen=True)
class HSICInBatches:
    r"""HSIC through random features: ‖C‖² with C = E[z(f) z̃(a)ᵀ] kept as a moving average.

    Shapes: values z̃ (row, feature of A), frequencies (feature of f,), phases (feature of f,).
    """

    values: Tensor
    frequencies: Tensor
    phases: Tensor

    def init(self, configs: int) -> Moments:
        return Moments(self.frequencies.new_zeros(configs, len(self.frequencies), self.values.shape[1]), 0.0)

    def value(self, state: Moments) -> Tensor:
        return state.value.square().sum(dim=(1, 2))

    def step(self, prediction: Tensor, rows: slice, state: Moments) -> BatchStep:
        values, count = self.values[rows].to(prediction), prediction.shape[1]
        scale = (2 / len(self.frequencies)) ** 0.5
        turns = prediction.unsqueeze(-1) * self.frequencies + self.phases
        cross, slope = state.value, -scale * turns.sin() * self.frequencies
        gradient = 2 / count * (slope * (values @ cross.transpose(1, 2))).sum(dim=-1)
        batch = scale * turns.cos().transpose(1, 2) @ values / count
        return BatchStep(gradient, state.after(state.average.lerp(batch, MEMORY)))


def in_batches(
    penalty: Penalty, sensitive: Array, order: Index, target: Array, seed: int, device: torch.device
) -> BatchPenalty:
    """The batch form of a penalty for rows that come in a random ``order``; ``target`` belongs to the first of them, on
    which features are fitted and an open ridge is chosen. Shapes: sensitive (row, attribute), target (first row,).
    """
    if type(penalty) not in IN_BATCHES:
        known = ", ".join(sorted(kind.name for kind in IN_BATCHES))
        raise InvalidInput(
            f"penalty={penalty.name!r} needs all rows at once; with batch_size use one of {known}, or leave "
            "batch_size=None."
        )
    return IN_BATCHES[type(penalty)](penalty, sensitive, order, target, seed, device)


def _fbo(
    penalty: ClosedFBO, sensitive: Array, order: Index, target: Array, seed: int, device: torch.device
) -> FBOInBatches:
    mean = penalty.mean
    if not isinstance(mean, LinearMean) or penalty.loss.passes > 1:
        raise InvalidInput("batch_size needs a linear conditional mean and the squared inner loss.")
    return FBOInBatches(moment_functions(mean, sensitive, order, target, seed), device)


def _hsic(
    penalty: HSIC | FeatureHSIC, sensitive: Array, order: Index, target: Array, seed: int, device: torch.device
) -> HSICInBatches:
    form = penalty if isinstance(penalty, FeatureHSIC) else FeatureHSIC(penalty.bandwidth, penalty.sensitive_bandwidth)
    sensitive = sensitive.take(order, axis=0)
    random = np.random.default_rng(seed)
    scale = form.sensitive_bandwidth * median_distance(sensitive[: len(target)], np.random.default_rng(seed))
    directions = random.standard_normal((sensitive.shape[1], form.sensitive_features_count)) / scale
    shifts = random.uniform(0, 2 * np.pi, form.sensitive_features_count)
    turns = torch.from_numpy((sensitive @ directions + shifts).astype(np.float32))
    waves = (2 / form.sensitive_features_count) ** 0.5 * turns.cos_()
    frequencies = torch.from_numpy(random.standard_normal(form.features) / form.bandwidth).to(device, torch.float32)
    phases = torch.from_numpy(random.uniform(0, 2 * np.pi, form.features)).to(device, torch.float32)
    return HSICInBatches(waves - waves[: len(target)].mean(dim=0), frequencies, phases)


IN_BATCHES: dict[type[Penalty], Callable[..., BatchPenalty]] = {
    ClosedFBO: _fbo,
    HSIC: _hsic,
    FeatureHSIC: _hsic,
}
"""Penalties that can be trained in batches."""
