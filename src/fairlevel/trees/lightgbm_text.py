"""LightGBM's text format: read the values of leaves, write others in their place. Nothing else of the text changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.trees.protocol import NotASumOfLeaves

_END = "end of trees"


@dataclass(frozen=True)
class LightGBMText:
    """A model in three parts: lines before the trees, one text per tree, and what follows."""

    head: str
    trees: tuple[str, ...]
    tail: str

    @classmethod
    def read(cls, text: str) -> LightGBMText:
        """Take a model apart."""
        body, found, tail = text.partition(_END)
        if not text.startswith("tree\n") or not found:
            raise InvalidInput("This is no model in LightGBM's text format: it does not start with the line 'tree'.")
        head, *trees = re.split(r"^(?=Tree=\d+\n)", body, flags=re.MULTILINE)
        linear = [number for number, tree in enumerate(trees) if _entry(tree, "is_linear") == "1"]
        if linear:
            raise NotASumOfLeaves("The model has linear leaves (linear_tree=true); only constant ones can be changed.")
        return cls(head, tuple(trees), tail)

    @classmethod
    def constant(cls, features: int) -> LightGBMText:
        """One tree without a split, for tables from which LightGBM can grow none; its value is 0."""
        names, infos = (" ".join(text) for text in ([f"Column_{k}" for k in range(features)], ["none"] * features))
        head = (
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
            f"max_feature_idx={features - 1}\nfeature_names={names}\nfeature_infos={infos}\ntree_sizes=0\n\n"
        )
        empty = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
        tree = "Tree=0\nnum_leaves=1\nnum_cat=0\n" + "".join(f"{name}=\n" for name in empty)
        tree += "leaf_value=0\nleaf_weight=0\nleaf_count=0\ninternal_value=\ninternal_weight=\ninternal_count=\n"
        tree += "is_linear=0\nshrinkage=1\n\n\n"
        return cls(
            head, (tree,), "\n\nfeature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n"
        )

    def write(self) -> str:
        """The model as one text, readable by LightGBM."""
        numbered = [re.sub(r"\ATree=\d+", f"Tree={number}", tree) for number, tree in enumerate(self.trees)]
        sizes = " ".join(str(len(tree.encode())) for tree in numbered)
        head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", self.head, flags=re.MULTILINE)
        return head + "".join(numbered) + _END + self.tail

    @property
    def leaf_values(self) -> list[Array]:
        """The values of the leaves of each tree, (leaf,)."""
        return [np.array(_entry(tree, "leaf_value").split(), dtype=np.float64) for tree in self.trees]

    def numbers(self, tree: int, name: str, kind: type) -> Any:
        """One entry of a tree, such as ``split_feature``: (node,)."""
        return np.array(_entry(self.trees[tree], name).split(), dtype=kind)

    def categories(self, tree: int, number: int) -> list[int]:
        """The categories that go left at a categorical split; ``number`` counts such splits of the tree."""
        ends = self.numbers(tree, "cat_boundaries", np.int64)
        words = self.numbers(tree, "cat_threshold", np.uint64)[ends[number] : ends[number + 1]]
        return [32 * place + bit for place, word in enumerate(words) for bit in range(32) if int(word) >> bit & 1]

    def with_leaf_values(self, values: Sequence[Array]) -> LightGBMText:
        """The same trees with other values."""
        changed = []
        for tree, own in zip(self.trees, values, strict=True):
            text = " ".join(format(float(value), ".17g") for value in own)
            changed.append(re.sub(r"^leaf_value=.*$", f"leaf_value={text}", tree, flags=re.MULTILINE))
        return replace(self, trees=tuple(changed))

    def entry(self, name: str) -> str:
        """An entry of the head, such as ``objective``; nothing where there is none."""
        return _entry(self.head, name)

    def first(self, count: int) -> LightGBMText:
        """The first trees alone."""
        return replace(self, trees=self.trees[:count])


def _entry(tree: str, name: str) -> str:
    found = re.search(rf"^{name}=(.*)$", tree, flags=re.MULTILINE)
    return "" if found is None else found.group(1)
