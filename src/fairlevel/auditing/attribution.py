"""Which attributes carry the disparity."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.dpvar import dpvar_of_many


def attribute_shares(
    prediction: Array, attributes: Attributes, names: tuple[str, ...], sources: tuple[int, ...] | None, seed: int
) -> pd.DataFrame:
    """For each attribute: ``alone``, the share of Var f that E[f | this attribute] explains, and
    ``lost``, by how much the share of all attributes falls without it. ``names`` are those of the columns as they were
    passed, ``sources`` the number of the column behind each attribute: indicators of one column count as one.

    Attributes that carry the same information have large shares alone and lose little; for one that matters only
    together with others it is the reverse.
    """
    behind = range(attributes.values.shape[1]) if sources is None else sources
    columns = {name: [k for k, source in enumerate(behind) if source == number] for number, name in enumerate(names)}
    weight = attributes.weight
    variance = float(weight @ (prediction - weight @ prediction) ** 2)

    everything = tuple(range(attributes.values.shape[1]))

    @cache
    def share(chosen: tuple[int, ...]) -> float:
        if not chosen or variance == 0:
            return 0.0
        # Attributes as they are keep the functions that other figures of the audit have made.
        some = attributes if chosen == everything else replace(attributes, values=attributes.values[:, list(chosen)])
        dpvar = dpvar_of_many(prediction[None], some, random_state=seed)[0]
        return float(np.clip(dpvar / variance, 0, 1))

    rows = [
        {
            "attribute": name,
            "alone": share(tuple(own)),
            "lost": max(0.0, share(everything) - share(tuple(k for k in everything if k not in own))),
        }
        for name, own in columns.items()
    ]
    return pd.DataFrame(rows).sort_values("alone", ascending=False, ignore_index=True)
