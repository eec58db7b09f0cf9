"""DPVar of mixtures of predictions: one smoother for all of them makes it a quadratic form."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import candidates_for, choose
from fairlevel.metrics.leave_one_out import form_weights
from fairlevel.metrics.units import IndependentUnits
from fairlevel.threads import on_single_threads


class SharedMean(NamedTuple):
    """The conditional mean that stands for all predictions, and its ridge."""

    mean: LinearMean
    ridge: float

    def disparity(self, predictions: Array, attributes: Attributes, seed: int) -> Array:
        r"""K with DPVar(wᵀF) = wᵀ K w, debiased by leaving each row, or group, out; (candidate, row) -> (candidate,
        candidate).
        """
        smoother = self.mean.prepare(attributes, seed=seed)
        values = torch.from_numpy(predictions)
        units = IndependentUnits.of(attributes)
        (form,) = on_single_threads(partial(units.leave_out_matrix, values, smoother, self.ridge))
        matrix: Array = form.numpy()
        return matrix

    def chance(self, attributes: Attributes, seed: int) -> float:
        """The standard error of DPVar by chance, √(2 Σ q²) / rows: that of a prediction of variance 1 which has none,
        with q the weight of each function of A in the debiased form, where all rows are independent.
        """
        smoother = self.mean.prepare(attributes, seed=seed)
        kept = form_weights(smoother.shrinkage(self.ridge), smoother.nuisance)
        return float((2 * kept.square().sum()).sqrt() / smoother.effective_rows)

    def fitted(self, predictions: Array, attributes: Attributes, seed: int) -> Array:
        """E[f | A] at the rows themselves, (candidate, row) -> (candidate, row)."""
        smoother = self.mean.prepare(attributes, seed=seed)
        ridge = torch.full((len(predictions),), self.ridge, dtype=torch.float64)
        fitted: Array = smoother.apply(torch.from_numpy(predictions), ridge).numpy()
        return fitted


def shared_mean(predictions: Array, target: Array, attributes: Attributes, seed: int) -> SharedMean:
    """The mean and the ridge that describe the most accurate prediction best. Shapes: predictions (candidate, row),
    target (row,), attributes of the rows.
    """
    weight = attributes.weight
    accurate = predictions[((predictions - target) ** 2 @ weight).argmin()]
    centred = torch.from_numpy(accurate - weight @ accurate).unsqueeze(0)
    choice = choose(centred, candidates_for(centred, attributes, seed), attributes)
    return SharedMean(choice.candidates[int(choice.index)].mean, float(choice.ridge))
