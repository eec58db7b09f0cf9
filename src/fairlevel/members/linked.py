"""Members whose scores pass a link: probabilities of a classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.links import LogisticLink
from fairlevel.members.protocol import Device, Faithful, Members, Staged
from fairlevel.onnx_graph import OnnxGraph


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

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        linked: Array = self.link(self.members.predict(x, device))
        return linked

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

    def arrays(self) -> dict[str, Any]:
        return self.members.arrays()

    def texts(self) -> dict[str, str]:
        return self.members.texts()

    def description(self) -> dict[str, Any]:
        return {"link": asdict(self.link), "members": {**self.members.description(), "kind": self.members.kind}}

    @classmethod
    def from_file(cls, arrays: Mapping[str, Any], texts: Mapping[str, str], description: Mapping[str, Any]) -> Self:
        from fairlevel.members import members_of  # this class is one of them

        outer = {name: description[name] for name in ("module", "n_features") if name in description}
        inner = {**description["members"], **outer}
        link = LogisticLink(**{name: float(value) for name, value in description["link"].items()})
        return cls(members_of(inner["kind"]).from_file(arrays, texts, inner), link)

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        def number(value: float) -> str:
            return graph.constant(np.asarray(value, dtype=np.float64))

        score = graph.apply("Add", self.members.add_to(graph, inputs), number(self.link.offset))
        centred = graph.apply("Sub", graph.apply("Sigmoid", score), number(self.link.centre))
        return graph.apply("Div", centred, number(self.link.scale))
