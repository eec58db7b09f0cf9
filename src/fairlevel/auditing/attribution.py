"""Which attributes carry the disparity."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.dpvar import dpvar_of_many


def attribute_shares(prediction: Array, attributes: Attributes, names: tuple[str, ...], seed: int) -> pd.DataFrame:
    """For each attribute: ``alone``, the share of the prediction's variance that its average explains by itself, and
    ``lost``, by how much the share of all attributes falls without it. Indicators of one column count as one.

    Attributes that carry the same information have large shares alone and lose little; for one that matters only
    together with others it is the reverse.
    """
    columns: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        columns.setdefault(name.partition("=")[0], []).append(number)
    weight = attributes.weight
    variance = float(weight @ (prediction - weight @ prediction) ** 2)

    @cache
    def share(chosen: tuple[int, ...]) -> float:
        if not chosen or variance == 0:
            return 0.0
        some = replace(attributes, values=attributes.values[:, list(chosen)])
        found = dpvar_of_many(prediction[None], some, random_state=seed)[0]
        return float(np.clip(found / variance, 0, 1))

    everything = tuple(range(len(names)))
    rows = [
        {
            "attribute": name,
            "alone": share(tuple(own)),
            "lost": max(0.0, share(everything) - share(tuple(k for k in everything if k not in own))),
        }
        for name, own in columns.items()
    ]
    return pd.DataFrame(rows).sort_values("alone", ascending=False, ignore_index=True)
