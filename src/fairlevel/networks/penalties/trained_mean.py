"""What FBO and ITD share: settings, attributes of the fitting and the evaluating rows, a warm inner network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import PreparedTensors, TorchBackend, on_tensors
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.penalties.inner_losses import InnerLoss, Squared
from fairlevel.penalties.protocol import IN_OUT, Along, RowPlan, Rows, Settings
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel.penalties.toolkit import PenaltyDefaults, check_mean, setting, weights_of_part


@dataclass(frozen=True)
class SplitAttributes(PreparedTensors):
    """Attributes and normalised weights of both parts; fit (row, attribute), evaluate (row, attribute)."""

    rows: Rows
    fit: Any
    evaluate: Any
    fit_weight: Any
    evaluate_weight: Any
    seed: int

    @classmethod
    def of(cls, attributes: Attributes, rows: Rows, seed: int) -> SplitAttributes:
        values = attributes.values
        return cls(
            rows,
            values[rows.fit],
            values[rows.evaluate],
            weights_of_part(attributes.row_weight, rows.fit, len(attributes)),
            weights_of_part(attributes.row_weight, rows.evaluate, len(attributes)),
            seed,
        )

    @cached_property
    def smoother(self) -> PenaltySmoother:
        """Smooths curvatures over A, for inner losses other than the squared one."""
        values, weight = (numbers.double().cpu().numpy() for numbers in (self.fit, self.fit_weight))
        attributes = Attributes(values, row_weight=weight)
        smoother = PenaltySmoother.of(RandomFeaturesMean().prepare(attributes, seed=self.seed))
        return smoother.to(TorchBackend(self.fit.device, self.fit.dtype))


class Warm(NamedTuple):
    """Inner parameters (config, parameter) kept from step to step, and the inner step sizes (config,)."""

    parameters: Tensor
    learning_rate: Tensor


def spread(fitted: Tensor, row_weight: Tensor) -> Tensor:
    """Var h over rows: (config, row) -> (config,)."""
    centred = fitted - (fitted * row_weight).sum(dim=-1, keepdim=True)
    return (centred.square() * row_weight).sum(dim=-1)


@dataclass(frozen=True)
class TrainedMeanPenalty(PenaltyDefaults):
    """Settings and preparation of a penalty whose inner network is trained beside the predictor.

    Parameters
    ----------
    inner_steps : M, gradient steps on φ before each outer step
    inner_learning_rate : η_in, one number or one per configuration (setting ``inner_learning_rate``)
    mean : architecture of h_φ
    loss : what h minimises: ``Squared()``, ``Huber()``, ``Pinball()``
    rows : IN/OUT as printed
    """

    inner_steps: int = 10
    inner_learning_rate: float = 0.1
    mean: MLPMean = MLPMean()
    loss: InnerLoss = Squared()
    rows: RowPlan = IN_OUT

    tunable: ClassVar[tuple[str, ...]] = ("inner_learning_rate",)

    def __post_init__(self) -> None:
        check_mean(self.mean, "trained", "MLPMean()")
        if not isinstance(self.inner_steps, int) or self.inner_steps < 0:
            raise InvalidInput(f"inner_steps={self.inner_steps} was given; a whole number ≥ 0 is needed, such as 10.")
        if not self.inner_learning_rate > 0:
            raise InvalidInput(
                f"inner_learning_rate={self.inner_learning_rate} was given; a positive number is needed, such as 0.1."
            )

    @on_tensors
    def along(self, direction: Tensor, value: Tensor, prepared: SplitAttributes, state: Warm) -> Along:
        """2 E[t²], on the rows where it is larger: a conditional mean does not vary more than what it is the mean
        of.
        """
        fit = direction[:, prepared.rows.fit].square() @ prepared.fit_weight
        return Along(2 * torch.maximum(fit, direction[:, prepared.rows.evaluate].square() @ prepared.evaluate_weight))

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> SplitAttributes:
        """Both parts' attributes and weights."""
        return SplitAttributes.of(attributes, rows, seed)

    def init(self, prepared: SplitAttributes, configs: int, settings: Settings) -> Warm:
        """The inner networks before the first step."""
        fit = prepared.fit
        rate = setting(self, settings, "inner_learning_rate", fit, configs)
        return Warm(self.mean.init(fit.shape[1], configs, prepared.seed, fit.dtype).to(fit.device), rate)

    def descended(self, inner: Tensor, prepared: SplitAttributes, state: Warm) -> Tensor:
        """φ after M warm steps on the predictions of the fitting rows (Algorithm 1)."""
        return self.unrolled(state.parameters, inner, prepared, state.learning_rate, self.inner_steps)

    def unrolled(self, start: Tensor, inner: Tensor, prepared: SplitAttributes, rate: Tensor, steps: int) -> Tensor:
        """φ after ``steps`` steps from ``start``; differentiable in the predictions ``inner``, (config, fitting
        row).
        """
        return self.mean.descend(start, prepared.fit, inner, prepared.fit_weight, rate, steps, self.loss)

    @on_tensors
    def value(self, prediction: Tensor, prepared: SplitAttributes, state: Warm) -> Tensor:
        """Var of the current h over the evaluating rows, (config,)."""
        return spread(self.mean.predict(state.parameters, prepared.evaluate), prepared.evaluate_weight)
