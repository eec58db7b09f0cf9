"""Fitted boosters: prediction, files in LightGBM's own text format, ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.members.booster_check import require_sound
from fairlevel.members.protocol import Device
from fairlevel.onnx_graph import OnnxGraph
from fairlevel.trees.lightgbm_library import LightGBMTrees
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.onnx import add_trees


@dataclass(frozen=True)
class FittedTrees:
    """One booster as LightGBM's text."""

    text: str

    @cached_property
    def _read(self) -> LightGBMTrees:
        """Read once."""
        return LightGBMTrees(self.text)

    def __getstate__(self) -> dict[str, str]:
        return {"text": self.text}

    def sums(self, x: Array, counts: Sequence[int]) -> list[Array]:
        """Sums of the first trees for ascending counts: (row, feature) -> one (row,) for each count."""
        total: Array = np.zeros(len(x))
        before, found = 0, []
        for count in counts:
            if count > before and len(x):
                total = total + self._read.predict(x, before, count - before)
            found.append(total)
            before = count
        return found


@dataclass(frozen=True)
class BoosterMembers:
    """Each member is the sum of the first trees of a booster; several members may share one."""

    boosters: tuple[FittedTrees, ...]
    source: tuple[int, ...]
    trees: tuple[int, ...]

    kind: ClassVar[str] = "boosters"
    native: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.source)

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        values, found = np.asarray(x, dtype=np.float64), np.empty((len(self), len(x)))
        for number, booster in enumerate(self.boosters):
            own = [member for member in np.argsort(self.trees, kind="stable") if self.source[member] == number]
            found[own] = np.reshape(booster.sums(values, [self.trees[member] for member in own]), (len(own), len(x)))
        return found

    def take(self, index: Index) -> Self:
        chosen = [int(number) for number in index]
        used = sorted({self.source[number] for number in chosen})
        place = {old: new for new, old in enumerate(used)}
        return type(self)(
            tuple(self.boosters[number] for number in used),
            tuple(place[self.source[number]] for number in chosen),
            tuple(self.trees[number] for number in chosen),
        )

    def join(self, others: Sequence[Self]) -> Self:
        result = self
        for other in others:
            first = len(result.boosters)
            result = type(self)(
                result.boosters + other.boosters,
                result.source + tuple(first + number for number in other.source),
                result.trees + other.trees,
            )
        return result

    def after(self, share: float) -> BoosterMembers:
        """Members after this share of their trees, at least one."""
        return replace(self, trees=tuple(max(1, round(share * count)) for count in self.trees))

    def in_units(self, scaler: Scaler) -> BoosterMembers:
        """mean + scale · f: leaves are scaled, and the first tree carries the mean, so that LightGBM predicts it."""
        texts = []
        for number, count in zip(self.source, self.trees, strict=True):
            text = LightGBMText.read(self.boosters[number].text).first(count)
            values = [float(scaler.scale) * leaves for leaves in text.leaf_values]
            values[0] = values[0] + float(scaler.mean)
            texts.append(FittedTrees(text.with_leaf_values(values).write()))
        return BoosterMembers(tuple(texts), tuple(range(len(texts))), self.trees)

    def arrays(self) -> dict[str, Any]:
        return {"source": np.array(self.source, dtype=np.int64), "trees": np.array(self.trees, dtype=np.int64)}

    def texts(self) -> dict[str, str]:
        return {f"lightgbm-{number}.txt": booster.text for number, booster in enumerate(self.boosters)}

    def description(self) -> dict[str, Any]:
        return {"boosters": len(self.boosters)}

    @classmethod
    def from_file(cls, arrays: Mapping[str, Any], texts: Mapping[str, str], description: Mapping[str, Any]) -> Self:
        boosters = tuple(FittedTrees(texts[f"lightgbm-{number}.txt"]) for number in range(int(description["boosters"])))
        source, trees = (tuple(map(int, arrays[name].tolist())) for name in ("source", "trees"))
        if not all(0 <= number < len(boosters) for number in source):
            raise ValueError(f"members of boosters {sorted(set(source))}, and {len(boosters)} boosters")
        if len(source) != len(trees) or min(trees, default=1) < 0:
            raise ValueError(f"{len(source)} members with {len(trees)} numbers of trees")
        for each in boosters:
            require_sound(each.text, int(description["n_features"]))
        return cls(boosters, source, trees)

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        outputs = []
        for number, count in zip(self.source, self.trees, strict=True):
            text = LightGBMText.read(self.boosters[number].text).first(count)
            outputs.append(add_trees(graph, inputs, text))  # (row, 1)
        stacked = [graph.apply("Unsqueeze", each, graph.constant(np.array([0]))) for each in outputs]
        return stacked[0] if len(stacked) == 1 else graph.apply("Concat", *stacked, axis=0)
