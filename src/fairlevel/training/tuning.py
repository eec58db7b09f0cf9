"""Numbers that are chosen from the data before training, never during it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.many_rows import MANY_ROWS, ManyRows
from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import TargetPenalty


def with_chosen_ridge(penalty: Penalty, attributes: Attributes, target: Array, seed: int) -> Penalty:
    """A penalty whose linear conditional mean has an open ridge, with the ridge that cross-validates best for y on A.

    The target stands for the predictions. Training cannot choose the ridge, so it cannot hide disparity behind it. A
    penalty that reads the target itself does so here, too.
    """
    if isinstance(penalty, TargetPenalty):
        return penalty.for_target(target)
    mean: Any = getattr(penalty, "mean", None)
    if getattr(mean, "kind", None) != "linear" or mean.ridge is not None:
        return penalty
    if len(attributes) > MANY_ROWS:
        ridge = ManyRows.of(mean, attributes, seed).choose_ridge(target)
    else:
        ridge = float(mean.prepare(attributes, seed=seed).choose_ridge(torch.from_numpy(target).unsqueeze(0)))
    chosen: Any = penalty
    return replace(chosen, mean=replace(mean, ridge=ridge))  # type: ignore[no-any-return]
