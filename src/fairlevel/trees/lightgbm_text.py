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

CATEGORICAL = 1  # bit of LightGBM's decision type
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
        return [32 * position + bit for position, word in enumerate(words) for bit in range(32) if int(word) >> bit & 1]

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

    def require_sound(self) -> None:
        """Raise ValueError where LightGBM, which trusts a text, would end the process or read foreign memory: it counts
        bytes of trees as the head says, and follows splits wherever they lead.
        """
        if [int(size) for size in self.entry("tree_sizes").split()] != [len(tree.encode()) for tree in self.trees]:
            raise ValueError("the sizes of trees are not those of the text")
        if not self.trees or (self.entry("num_class"), self.entry("num_tree_per_iteration")) != ("1", "1"):
            raise ValueError("no trees, or trees of several classes")
        for part in (self.head, *self.trees):
            names = [line.partition("=")[0] for line in part.splitlines() if line]
            if len(set(names)) < len(names):
                raise ValueError(f"{names[0]} says something twice")
        for tree in range(len(self.trees)):
            self._require_sound_tree(tree)

    def _require_sound_tree(self, tree: int) -> None:
        def numbers(name: str, kind: type, count: int) -> Any:
            values = self.numbers(tree, name, kind)
            if len(values) != count:
                raise ValueError(f"tree {tree} has {len(values)} numbers in {name}, not {count}")
            return values

        leaves, columns = int(_entry(self.trees[tree], "num_leaves")), int(self.entry("max_feature_idx")) + 1
        if not np.isfinite(numbers("leaf_value", np.float64, leaves)).all():
            raise ValueError("leaves hold missing or infinite numbers")
        splits = leaves - 1
        column, kind = numbers("split_feature", np.int64, splits), numbers("decision_type", np.int64, splits)
        by_category = numbers("threshold", np.float64, splits)[(kind & CATEGORICAL) > 0]
        children = np.stack([numbers(f"{side}_child", np.int64, splits) for side in ("left", "right")])
        if splits and not (0 <= column.min() <= column.max() < columns):
            raise ValueError(f"tree {tree} splits by column {column.max()} of {columns}")
        inner, ends = np.sort(children[children >= 0]), np.sort(~children[children < 0])
        later = (children > np.arange(splits)) | (children < 0)  # a split leads to later ones: there is no circle
        whole = np.array_equal(inner, np.arange(1, splits)) and np.array_equal(ends, np.arange(leaves))
        if splits and not (whole and later.all()):
            raise ValueError(f"tree {tree} has splits that lead nowhere or in a circle")
        sets = int(_entry(self.trees[tree], "num_cat"))
        starts = numbers("cat_boundaries", np.int64, sets + 1) if sets else np.zeros(1, dtype=np.int64)
        numbers("cat_threshold", np.uint64, int(starts[-1]))
        if starts[0] != 0 or (np.diff(starts) < 0).any() or not np.isin(by_category, np.arange(sets)).all():
            raise ValueError(f"tree {tree} has categories that are not in the text")


def _entry(tree: str, name: str) -> str:
    found = re.search(rf"^{name}=(.*)$", tree, flags=re.MULTILINE)
    return "" if found is None else found.group(1)
