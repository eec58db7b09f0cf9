"""Numbers of a conditional mean that are chosen from the data before training, never during it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.many_rows import ManyRows
from fairlevel.conditional_mean.protocol import LinearMean
from fairlevel.conditional_mean.resolution import with_chosen_resolution
from fairlevel.conditional_mean.smoother import MANY_ROWS


def tuned_mean(mean: LinearMean, attributes: Attributes, target: Array, seed: int) -> LinearMean:
    """The mean with the ridge and the bandwidth that it leaves open: those that cross-validate best for the target,
    (row,), on A.

    The target stands for the predictions. Training cannot choose these numbers, so it cannot hide disparity behind
    them.
    """
    chosen: Any = with_chosen_resolution(mean, attributes, target, seed)
    if chosen.ridge is not None:
        return chosen  # type: ignore[no-any-return]
    return replace(chosen, ridge=_chosen_ridge(chosen, attributes, target, seed))  # type: ignore[no-any-return]


def _chosen_ridge(mean: LinearMean, attributes: Attributes, target: Array, seed: int) -> float:
    if len(attributes) > MANY_ROWS:
        return ManyRows.of(mean, attributes, seed).choose_ridge(target)
    return float(mean.prepare(attributes, seed=seed).choose_ridge(torch.from_numpy(target).unsqueeze(0)))
