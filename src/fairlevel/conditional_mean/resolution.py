"""Which resolution of a conditional mean describes some values best. A sample of the rows decides, before functions of
all rows are made.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import BlockwiseSmoother, Functions
from fairlevel.conditional_mean.linear_algebra import scatter_matrix
from fairlevel.conditional_mean.protocol import LinearMean
from fairlevel.conditional_mean.spectrum import RIDGES

_STAGES = (3_000, 20_000)  # rows that ask whether another resolution is better at all, and those that say which
_COST = 2.0  # of a degree of freedom
_LEAST_GAIN = 0.005  # of the variance: what explains hardly more is not worth more functions


def with_chosen_resolution(mean: LinearMean, rows: Attributes, values: Array, seed: int) -> LinearMean:
    """The mean with every number that it leaves open, other than the ridge, chosen for these values, (row,)."""

    def chosen() -> LinearMean:
        return resolutions_for(mean, rows, torch.from_numpy(values).unsqueeze(0), seed)[-1]

    return rows.once(("resolution", mean, seed, hash(values.tobytes())), chosen)


def resolutions_for(mean: LinearMean, rows: Attributes, values: Tensor, seed: int) -> tuple[LinearMean, ...]:
    """The resolution of the mean that serves where nothing is chosen, then those that describe some of the values
    better, (config, row). The smallest error of generalised cross-validation decides, over all ridges that are open.
    """
    known: tuple[LinearMean, ...] = (mean,)
    for most in _STAGES:
        picked = np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)
        some = Attributes.take(rows, picked)  # whose functions are not kept
        known = mean.resolutions(some.columns)
        if len(known) > 1:
            best = _best(known, some, values[:, torch.from_numpy(picked)], seed)
            known = tuple(each for each in known if each is known[0] or each in best)
        if len(known) == 1 or len(picked) == len(rows):
            break
    return known


def _best(known: tuple[LinearMean, ...], rows: Attributes, values: Tensor, seed: int) -> set[LinearMean]:
    """Those that are best for some of the values, (config, row): the first one unless another is clearly better."""
    weight = torch.from_numpy(rows.weight)
    centred = values - (values @ weight).unsqueeze(1)
    errors = torch.stack([_errors(mean, rows, centred, seed) for mean in known])
    errors[0] -= _LEAST_GAIN * (centred.square() @ weight)
    return {known[number] for number in errors.argmin(dim=0).tolist()}


def _errors(mean: LinearMean, rows: Attributes, centred: Tensor, seed: int) -> Tensor:
    """The error for each of the values, (config, row) -> (config,), with the given ridge or the best one. Moments of
    the functions are enough: no basis is made.
    """
    functions, weight = Functions.unshifted(mean, rows, seed), torch.from_numpy(rows.weight)
    features, weighted = functions(rows), centred * weight
    first, second = weight @ features, scatter_matrix(weight.sqrt(), features)
    smoother = BlockwiseSmoother.of(functions, first, second, float(1 / weight.square().sum()))
    energy, square = smoother.coefficients(weighted @ features).square(), (weighted * centred).sum(dim=1)
    ridges = RIDGES if mean.ridge is None else torch.tensor([mean.ridge], dtype=torch.float64)
    return smoother.spectrum.gcv(energy, square, ridges, _COST).amin(dim=1)
