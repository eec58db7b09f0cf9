"""Sums of combinations of leaves against sums over the leaves of every tree alone."""

import numpy as np
import pytest

from fairlevel.releveling import joint_leaves
from fairlevel.releveling.joint_leaves import JointLeaves

RANDOM = np.random.default_rng(0)
ROWS = 400
SIZES = {
    "pairs": (31, 30, 31, 31),
    "an odd number": (31, 31, 31),
    "stumps": (2,) * 23,
    "large trees": (900, 2, 900, 5000),
    "one leaf": (1, 1, 40),
    "one tree": (7,),
}


def by_hand(leaves, sizes, values, by_leaf):
    """Both sums, tree by tree."""
    sums = [np.bincount(own, values, size) for own, size in zip(leaves.T, sizes, strict=True)]
    first = np.cumsum([0, *sizes[:-1]])
    return np.concatenate(sums), by_leaf[leaves + first].sum(axis=1)


@pytest.mark.parametrize("in_cache", [joint_leaves._IN_CACHE, 50])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_sums_are_those_of_single_trees(monkeypatch, sizes, in_cache):
    monkeypatch.setattr(joint_leaves, "_IN_CACHE", in_cache)
    leaves = np.column_stack([RANDOM.integers(0, size, ROWS) for size in sizes]).astype(np.int32)
    values, by_leaf = RANDOM.standard_normal(ROWS), RANDOM.standard_normal(sum(sizes))
    found = JointLeaves.of(leaves, sizes)
    assert (found.trees, found.count) == (len(sizes), sum(sizes))
    some = RANDOM.permutation(ROWS)[:150]
    for rows, own in ((np.arange(ROWS), found), (some, found.take(some))):
        over_rows, over_trees = by_hand(leaves[rows], sizes, values[rows], by_leaf)
        np.testing.assert_allclose(own.over_rows(values[rows]), over_rows, atol=1e-12)
        np.testing.assert_allclose(own.over_trees(by_leaf), over_trees, atol=1e-12)


def test_trees_of_31_leaves_are_taken_in_pairs():
    leaves = RANDOM.integers(0, 31, (ROWS, 10)).astype(np.int32)
    assert sum(block.combinations.shape[1] for block in JointLeaves.of(leaves, [31] * 10).blocks) == 5
