"""Numbers that are chosen from the data before training, never during it."""

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
from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import TargetPenalty


def with_chosen_mean(penalty: Penalty, attributes: Attributes, target: Array, seed: int) -> Penalty:
    """A penalty of which the linear conditional mean leaves ridge or bandwidth open, with those that cross-validate
    best for y on A.

    The target stands for the predictions. Training cannot choose these numbers, so it cannot hide disparity behind
    them. A penalty that reads the target itself does so here, too.
    """
    if isinstance(penalty, TargetPenalty):
        return penalty.for_target(target)
    mean: Any = getattr(penalty, "mean", None)
    if getattr(mean, "kind", None) != "linear":
        return penalty
    mean = with_chosen_resolution(mean, attributes, target, seed)
    if mean.ridge is None:
        mean = replace(mean, ridge=_chosen_ridge(mean, attributes, target, seed))
    chosen: Any = penalty
    return replace(chosen, mean=mean)  # type: ignore[no-any-return]


def _chosen_ridge(mean: LinearMean, attributes: Attributes, target: Array, seed: int) -> float:
    if len(attributes) > MANY_ROWS:
        return ManyRows.of(mean, attributes, seed).choose_ridge(target)
    return float(mean.prepare(attributes, seed=seed).choose_ridge(torch.from_numpy(target).unsqueeze(0)))
