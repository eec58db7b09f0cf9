"""Members whose scores pass a link: probabilities of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

from fairlevel.arrays import Array, Index
from fairlevel.links import LogisticLink
from fairlevel.members.protocol import Device, Members, Written
from fairlevel.onnx_graph import OnnxGraph, OnnxValue


@dataclass(frozen=True)
class LinkedMembers:
    """link(f_m(x)) for each member m of a group."""

    members: Any
    link: LogisticLink

    kind: ClassVar[str] = "linked"

    def __len__(self) -> int:
        return len(self.members)

    @property
    def native(self) -> bool:
        return bool(self.members.native)

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        linked: Array = self.link(self.members.predict(x, device))
        return linked

    def take(self, index: Index) -> Self:
        return replace(self, members=self.members.take(index))

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, members=self.members.join([other.members for other in others]))

    def after(self, share: float) -> Members:
        """All members after this share of their steps, where they have steps."""
        return replace(self, members=self.members.after(share))

    def written(self) -> Written:
        inner: Written = self.members.written()
        members = {**inner.description, "kind": self.members.kind}
        return replace(inner, description={"link": asdict(self.link), "members": members})

    @classmethod
    def from_file(cls, written: Written, module: Any = None) -> Self:
        from fairlevel.members import members_of  # this class is one of them

        inner = written.description["members"]
        members = members_of(inner["kind"]).from_file(replace(written, description=inner), module)
        return cls(members, LogisticLink(**{name: float(value) for name, value in written.description["link"].items()}))

    def add_to(self, graph: OnnxGraph, inputs: OnnxValue) -> OnnxValue:
        probability: Any = graph.apply("Sigmoid", self.members.add_to(graph, inputs) + self.link.offset)
        linked: OnnxValue = (probability - self.link.centre) / self.link.scale
        return linked
