"""Trees as an ONNX operation, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlevel.exceptions import InvalidInput
from fairlevel.onnx_graph import OnnxGraph, OnnxValue
from fairlevel.trees.lightgbm_text import CATEGORICAL, LightGBMText

DOMAIN, DOMAIN_VERSION = "ai.onnx.ml", 5

_AT_MOST, _MEMBER = 0, 6  # modes of a node: x ≤ split, x in a set
_DEFAULT_LEFT = 2  # bit of LightGBM's decision type; the next two bits hold the missing type
_ZERO, _NAN = 1, 2  # missing types: zeros are missing, NaN is missing


def add_trees(graph: OnnxGraph, inputs: OnnxValue, text: LightGBMText) -> OnnxValue:
    """Add the sum of all trees to a graph: inputs (row, feature) -> (row, 1)."""
    leaves, trees = text.leaf_values, []
    first_node, first_leaf = 0, 0
    for number, values in enumerate(leaves):
        trees.append(_nodes(text, number, first_node, first_leaf))
        first_node, first_leaf = first_node + len(trees[-1]["nodes_modes"]), first_leaf + len(values)
    joined: dict[str, Any] = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    for name, kind in (("nodes_modes", np.uint8), ("nodes_splits", np.float64), ("membership_values", np.float64)):
        joined[name] = graph.tensor(joined[name].astype(kind)) if len(joined[name]) else None
    return graph.apply(
        "TreeEnsemble",
        inputs,
        domain=DOMAIN,
        aggregate_function=1,  # sum
        n_targets=1,
        post_transform=0,
        tree_roots=np.cumsum([0, *(len(tree["nodes_modes"]) for tree in trees[:-1])]).tolist(),
        leaf_targetids=[0] * first_leaf,
        leaf_weights=graph.tensor(np.concatenate(leaves)),
        **{name: values for name, values in joined.items() if values is not None},
    )


def _nodes(text: LightGBMText, tree: int, first_node: int, first_leaf: int) -> dict[str, Any]:
    """The splits of a tree, (node,), by ONNX's names. Their numbers, and those of leaves, go on from other trees.
    Categories of all splits come one after another, NaN at the end of each.
    """
    names = ("split_feature", "decision_type", "left_child", "right_child")
    feature, kind, *children = (text.numbers(tree, name, np.int64) for name in names)
    threshold = text.numbers(tree, "threshold", np.float64)
    if not len(feature):  # a tree without a split: both ways lead to its leaf
        (feature, kind, threshold), children = np.zeros((3, 1), dtype=np.int64), [np.array([~0]), np.array([~0])]
    by_category, missing = (kind & CATEGORICAL) > 0, kind >> 2 & 3
    if (missing[~by_category] == _ZERO).any():
        raise InvalidInput("The booster counts zeros as missing (zero_as_missing=true), which ONNX cannot say.")
    # without missing values in training, NaN is read as 0
    nan_left = np.where(missing == _NAN, (kind & _DEFAULT_LEFT) > 0, threshold >= 0.0)
    nodes = {
        "nodes_featureids": feature,
        "nodes_modes": np.where(by_category, _MEMBER, _AT_MOST),
        "nodes_splits": np.where(by_category, 0.0, threshold),
        "nodes_missing_value_tracks_true": (nan_left & ~by_category).astype(np.int64),
        "membership_values": [v for s in threshold[by_category] for v in (*text.categories(tree, int(s)), np.nan)],
    }
    for side, child in zip(("true", "false"), children, strict=True):
        nodes[f"nodes_{side}leafs"] = (child < 0).astype(np.int64)
        nodes[f"nodes_{side}nodeids"] = np.where(child < 0, first_leaf + ~child, first_node + child)
    return nodes
