"""Fitted boosters: prediction, files in LightGBM's own text format, ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from threadpoolctl import threadpool_limits

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.members.protocol import Device, Written
from fairlevel.onnx_graph import OnnxGraph, OnnxValue
from fairlevel.threads import forked
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.onnx import add_trees


def booster_of(text: str) -> Any:
    """LightGBM's booster of a text; in a forked process, which has lost the threads of OpenMP, it is read on one."""
    import lightgbm  # importing it takes a second

    with threadpool_limits(1 if forked() else None, user_api="openmp"):
        return lightgbm.Booster(model_str=text)


@dataclass(frozen=True)
class FittedTrees:
    """One booster as LightGBM's text."""

    text: str

    @cached_property
    def _booster(self) -> Any:
        """Read once."""
        return booster_of(self.text)

    def __getstate__(self) -> dict[str, str]:
        return {"text": self.text}

    def sums(self, x: Array, counts: Sequence[int]) -> list[Array]:
        """Sums of the first trees for ascending counts: (row, feature) -> one (row,) for each count."""
        values, threads = np.ascontiguousarray(x, dtype=np.float64), {"num_threads": 1} if forked() else {}
        sums: list[Array] = [np.zeros(len(x))]
        before = 0
        for count in counts:
            more = 0.0
            if count > before and len(x):
                part = {"start_iteration": before, "num_iteration": count - before}
                more = self._booster.predict(values, raw_score=True, **part, **threads)
            sums.append(sums[-1] + more)
            before = count
        return sums[1:]


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
        predictions = np.empty((len(self), len(x)))
        for booster in sorted(set(self.source)):
            members = [member for member in np.argsort(self.trees, kind="stable") if self.source[member] == booster]
            predictions[members] = self.boosters[booster].sums(x, [self.trees[member] for member in members])
        return predictions

    def take(self, index: Index) -> Self:
        used = sorted({self.source[number] for number in index})
        return type(self)(
            tuple(self.boosters[number] for number in used),
            tuple(used.index(self.source[number]) for number in index),
            tuple(self.trees[number] for number in index),
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

    def _texts(self) -> list[LightGBMText]:
        """The trees of each member."""
        members = zip(self.source, self.trees, strict=True)
        return [LightGBMText.read(self.boosters[booster].text).first(count) for booster, count in members]

    def in_units(self, scaler: Scaler) -> BoosterMembers:
        """mean + scale · f: leaves are scaled, and the first tree carries the mean, so that LightGBM predicts it."""
        trees = []
        for text in self._texts():
            values = [float(scaler.scale) * leaves for leaves in text.leaf_values]
            values[0] = values[0] + float(scaler.mean)
            trees.append(FittedTrees(text.with_leaf_values(values).write()))
        return BoosterMembers(tuple(trees), tuple(range(len(trees))), self.trees)

    def written(self) -> Written:
        arrays = {name: np.array(getattr(self, name), dtype=np.int64) for name in ("source", "trees")}
        texts = {f"lightgbm-{number}.txt": booster.text for number, booster in enumerate(self.boosters)}
        return Written({"boosters": len(self.boosters)}, arrays, texts)

    @classmethod
    def from_file(cls, written: Written, module: Any = None) -> Self:
        texts = [written.texts[f"lightgbm-{number}.txt"] for number in range(int(written.description["boosters"]))]
        for text in texts:
            LightGBMText.read(text).require_sound()
        source, trees = (tuple(map(int, written.arrays[name].tolist())) for name in ("source", "trees"))
        return cls(tuple(map(FittedTrees, texts)), source, trees)

    def add_to(self, graph: OnnxGraph, inputs: OnnxValue) -> OnnxValue:
        sums = [add_trees(graph, inputs, text) for text in self._texts()]  # (row, 1) each
        return graph.apply("Concat", *(graph.apply("Unsqueeze", each, np.array([0])) for each in sums), axis=0)
