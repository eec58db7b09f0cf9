"""Whether a text is a sound LightGBM model. LightGBM itself trusts it, and ends the process or reads foreign memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairlevel.trees.lightgbm_text import LightGBMText

_CATEGORICAL = 1  # bit of decision_type


def require_sound(text: str, features: int) -> None:
    """Raise ValueError unless these are trees with finite leaves that read ``features`` columns, and each split leads
    to two others or to leaves of the same tree.
    """
    model = LightGBMText.read(text)
    sizes = [len(tree.encode()) for tree in model.trees]
    head = dict(re.findall(r"^(\w+)=(.*)$", model.head, flags=re.MULTILINE))
    if not model.trees or [int(size) for size in head.get("tree_sizes", "").split()] != sizes:
        raise ValueError("the sizes of trees are not those of the text")
    if int(head["max_feature_idx"]) != features - 1:
        raise ValueError(f"trees that read {int(head['max_feature_idx']) + 1} columns, not {features}")
    if (int(head["num_class"]), int(head["num_tree_per_iteration"])) != (1, 1):
        raise ValueError("trees of several classes")
    for number, tree in enumerate(model.trees):
        lines = [line.partition("=") for line in tree.splitlines() if line]
        entries = {name: values.split() for name, _, values in lines}
        if len(entries) < len(lines):
            raise ValueError(f"tree {number} says something twice")
        _require_sound_tree(number, entries, features)


def _require_sound_tree(tree: int, entries: Mapping[str, Sequence[str]], features: int) -> None:
    def numbers(name: str, kind: type, count: int) -> Any:
        found = entries.get(name, ())
        if len(found) != count:
            raise ValueError(f"tree {tree} has {len(found)} numbers in {name}, not {count}")
        return np.array(found, dtype=kind)

    leaves = int(entries["num_leaves"][0])
    if not np.isfinite(numbers("leaf_value", np.float64, leaves)).all():
        raise ValueError("leaves hold missing or infinite numbers")
    splits = leaves - 1
    column, kind = numbers("split_feature", np.int64, splits), numbers("decision_type", np.int64, splits)
    threshold = numbers("threshold", np.float64, splits)
    children = np.stack([numbers("left_child", np.int64, splits), numbers("right_child", np.int64, splits)])
    if splits and not (0 <= column.min() <= column.max() < features):
        raise ValueError(f"tree {tree} splits by column {column.max()} of {features}")
    inner = np.sort(children[children >= 0])
    ends = np.sort(~children[children < 0])
    later = (children > np.arange(splits)) | (children < 0)  # a split leads to later ones, so that there is no circle
    whole = np.array_equal(inner, np.arange(1, splits)) and np.array_equal(ends, np.arange(leaves))
    if splits and not (whole and later.all()):
        raise ValueError(f"tree {tree} has splits that lead nowhere or in a circle")
    categorical = int(entries["num_cat"][0])
    by_category = threshold[(kind & _CATEGORICAL) > 0]
    if not categorical:
        if len(by_category):
            raise ValueError(f"tree {tree} has splits by categories, and no categories")
        return
    ends = numbers("cat_boundaries", np.int64, categorical + 1)
    numbers("cat_threshold", np.uint64, int(ends[-1]))
    if ends[0] != 0 or (np.diff(ends) < 0).any() or not np.isin(by_category, np.arange(categorical)).all():
        raise ValueError(f"tree {tree} has categories that are not in the text")
