"""Small new trees that a correction can be made of."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import Disparity
from fairlevel.trees.lightgbm_model import LightGBMEnsemble

TREES = 80
_SETTINGS = {
    "num_leaves": 15,
    "learning_rate": 0.1,
    "min_data_in_leaf": 20,
    "lambda_l2": 1.0,
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "verbosity": -1,
}


def grow_trees(
    features: Array,
    prediction: Array,
    rows: Index,
    disparity: Disparity,
    seed: int,
    categorical: tuple[int, ...] | None = None,
) -> LightGBMEnsemble:
    """Trees that lower fᵀPf: each is grown on its gradient P f, what functions of A explain of the prediction with the
    trees before it. What is left after a few trees lies elsewhere than what was there before the first.

    Shapes: features (row, feature), prediction (row,); ``rows`` train, and ``disparity`` is that of the prediction
    there.
    """
    before = prediction[rows] - disparity.row_weight @ prediction[rows]  # else 32 bits lose what is beside a large mean
    count = len(rows)  # LightGBM's settings count rows, so that weights sum to as many
    functions = disparity.functions.astype(np.float32)  # read twice per tree, which takes as long as they are large

    def gradient(added: Array, data: lgb.Dataset) -> tuple[Array, Array]:
        return functions @ ((count * (before + added)).astype(np.float32) @ functions), count * disparity.row_weight

    columns: Any = "auto" if categorical is None else list(categorical)
    data = lgb.Dataset(features[rows], categorical_feature=columns)
    return LightGBMEnsemble(lgb.train({**_SETTINGS, "objective": gradient, "seed": seed}, data, TREES))
