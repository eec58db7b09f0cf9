"""What re-levelling needs to know of an ensemble of trees, whichever library has trained it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import FairLevelError

Leaves = np.ndarray[tuple[int, int], np.dtype[np.int32]]
"""Numbers of leaves, counted within each tree, (row, tree)."""


class NotASumOfLeaves(FairLevelError, ValueError):
    """The predictions of a model are not a sum of values of leaves that could be replaced."""


_LOG_LINKS = ("poisson", "gamma", "tweedie")
SEVERAL_OUTPUTS = "has several outputs; one number per row is needed."


def no_sum_of_leaves(parameter: str, objective: str) -> NotASumOfLeaves:
    """What to say of an objective whose predictions are something else."""
    if any(name in objective.lower() for name in _LOG_LINKS):
        return NotASumOfLeaves(
            f"relevel cannot yet change the trees of a model with {parameter}={objective!r}: their leaves multiply the "
            "prediction (a log link)."
        )
    return NotASumOfLeaves(f"Predictions with {parameter}={objective!r} are no sum of leaves.")


class TreeEnsemble(Protocol):
    """A fitted model whose leaves, beside a constant, add up to its total: constant + Σ_t v_t[leaf_t(x)]. One that is
    something else is refused when it is read. A user's own model may have these members itself.
    """

    @property
    def log_odds(self) -> bool:
        """Whether the total is the log-odds of the second of two classes, and not the prediction."""

    @property
    def leaf_values(self) -> list[Array]:
        """What each leaf adds to the total, v_t (leaf,) for each tree."""

    @property
    def training_counts(self) -> list[Array]:
        """How many training rows each leaf held, (leaf,) for each tree; empty where the model does not say."""

    def leaves(self, X: Any) -> Leaves:
        """The number of the leaf that each row falls into, (row, tree)."""

    def total(self, X: Any) -> Array:
        """What the model itself says, (row,)."""

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        """A model of the same type with other values, one (leaf,) for each tree; the given model is left alone."""


def by_tree(leaves: Leaves, values: Sequence[Array]) -> Array:
    """What each tree adds, v_t[leaf_t(x)]: (row, tree), (leaf,) for each tree -> (row, tree)."""
    return np.column_stack([own[leaves[:, tree]] for tree, own in enumerate(values)])


def leaf_columns(leaves: Leaves, sizes: Sequence[int]) -> csr_array:
    """One column of zeros and ones per leaf of every tree: which leaf of each tree a row falls into. From numbers of
    leaves, counted within each tree, and the number of leaves of each tree.
    """
    rows, trees = leaves.shape
    first = np.concatenate([[0], np.cumsum(sizes)])
    ones = (leaves + first[:-1]).astype(np.int32).ravel()
    return csr_array((np.ones(rows * trees), ones, trees * np.arange(rows + 1)), shape=(rows, int(first[-1])))


def leaf_numbers(nodes: Any, leaves: Sequence[Index]) -> Leaves:
    """Numbers of leaves from numbers of nodes, (row, tree); ``leaves`` are the nodes of each tree that are leaves, in
    ascending order.
    """
    return np.column_stack([np.searchsorted(own, nodes[:, tree]) for tree, own in enumerate(leaves)]).astype(np.int32)
