"""Orthonormal functions at some rows; own functions of cells need not be written out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.own_functions import OwnFunctions
from fairlevel.conditional_mean.cells.signed_functions import SignedFunctions


@dataclass(frozen=True)
class Basis:
    """Functions as columns, (row, column), in their order, and sets of own functions of cells, at their places among
    them; see :mod:`fairlevel.conditional_mean.cells`.
    """

    columns: Tensor
    sets: tuple[OwnFunctions, ...] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns)

    @property
    def count(self) -> int:
        """The number of functions."""
        return self.columns.shape[1] + sum(each.count for each in self.sets)

    @cached_property
    def written_out(self) -> Tensor:
        """All functions, (row, function)."""
        if not self.sets:
            return self.columns
        functions = self.columns.new_empty(len(self), self.count)
        functions[:, self._places] = self.columns
        for each in self.sets:
            functions[:, each.first : each.end] = each.written_out()
        return functions

    @cached_property
    def signed(self) -> SignedFunctions:
        """Signed functions: sums over all functions of the basis are sums over these, at the least cost."""
        return SignedFunctions.of(self.columns, self._places, self.sets)

    def beyond(self, first: int) -> Basis:
        """Without the first functions, which are columns."""
        return Basis(self.columns[:, first:], tuple(each.shifted(-first) for each in self.sets))

    def until(self, last: int) -> Basis:
        """The first functions alone; no set is divided."""
        sets = tuple(each for each in self.sets if each.first < last)
        return Basis(self.columns[:, : last - sum(each.count for each in sets)].contiguous(), sets)

    @classmethod
    def concatenated(cls, parts: tuple[Basis, ...]) -> Basis:
        """The functions of several bases at the same rows, of which at most one has sets."""
        sets: list[OwnFunctions] = []
        before = 0
        for each in parts:
            sets += [own.shifted(before) for own in each.sets]
            before += each.count
        return cls(torch.cat([each.columns for each in parts], dim=1), tuple(sets))

    @property
    def _places(self) -> Tensor:
        """The places of the columns among all functions, (column,)."""
        single = torch.ones(self.count, dtype=torch.bool)
        for each in self.sets:
            single[each.first : each.end] = False
        return torch.nonzero(single).squeeze(1)
