"""Numbers that are chosen from the data before training, never during it."""

from __future__ import annotations

from dataclasses import replace

import torch

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties import ClosedFBO, Penalty


def tuned(penalty: Penalty, sensitive: Array, target: Array, sample_weight: Array | None, seed: int) -> Penalty:
    """Replace an open ridge of a closed-form penalty by the one that cross-validates best for y on A.

    The target stands in for the predictions: what training could hide by choosing λ afterwards, it cannot choose.
    """
    mean = getattr(penalty, "mean", None)
    if not isinstance(penalty, ClosedFBO) or not isinstance(mean, LinearMean) or mean.ridge is not None:
        return penalty
    smoother = mean.prepare(Attributes(sensitive, row_weight=sample_weight), seed=seed)
    ridge = float(smoother.choose_ridge(torch.from_numpy(target).unsqueeze(0)))
    return replace(penalty, mean=replace(mean, ridge=ridge))
