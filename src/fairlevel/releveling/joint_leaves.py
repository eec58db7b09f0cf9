r"""Sums over the rows of each leaf and over the leaves of each row, for a few trees at a time.

With L the table of zeros and ones that says which leaf of every tree a row falls into, (row, leaf of any tree), these
are products with Lᵀ and L. Of a few trees together, a row falls into one combination of their leaves, so that

.. math:: L = \sum_b Z_b E_b ,

where the blocks Z (row, combination) have one entry for each row and group of trees, and E (combination, leaf of any
tree) says which leaves a combination consists of. Trees of 31 leaves are taken in pairs: Z has half as many entries as
L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from fairlevel.arrays import Array, Index
from fairlevel.trees.protocol import Leaves

Members = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""The leaves that each combination consists of, (combination, tree)."""

MOST_COMBINATIONS = 1024  # of the leaves of a group: with more, combinations would be as many as rows
_IN_CACHE = 8192  # combinations of a block: one number for each stays in the first cache


@dataclass(frozen=True)
class Block:
    """Some groups of trees. Shapes: combinations of the leaves of each group (row, group), numbered through the block;
    members E (combination, leaf of any tree), sparse.
    """

    combinations: Leaves
    members: Any

    @cached_property
    def matrix(self) -> Any:
        """Z, sparse: (row, combination)."""
        rows, groups = self.combinations.shape
        entries, starts = np.ones(self.combinations.size), groups * np.arange(rows + 1)
        return csr_matrix((entries, self.combinations.ravel(), starts), shape=(rows, self.members.shape[0]))

    @cached_property
    def transposed(self) -> tuple[Any, Any]:
        """Eᵀ and Zᵀ: SciPy takes longer to make them than a product with the first one."""
        return self.members.T, self.matrix.T


@dataclass(frozen=True)
class JointLeaves:
    """The leaves that some rows fall into, in blocks; numbers of trees and of leaves of all trees."""

    blocks: tuple[Block, ...]
    trees: int
    count: int

    @classmethod
    def of(cls, leaves: Leaves, sizes: Sequence[int]) -> JointLeaves:
        """From numbers of leaves, counted within each tree, (row, tree), and the number of leaves of each tree."""
        first = np.concatenate([[0], np.cumsum(sizes)])
        by_tree = np.ascontiguousarray(leaves.T)
        parts, blocks, filled = list[tuple[Index, Members]](), list[Block](), 0
        for start, end in pairwise(_groups(sizes)):
            number, members = _combinations(by_tree[start:end], sizes[start:end])
            if parts and filled + len(members) > _IN_CACHE:
                blocks.append(_block(parts, int(first[-1])))
                parts, filled = [], 0
            parts.append((number + filled, members + first[start:end]))
            filled += len(members)
        return cls((*blocks, _block(parts, int(first[-1]))), len(sizes), int(first[-1]))

    def take(self, rows: Index) -> JointLeaves:
        """The leaves of some of the rows."""
        blocks = tuple(Block(block.combinations[rows], block.members) for block in self.blocks)
        return JointLeaves(blocks, self.trees, self.count)

    def over_rows(self, values: Array) -> Array:
        """Lᵀ v, sums over the rows in each leaf: (row,) -> (leaf of any tree,)."""
        parts = (block.transposed for block in self.blocks)
        sums: Array = np.sum([members @ (matrix @ values) for members, matrix in parts], axis=0)
        return sums

    def over_trees(self, by_leaf: Array) -> Array:
        """L v, sums over the leaves of each row: (leaf of any tree,) -> (row,)."""
        sums: Array = np.sum([block.matrix @ (block.members @ by_leaf) for block in self.blocks], axis=0)
        return sums


def _groups(sizes: Sequence[int]) -> list[int]:
    """Where groups of consecutive trees start, and the end of the last one."""
    starts, combinations = [0], 1
    for tree, size in enumerate(sizes):
        combinations *= size
        if combinations > MOST_COMBINATIONS and tree > starts[-1]:
            starts.append(tree)
            combinations = size
    return [*starts, len(sizes)]


def _combinations(leaves: Leaves, sizes: Sequence[int]) -> tuple[Index, Members]:
    """Numbers of the combinations of leaves that occur, (row,), and the leaves of each, (combination, tree), from the
    leaves of each tree, (tree, row).
    """
    joint = np.ravel_multi_index(tuple(leaves), tuple(sizes))
    occurs = np.bincount(joint) > 0
    members = np.column_stack(np.unravel_index(np.flatnonzero(occurs), tuple(sizes)))
    return (np.cumsum(occurs) - 1)[joint], members


def _block(groups: Sequence[tuple[Index, Members]], leaves: int) -> Block:
    """From numbers of combinations (row,) and their leaves (combination, tree) of each group."""
    combinations = np.stack([number for number, _ in groups], axis=1).astype(np.int32)
    members = np.concatenate([own.ravel() for _, own in groups])
    lengths = np.concatenate([np.full(len(own), own.shape[1]) for _, own in groups])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Block(combinations, csr_matrix((np.ones(len(members)), members, starts), shape=(len(lengths), leaves)))
