"""Groups made of A, for systems that know no other kind of attribute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.exceptions import InvalidInput
from fairlevel_study.systems.protocol import Data, System

MOST_CELLS = 12  # of A whose values are groups as they are
FEWEST_ROWS = 5  # of a group


@dataclass(frozen=True)
class Groups:
    """A rule that puts every value of A into one of ``count`` groups: ``number`` gives the group of each row, (row,
    attribute) -> (row,).
    """

    count: int
    number: Callable[[Array], Index]

    @classmethod
    def intervals(cls, edges: Array, score: Callable[[Array], Array]) -> Groups:
        """Intervals of one number that A determines, (row,); edges (group − 1,), ascending."""
        return cls(len(edges) + 1, lambda a: np.searchsorted(edges, score(a), side="right"))

    @classmethod
    def nearest(cls, centres: Array) -> Groups:
        """The group with the nearest of the centres (group, attribute)."""
        lengths = (centres**2).sum(axis=1)
        return cls(len(centres), lambda a: np.argmin(lengths - 2 * a @ centres.T, axis=1))


def groups_of(system: str, a: Array, bins: int | None, seed: int) -> Groups:
    """The groups of A for a system: its values where they are at most 12 (those with fewer than five rows join the
    nearest one), else ``bins`` quantiles of one attribute, or ``bins`` clusters of several (k-means).
    """
    cells, counts = np.unique(a, axis=0, return_counts=True)
    most = len(a) // FEWEST_ROWS
    if len(cells) <= MOST_CELLS:
        groups = Groups.nearest(cells[counts >= FEWEST_ROWS])
    elif bins is None:
        raise InvalidInput(
            f"{system} compares groups, and A has {len(cells)} different values, more than {MOST_CELLS}. Say how many "
            "bins to make of them, such as bins=4, or use penalty='fbo_closed', which takes A as it is."
        )
    elif not 2 <= bins <= most:
        raise InvalidInput(
            f"bins={bins} was given for {len(a)} rows; a number between 2 and {most} is needed, such as bins=4."
        )
    elif a.shape[1] == 1:
        edges = np.unique(np.quantile(a[:, 0], np.arange(1, bins) / bins))
        groups = Groups.intervals(edges[edges > a.min()], lambda a: a[:, 0])
    else:
        groups = Groups.nearest(KMeans(bins, n_init=4, random_state=seed).fit(a).cluster_centers_)
    if groups.count < 2:
        raise InvalidInput(
            f"{system} compares groups, and A forms only one of at least {FEWEST_ROWS} rows; give an attribute that "
            "varies, or use penalty='fbo_closed'."
        )
    return groups


@dataclass(frozen=True)
class GroupSystem(System):
    """A system that knows no attribute but groups: ``bins`` are made of an A with more than twelve values."""

    bins: int | None = 4
    learning_rate: float = PLAIN_RATE

    def groups(self, data: Data, setup: TrainingSetup) -> Groups:
        """The groups of A on the training rows."""
        return groups_of(self.name, data.a, self.bins, setup.seed)


class GroupVariance(NamedTuple):
    r"""DPVar between groups.

    .. math:: V = \sum_g p_g (m_g - m)^2

    Shapes: member 1[g(i) = g] (row, group), share p (group,); predictions (config, row).
    """

    member: Tensor
    share: Tensor

    @classmethod
    def of(cls, number: Index, count: int, like: Tensor) -> GroupVariance:
        """Of the type of ``like``, and where it is."""
        member = torch.nn.functional.one_hot(torch.from_numpy(number.astype(np.int64)), count).to(like)
        return cls(member, member.mean(dim=0))

    def deviations(self, prediction: Tensor) -> Tensor:
        """m_g − m, (config, row) -> (config, group); an empty group has mean 0 and share 0."""
        means = (prediction @ self.member) / (self.share * len(self.member)).clamp_min(1)
        return means - prediction.mean(dim=1, keepdim=True)

    def value(self, prediction: Tensor) -> Tensor:
        """V, (config,)."""
        return (self.deviations(prediction).square() * self.share).sum(dim=1)
