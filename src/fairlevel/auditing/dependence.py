"""Other measures beside DPVar, each with what chance alone would show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import standardiser
from fairlevel.metrics.choice import suitable_means
from fairlevel.penalties import GDP, FeatureHSIC, LinearR2, Penalty

PERMUTATIONS = 99
_DEGREE = 3  # powers of the prediction that maximal correlation may use
_RIDGE = 1e-3


@dataclass(frozen=True)
class Measure:
    """A measure of dependence: its value, the value that 95 % of random pairings of A with the predictions stay below,
    and what it responds to.
    """

    name: str
    value: float
    chance: float
    sees: str

    @property
    def found(self) -> bool:
        """Whether the value is more than chance shows."""
        return self.value > self.chance


Values = Callable[[Tensor, Array, Array, int], Tensor]
"""(predictions (config, row), attributes, row weights, seed) -> (config,)."""


def _penalty_value(penalty: Penalty) -> Values:
    def values(prediction: Tensor, sensitive: Array, row_weight: Array, seed: int) -> Tensor:
        rows = penalty.rows.assign(0, len(sensitive))
        prepared = penalty.prepare(Attributes(sensitive, row_weight=row_weight), rows, {}, seed)
        blocks = [
            penalty.step(part, prepared, penalty.init(prepared, len(part), {})).value
            for part in torch.split(prediction, 10)
        ]
        return torch.cat(blocks)

    return values


def maximal_correlation(prediction: Tensor, sensitive: Array, row_weight: Array, seed: int) -> Tensor:
    r"""The largest correlation between a cubic of f and a function of A, in closed form (config,).

    The largest singular value of F'WB with F = (f, f², f³) made orthonormal and B the ridge-shrunk orthonormal basis of
    functions of A: canonical correlation. With f alone it is the root of the share of DPVar.
    """
    mean: LinearMean = suitable_means(sensitive)[-1]
    smoother = mean.prepare(Attributes(sensitive, row_weight=row_weight), seed=seed)
    root = smoother.row_weight.sqrt()
    basis = (smoother.fit_basis * smoother.shrinkage(_RIDGE).sqrt())[:, 1:] * root.unsqueeze(1)
    powers = torch.stack([prediction**degree for degree in range(1, _DEGREE + 1)], dim=-1)  # (config, row, power)
    powers = powers - (powers * smoother.row_weight.unsqueeze(-1)).sum(dim=1, keepdim=True)
    orthonormal, _ = torch.linalg.qr(powers * root.unsqueeze(-1))
    largest: Tensor = torch.linalg.matrix_norm(orthonormal.transpose(1, 2) @ basis, ord=2)
    return largest.clamp_max(1.0)


MEASURES: dict[str, tuple[str, Values]] = {
    "linear R²": ("straight-line differences in the average", _penalty_value(LinearR2())),
    "GDP": ("differences in the average, in standard deviations of the prediction", _penalty_value(GDP())),
    "HSIC": ("any dependence, the spread and shape of predictions included", _penalty_value(FeatureHSIC())),
    "maximal correlation": ("any dependence of f, f² or f³ on A", maximal_correlation),
}


def measure_dependence(prediction: Array, sensitive: Array, row_weight: Array, seed: int) -> tuple[Measure, ...]:
    """Every measure of a prediction (row,) on attributes (row, attribute), with the chance level by permuting rows."""
    weight = row_weight / row_weight.sum()
    centred = prediction - weight @ prediction
    spread = float(np.sqrt(weight @ centred**2))
    standardised = centred / spread if spread > 0 else centred
    random = np.random.default_rng(seed)
    shuffled = [standardised[random.permutation(len(prediction))] for _ in range(PERMUTATIONS)]
    together = torch.from_numpy(np.stack([standardised, *shuffled]))
    attributes = standardiser(sensitive, weight)(sensitive)
    found = []
    for name, (sees, values) in MEASURES.items():
        value = values(together, attributes, row_weight, seed).double().numpy()
        found.append(Measure(name, float(value[0]), float(np.quantile(value[1:], 0.95)), sees))
    return tuple(found)
