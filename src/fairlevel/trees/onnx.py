"""Trees as an ONNX operation, in double precision."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairlevel.exceptions import InvalidInput
from fairlevel.onnx_graph import OnnxGraph, OnnxValue
from fairlevel.trees.lightgbm_text import CATEGORICAL, LightGBMText

DOMAIN, DOMAIN_VERSION = "ai.onnx.ml", 5

_AT_MOST, _MEMBER = 0, 6  # modes of a node: x ≤ split, x in a set
_DEFAULT_LEFT = 2  # bit of LightGBM's decision type; the next two bits hold the missing type
_ZERO, _NAN = 1, 2  # missing types: zeros are missing, NaN is missing


@dataclass(frozen=True)
class _Nodes:
    """The splits of a tree, (node,). Children (side, node), the first side for yes, are numbers of splits, or of leaves
    as ~number. ``members`` are the sets of categories, one after another, each with NaN at its end.
    """

    feature: Any
    mode: Any
    split: Any
    missing_true: Any
    children: Any
    members: Any


def add_trees(graph: OnnxGraph, inputs: OnnxValue, text: LightGBMText) -> OnnxValue:
    """Add the sum of all trees to a graph: inputs (row, feature) -> (row, 1)."""
    leaves = text.leaf_values
    trees = [_splits(text, number) if len(own) > 1 else _ONE_LEAF for number, own in enumerate(leaves)]
    first_node, first_leaf = (np.cumsum([0, *sizes]) for sizes in ([len(t.split) for t in trees], map(len, leaves)))
    joined = _Nodes(*(np.concatenate([getattr(t, part.name) for t in trees], axis=-1) for part in fields(_Nodes)))
    tree = np.repeat(np.arange(len(trees)), np.diff(first_node))  # of each node
    is_leaf = joined.children < 0
    children = np.where(is_leaf, first_leaf[tree] + ~joined.children, first_node[tree] + joined.children)
    return graph.apply(
        "TreeEnsemble",
        inputs,
        domain=DOMAIN,
        aggregate_function=1,  # sum
        n_targets=1,
        post_transform=0,
        tree_roots=first_node[:-1].tolist(),
        nodes_featureids=joined.feature.tolist(),
        nodes_modes=graph.tensor(joined.mode.astype(np.uint8)),
        nodes_splits=graph.tensor(joined.split),
        nodes_missing_value_tracks_true=joined.missing_true.tolist(),
        nodes_truenodeids=children[0].tolist(),
        nodes_trueleafs=is_leaf[0].astype(int).tolist(),
        nodes_falsenodeids=children[1].tolist(),
        nodes_falseleafs=is_leaf[1].astype(int).tolist(),
        leaf_targetids=[0] * int(first_leaf[-1]),
        leaf_weights=graph.tensor(np.concatenate(leaves)),
        **({"membership_values": graph.tensor(joined.members)} if len(joined.members) else {}),
    )


def _splits(text: LightGBMText, tree: int) -> _Nodes:
    names = ("split_feature", "decision_type", "left_child", "right_child")
    feature, kind, *children = (text.numbers(tree, name, np.int64) for name in names)
    threshold = text.numbers(tree, "threshold", np.float64)
    by_category, missing = (kind & CATEGORICAL) > 0, kind >> 2 & 3
    if (missing[~by_category] == _ZERO).any():
        raise InvalidInput("The booster counts zeros as missing (zero_as_missing=true), which ONNX cannot say.")
    sets = [[*text.categories(tree, int(number)), np.nan] for number in threshold[by_category]]
    # without missing values in training, NaN is read as 0
    nan_left = np.where(missing == _NAN, (kind & _DEFAULT_LEFT) > 0, threshold >= 0.0)
    return _Nodes(
        feature,
        np.where(by_category, _MEMBER, _AT_MOST),
        np.where(by_category, 0.0, threshold),
        (nan_left & ~by_category).astype(np.int64),
        np.stack(children),
        np.concatenate([np.zeros(0), *sets]),
    )


_ZEROS = np.zeros(1, dtype=np.int64)
_ONE_LEAF = _Nodes(_ZEROS, _ZEROS, np.zeros(1), _ZEROS, np.full((2, 1), ~0), np.zeros(0))
"""A tree without a split: both ways lead to its leaf."""
