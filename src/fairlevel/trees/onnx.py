"""Trees as an ONNX operation, in double precision."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.onnx_graph import OnnxGraph
from fairlevel.trees.lightgbm_text import LightGBMText

DOMAIN, DOMAIN_VERSION = "ai.onnx.ml", 5

_AT_MOST, _MEMBER = 0, 6  # modes of a node: x ≤ split, x in a set
_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of LightGBM's decision type; the next two bits hold the missing type
_ZERO, _NAN = 1, 2  # missing types: zeros are missing, NaN is missing


@dataclass
class _Nodes:
    """Columns of the operation TreeEnsemble; children are numbers of nodes or, where marked, of leaves."""

    feature: list[int] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    missing_true: list[int] = field(default_factory=list)
    yes: list[int] = field(default_factory=list)
    yes_leaf: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)
    no_leaf: list[int] = field(default_factory=list)
    members: list[float] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    leaves: list[float] = field(default_factory=list)


def add_trees(graph: OnnxGraph, inputs: str, text: LightGBMText) -> str:
    """Add the sum of all trees to a graph: inputs (row, feature) -> (row, 1)."""
    nodes = _Nodes()
    for number, values in enumerate(text.leaf_values):
        _add_tree(nodes, text, number, values)
    return graph.apply(
        "TreeEnsemble",
        inputs,
        domain=DOMAIN,
        aggregate_function=1,  # sum
        n_targets=1,
        post_transform=0,
        tree_roots=nodes.roots,
        nodes_featureids=nodes.feature,
        nodes_modes=graph.tensor(np.array(nodes.mode, dtype=np.uint8)),
        nodes_splits=graph.tensor(np.array(nodes.split, dtype=np.float64)),
        nodes_missing_value_tracks_true=nodes.missing_true,
        nodes_truenodeids=nodes.yes,
        nodes_trueleafs=nodes.yes_leaf,
        nodes_falsenodeids=nodes.no,
        nodes_falseleafs=nodes.no_leaf,
        leaf_targetids=[0] * len(nodes.leaves),
        leaf_weights=graph.tensor(np.array(nodes.leaves, dtype=np.float64)),
        **({"membership_values": graph.tensor(np.array(nodes.members, dtype=np.float64))} if nodes.members else {}),
    )


def _add_tree(nodes: _Nodes, text: LightGBMText, number: int, values: Array) -> None:
    first_node, first_leaf = len(nodes.feature), len(nodes.leaves)
    nodes.roots.append(first_node)
    nodes.leaves.extend(values.tolist())
    if len(values) == 1:  # a tree without a split: both ways lead to its leaf
        _add_node(nodes, 0, _AT_MOST, 0.0, 0, (first_leaf, 1), (first_leaf, 1))
        return
    feature, kind, left, right = (
        text.numbers(number, name, np.int64) for name in ("split_feature", "decision_type", "left_child", "right_child")
    )
    threshold = text.numbers(number, "threshold", np.float64)

    def child(value: int) -> tuple[int, int]:
        return (first_leaf + ~value, 1) if value < 0 else (first_node + value, 0)

    for node in range(len(feature)):
        ways = child(int(left[node])), child(int(right[node]))
        missing = int(kind[node]) >> 2 & 3
        if kind[node] & _CATEGORICAL:
            nodes.members.extend([*text.categories(number, int(threshold[node])), np.nan])
            _add_node(nodes, int(feature[node]), _MEMBER, 0.0, 0, *ways)
            continue
        if missing == _ZERO:
            raise InvalidInput("The booster counts zeros as missing (zero_as_missing=true), which ONNX cannot say.")
        zero_goes_left = threshold[node] >= 0.0  # without missing values in training, NaN is read as 0
        nan_left = bool(kind[node] & _DEFAULT_LEFT) if missing == _NAN else zero_goes_left
        _add_node(nodes, int(feature[node]), _AT_MOST, float(threshold[node]), int(nan_left), *ways)


def _add_node(
    nodes: _Nodes, feature: int, mode: int, split: float, missing_true: int, yes: tuple[int, int], no: tuple[int, int]
) -> None:
    nodes.feature.append(feature)
    nodes.mode.append(mode)
    nodes.split.append(split)
    nodes.missing_true.append(missing_true)
    for (where, is_leaf), numbers, marks in ((yes, nodes.yes, nodes.yes_leaf), (no, nodes.no, nodes.no_leaf)):
        numbers.append(where)
        marks.append(is_leaf)
