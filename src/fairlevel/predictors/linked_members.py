"""Members whose scores pass a link: probabilities of a classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.links import LogisticLink
from fairlevel.onnx_graph import OnnxGraph
from fairlevel.predictors.protocol import Faithful, Members, Staged


@dataclass(frozen=True)
class LinkedMembers:
    """link(f_m(x)) for each member m of a group."""

    members: Members
    link: LogisticLink

    kind: ClassVar[str] = "linked"

    def __len__(self) -> int:
        return len(self.members)

    @property
    def native(self) -> bool:
        return self.members.native

    def predict(self, x: Array, device: torch.device | str = "cpu") -> Array:
        found: Array = self.link(torch.from_numpy(self.members.predict(x, device))).numpy()
        return found

    def take(self, index: Index) -> Self:
        return replace(self, members=self.members.take(index))

    def join(self, others: Sequence[Self]) -> Self:
        inner: Any = self.members
        return replace(self, members=inner.join([other.members for other in others]))

    def after(self, share: float) -> Members:
        """All members after this share of their steps."""
        if not isinstance(self.members, Staged):
            raise TypeError(f"{type(self.members).__name__} has no stages.")
        return replace(self, members=self.members.after(share))

    def require_faithful(self, x: Array) -> None:
        """Raise an error if a file would not hold all that the members predict from."""
        if isinstance(self.members, Faithful):
            self.members.require_faithful(x)

    def arrays(self) -> dict[str, Tensor]:
        return self.members.arrays()

    def texts(self) -> dict[str, str]:
        return self.members.texts()

    def description(self) -> dict[str, Any]:
        return {"link": asdict(self.link), "members": {**self.members.description(), "kind": self.members.kind}}

    @classmethod
    def from_file(cls, arrays: Mapping[str, Tensor], texts: Mapping[str, str], description: Mapping[str, Any]) -> Self:
        from fairlevel.predictors import MEMBERS  # this class is one of them

        outer = {name: description[name] for name in ("module", "n_features") if name in description}
        inner = {**description["members"], **outer}
        link = LogisticLink(**{name: float(value) for name, value in description["link"].items()})
        return cls(MEMBERS[inner["kind"]].from_file(arrays, texts, inner), link)

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        def number(value: float) -> str:
            return graph.constant(np.asarray(value, dtype=np.float64))

        score = graph.apply("Add", self.members.add_to(graph, inputs), number(self.link.offset))
        centred = graph.apply("Sub", graph.apply("Sigmoid", score), number(self.link.centre))
        return graph.apply("Div", centred, number(self.link.scale))
