"""What FBO and ITD share: attributes of the fitting and the evaluating rows, and a warm inner network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from fairlevel.conditional_mean import MLPMean, RandomFeaturesMean
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.penalties.protocol import Array, Rows, normalised


@dataclass(frozen=True)
class SplitAttributes:
    """Attributes and normalised weights of both parts; fit (row, attribute), evaluate (row, attribute)."""

    rows: Rows
    fit: Tensor
    evaluate: Tensor
    fit_weight: Tensor
    evaluate_weight: Tensor
    seed: int

    @classmethod
    def of(cls, sensitive: Array, rows: Rows, seed: int, sample_weight: Array | None) -> SplitAttributes:
        attributes = torch.from_numpy(sensitive)
        return cls(
            rows,
            attributes[rows.fit],
            attributes[rows.evaluate],
            normalised(sample_weight, rows.fit, len(sensitive)),
            normalised(sample_weight, rows.evaluate, len(sensitive)),
            seed,
        )

    def to(self, dtype: torch.dtype, device: torch.device | str) -> SplitAttributes:
        return replace(
            self,
            fit=self.fit.to(device, dtype),
            evaluate=self.evaluate.to(device, dtype),
            fit_weight=self.fit_weight.to(device, dtype),
            evaluate_weight=self.evaluate_weight.to(device, dtype),
        )

    @cached_property
    def smoother(self) -> LinearSmoother:
        """Smooths curvatures over A, for inner losses other than the squared one."""
        weight = self.fit_weight.double().cpu().numpy()
        smoother = RandomFeaturesMean().prepare(self.fit.double().cpu().numpy(), row_weight=weight, seed=self.seed)
        return smoother.to(self.fit.dtype, self.fit.device)


class Warm(NamedTuple):
    """Inner parameters (config, parameter) kept from step to step, and the inner step sizes (config,)."""

    parameters: Tensor
    learning_rate: Tensor


def spread(level: Tensor, row_weight: Tensor) -> Tensor:
    """Var h over rows: (config, row) -> (config,)."""
    centred = level - (level * row_weight).sum(dim=-1, keepdim=True)
    return (centred.square() * row_weight).sum(dim=-1)


def fresh(mean: MLPMean, prepared: SplitAttributes, configs: int, learning_rate: Tensor) -> Warm:
    """The inner networks before the first step."""
    fit = prepared.fit
    return Warm(mean.init(fit.shape[1], configs, prepared.seed, fit.dtype).to(fit.device), learning_rate)
