"""What FBO and ITD share: settings, attributes of the fitting and the evaluating rows, a warm inner network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import PreparedTensors, TorchBackend, on_tensors
from fairlevel.networks.mlp_mean import MLPMean
from fairlevel.penalties.inner_losses import InnerLoss, Squared
from fairlevel.penalties.protocol import Penalty, PenaltyStep
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel.penalties.toolkit import check_mean, check_positive, weights_of_part

_CURVATURE_RIDGE = 0.1


@dataclass(frozen=True)
class RowPlan:
    """How the two halves of the training rows are used; the first half is IN, the second OUT."""

    name: str
    fit_on_in: bool
    accuracy_on_out: bool


ALL_TRAINING_ROWS = RowPlan("all rows", fit_on_in=False, accuracy_on_out=False)
IN_OUT = RowPlan("IN fits the mean, OUT carries accuracy", fit_on_in=True, accuracy_on_out=True)
IN_OUT_ALL_LABELS = RowPlan("IN fits the mean, all rows carry accuracy", fit_on_in=True, accuracy_on_out=False)


@dataclass(frozen=True)
class SplitAttributes(PreparedTensors):
    """Attributes of all rows, (row, attribute), those that fit the mean and those that evaluate it, each with weights
    that sum to 1.
    """

    sensitive: Any
    fit: Any
    evaluate: Any
    row_weight: Any
    fit_weight: Any
    evaluate_weight: Any
    fit_rows: slice
    evaluate_rows: slice
    accuracy_rows: slice
    seed: int

    @classmethod
    def of(cls, attributes: Attributes, plan: RowPlan, seed: int) -> SplitAttributes:
        rows, values = len(attributes), attributes.values
        inside, outside, everything = slice(0, rows // 2), slice(rows // 2, rows), slice(0, rows)
        split = plan.fit_on_in and rows > 1
        fit, evaluate = (inside, outside) if split else (everything, everything)
        weight, fit_weight, evaluate_weight = (
            weights_of_part(attributes.row_weight, part, rows) for part in (everything, fit, evaluate)
        )
        accuracy = outside if plan.accuracy_on_out else everything
        parts = (fit, evaluate, accuracy)
        return cls(values, values[fit], values[evaluate], weight, fit_weight, evaluate_weight, *parts, seed)

    @property
    def accuracy(self) -> slice:
        return self.accuracy_rows

    @cached_property
    def smoother(self) -> PenaltySmoother:
        """Smooths curvatures over A, for inner losses other than the squared one."""
        values, weight = (numbers.double().cpu().numpy() for numbers in (self.fit, self.fit_weight))
        attributes = Attributes(values, row_weight=weight)
        smoother = RandomFeaturesMean().prepare(attributes, seed=self.seed)
        return PenaltySmoother.of(smoother, _CURVATURE_RIDGE).to(TorchBackend(self.fit.device, self.fit.dtype))


def spread(fitted: Tensor, row_weight: Tensor) -> Tensor:
    """Var h over rows: (config, row) -> (config,)."""
    centred = fitted - (fitted * row_weight).sum(dim=-1, keepdim=True)
    return (centred.square() * row_weight).sum(dim=-1)


@dataclass(frozen=True)
class TrainedMeanPenalty(Penalty):
    """Settings and preparation of a penalty whose inner network is trained beside the predictor. Its state are the
    parameters φ of the inner networks, (config, parameter), kept from step to step.

    Parameters
    ----------
    inner_steps : M, gradient steps on φ before each outer step
    inner_learning_rate : η_in
    mean : architecture of h_φ
    loss : what h minimises: ``Squared()``, ``Huber()``, ``Pinball()``
    rows : IN/OUT as printed
    """

    inner_steps: int = 10
    inner_learning_rate: float = 0.1
    mean: MLPMean = MLPMean()
    loss: InnerLoss = Squared()
    rows: RowPlan = IN_OUT

    def __post_init__(self) -> None:
        check_mean(self.mean, "trained", "MLPMean()")
        if not isinstance(self.inner_steps, int) or self.inner_steps < 0:
            raise InvalidInput(f"inner_steps={self.inner_steps} was given; a whole number ≥ 0 is needed, such as 10.")
        check_positive(inner_learning_rate=self.inner_learning_rate)

    @on_tensors
    def along(self, direction: Tensor, last: PenaltyStep, prepared: SplitAttributes) -> Tensor:
        """2 E[t²], on the rows where it is larger: a conditional mean does not vary more than what it is the mean
        of.
        """
        fit, evaluate = direction[:, prepared.fit_rows].square(), direction[:, prepared.evaluate_rows].square()
        return 2 * torch.maximum(fit @ prepared.fit_weight, evaluate @ prepared.evaluate_weight)

    def prepare(self, attributes: Attributes, seed: int) -> SplitAttributes:
        return SplitAttributes.of(attributes, self.rows, seed)

    def start(self, prepared: SplitAttributes, configs: int) -> Tensor:
        """φ before the first step."""
        fit = prepared.fit
        return self.mean.init(fit.shape[1], configs, prepared.seed, fit.dtype).to(fit.device)

    def descended(self, inner: Tensor, prepared: SplitAttributes, state: Tensor | None) -> Tensor:
        """φ after M warm steps on the predictions of the fitting rows (Algorithm 1)."""
        before = self.start(prepared, len(inner)) if state is None else state
        return self.unrolled(before, inner, prepared, self.inner_steps)

    def unrolled(self, start: Tensor, inner: Tensor, prepared: SplitAttributes, steps: int) -> Tensor:
        """φ after ``steps`` steps from ``start``; differentiable in the predictions ``inner``, (config, fitting
        row).
        """
        rate = inner.new_full((len(inner),), self.inner_learning_rate)
        return self.mean.descend(start, prepared.fit, inner, prepared.fit_weight, rate, steps, self.loss)

    @on_tensors
    def value(self, prediction: Tensor, prepared: SplitAttributes, state: Tensor | None) -> Tensor:
        """Var of the current h over all rows, (config,)."""
        parameters = self.start(prepared, len(prediction)) if state is None else state
        return spread(self.mean.predict(parameters, prepared.sensitive), prepared.row_weight)
