"""Numbers of a conditional mean that are chosen from the data before training, never during it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.many_rows import ManyRows
from fairlevel.conditional_mean.protocol import LinearMean
from fairlevel.conditional_mean.resolution import resolutions_for, with_chosen_resolution
from fairlevel.conditional_mean.smoother import MANY_ROWS
from fairlevel.conditional_mean.spectrum import RIDGES

_FOLDS = 5  # of groups


def tuned_mean(mean: LinearMean, attributes: Attributes, target: Array, seed: int) -> LinearMean:
    """The mean with the ridge and the bandwidth that it leaves open: those that cross-validate best for the target,
    (row,), on A.

    The target stands for the predictions. Training cannot choose these numbers, so it cannot hide disparity behind
    them.
    """
    groups = attributes.groups
    if groups is not None and np.ptp(groups) > 0:
        key = ("tuned", mean, seed, hash(target.tobytes()))
        return attributes.once(key, lambda: _tuned_over_groups(mean, attributes, groups, target, seed))
    chosen: Any = with_chosen_resolution(mean, attributes, target, seed)
    if chosen.ridge is not None:
        return chosen  # type: ignore[no-any-return]
    return replace(chosen, ridge=_chosen_ridge(chosen, attributes, target, seed))  # type: ignore[no-any-return]


def _chosen_ridge(mean: LinearMean, attributes: Attributes, target: Array, seed: int) -> float:
    if len(attributes) > MANY_ROWS:
        return ManyRows.of(mean, attributes, seed).choose_ridge(target)
    return float(mean.prepare(attributes, seed=seed).choose_ridge(torch.from_numpy(target).unsqueeze(0)))


def _tuned_over_groups(mean: LinearMean, attributes: Attributes, groups: Index, target: Array, seed: int) -> LinearMean:
    """With the smallest error on folds of whole groups: other rows of its group would explain a row, whatever A is."""
    number = np.unique(groups, return_inverse=True)[1]
    if len(number) > MANY_ROWS:  # the first groups with about as many rows, and no fewer than two groups
        some = np.flatnonzero(number <= max(1, int(np.searchsorted(np.bincount(number).cumsum(), MANY_ROWS))))
        attributes, target, number = Attributes.take(attributes, some), target[some], number[some]
    labels = int(number.max()) + 1
    count = min(_FOLDS, labels)
    fold = (np.random.default_rng(seed).permutation(labels) % count)[number]
    values = torch.from_numpy(target - attributes.weight @ target).unsqueeze(0)
    means: Any = resolutions_for(mean, attributes, values, seed)
    ridges = RIDGES if mean.ridge is None else torch.tensor([mean.ridge], dtype=torch.float64)
    errors = torch.stack(
        [
            torch.stack([_errors(each, attributes, values, fold == left, ridges, seed) for left in range(count)]).sum(0)
            for each in means
        ]
    )
    best, ridge = divmod(int(errors.argmin()), len(ridges))
    return replace(means[best], ridge=float(ridges[ridge]))  # type: ignore[no-any-return]


def _errors(
    mean: LinearMean, attributes: Attributes, values: Tensor, left_out: Flags, ridges: Tensor, seed: int
) -> Tensor:
    """The squared error of each ridge on the rows that are left out, (ridge,); values (1, row)."""
    fitted, others = (np.flatnonzero(each) for each in (~left_out, left_out))
    smoother = mean.prepare(*(Attributes.take(attributes, rows) for rows in (fitted, others)), seed=seed)
    shrunk = smoother.coefficients(values[:, fitted]) * smoother.shrinkage(ridges)
    error = values[:, others] - shrunk @ smoother.at.written_out.T
    return error.square() @ torch.from_numpy(attributes.weight[others])
