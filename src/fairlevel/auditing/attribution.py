"""Which attributes carry the disparity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.conditional_mean import GroupMean, LinearMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.discrete_columns import few_categories
from fairlevel.metrics.choice import choices_for, general_mean
from fairlevel.metrics.evidence import StandardisedPredictions


def attribute_shares(
    prediction: Array, attributes: Attributes, names: tuple[str, ...], sources: tuple[int, ...] | None, seed: int
) -> pd.DataFrame:
    """For each attribute: ``alone``, the share of Var f that a curve, or averages of groups, along this attribute
    explains, and ``lost``, by how much the share of all attributes falls without it, with one kind of functions and one
    ridge for all of them. ``names`` are those of the columns as they were passed, ``sources`` the number of the column
    behind each attribute: indicators of one column count as one.

    Attributes that carry the same information have large shares alone and lose little; for one that matters only
    together with others it is the reverse.
    """
    every = range(attributes.values.shape[1])
    behind = every if sources is None else sources
    standardised = StandardisedPredictions.of(prediction[None], attributes.counts).values
    if not len(standardised):
        return pd.DataFrame({"attribute": names, "alone": 0.0, "lost": 0.0})

    def share(columns: Sequence[int], mean: LinearMean) -> float:
        some = replace(attributes, values=attributes.values[:, list(columns)])
        (choice,) = choices_for(some, standardised, seed, mean)
        return float(np.clip(choice.debiased.estimates(standardised)[0], 0, 1))

    general = general_mean(attributes.values)
    (chosen,) = choices_for(attributes, standardised, seed, general)
    together = replace(general, ridge=chosen.ridge)
    whole = float(np.clip(chosen.debiased.estimates(standardised)[0], 0, 1))
    rows = []
    for number, name in enumerate(names):
        own, others = ([k for k in every if (behind[k] == number) == inside] for inside in (True, False))
        alone = GroupMean() if few_categories(attributes.values[:, own]).all() else SplineMean()
        lost = max(0.0, whole - share(others, together)) if others else whole
        rows.append({"attribute": name, "alone": share(own, alone), "lost": lost})
    return pd.DataFrame(rows).sort_values("alone", ascending=False, ignore_index=True)
