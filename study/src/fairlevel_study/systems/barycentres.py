"""Wasserstein barycentres: predictions are moved to quantiles that all groups, or all values of A, share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from fairlevel.arrays import Array, Index
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.exceptions import InvalidInput
from fairlevel.members import Members
from fairlevel_study.systems.networks import plain_network
from fairlevel_study.systems.protocol import Data, FittedFunctions, Function, Groups, GroupSystem, System


@dataclass(frozen=True)
class QuantileMap:
    r"""g(f, s) = Σ_r p_r Q_r(F_s(f)): the barycentre of the groups' distributions at the rank that f has in its own.

    F is the empirical distribution function, Q linear between sorted values, as in EquiPy. Ranks are k/n, sorted values
    stand at (k − 1)/(n − 1): predictions of a group of n rows end up higher by about 1/n of their range. Shapes:
    samples, sorted predictions of each group; share p (group,).
    """

    samples: tuple[Array, ...]
    share: Array

    @classmethod
    def of(cls, prediction: Array, number: Index, count: int) -> Self:
        samples = tuple(np.sort(prediction[number == group]) for group in range(count))
        return cls(samples, np.array([len(sample) for sample in samples]) / len(prediction))

    def __call__(self, prediction: Array, number: Index) -> Array:
        rank = np.empty_like(prediction)
        for group, sample in enumerate(self.samples):
            inside = number == group
            rank[inside] = np.searchsorted(sample, prediction[inside], side="right") / max(len(sample), 1)
        moved = np.zeros_like(prediction)
        for share, sample in zip(self.share, self.samples, strict=True):
            if len(sample):
                moved += share * np.interp(rank, np.linspace(0, 1, len(sample)), sample)
        return moved


def mixed_with(moved: Function, members: Members, data: Data, strengths: Sequence[float]) -> FittedFunctions:
    """(1 − t) f + t g(f, a) of one plain model f, for strengths t; ``moved`` is g, of predictions (row,) and a."""
    if not all(0 <= strength <= 1 for strength in strengths):
        raise InvalidInput(f"strengths={list(strengths)} was given; each must be between 0 and 1.")

    def predict(strength: float, x: Array, a: Array) -> Array:
        plain = members.predict(x)[0]
        mixed: Array = (1 - strength) * plain + strength * moved(plain, a)
        return mixed

    return FittedFunctions(tuple(partial(predict, strength) for strength in strengths), data.a.shape[1])


def moved_by_group(members: Members, groups: Groups, data: Data, strengths: Sequence[float]) -> FittedFunctions:
    """Mixtures of a plain model with the barycentre of the groups; quantiles come from the training rows."""
    quantiles = QuantileMap.of(members.predict(data.x)[0], groups.number(data.a), groups.count)
    return mixed_with(lambda plain, a: quantiles(plain, groups.number(a)), members, data, strengths)


@dataclass(frozen=True)
class Barycentre(GroupSystem):
    """A plain network, moved by group (Chzhen et al., NeurIPS 2020). It needs A to predict.

    A strength t mixes (1 − t) f + t g; 1 gives every group the same distribution, up to ranks of 1/n.
    """

    name: ClassVar[str] = "barycentre"
    uses_attributes: ClassVar[bool] = True

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> FittedFunctions:
        groups = self.groups(data, setup)
        members = plain_network(data.x, data.y, setup, self.learning_rate)
        return moved_by_group(members, groups, data, strengths)


SMALLEST_SCALE = 0.1  # of s(a), as a share of its root mean square: the fitted variance may fall below zero


@dataclass(frozen=True)
class LocationScale:
    r"""g(f, a) = E h(A) + E s(A) · (f − h(a)) / s(a), with h(a) = E[f|a] and s²(a) = Var(f|a).

    Distributions of f given a that differ in location and scale only, such as Gaussians, have this barycentre (Le Gouic
    et al. 2020). h and s² are smoothed on the training rows, each with a ridge of its own. Shapes: moments f and
    (f − h)² (2, row), ridges (2,).
    """

    smoother: LinearSmoother
    moments: Array
    ridges: Array
    training: Array

    @classmethod
    def of(cls, prediction: Array, a: Array, seed: int) -> Self:
        smoother, rows = RandomFeaturesMean().prepare(Attributes(a), seed=seed), prediction[None]
        ridge = smoother.choose_ridge(rows)
        square = np.square(rows - smoother.apply(rows, ridge))
        return cls(smoother, np.concatenate([rows, square]), np.append(ridge, smoother.choose_ridge(square)), a)

    def location_and_scale(self, a: Array) -> tuple[Array, Array]:
        """h and s, (row,) each."""
        mean, square = self.smoother.predict(self.moments, self.ridges, Attributes(a))
        least = max(SMALLEST_SCALE**2 * float(self.moments[1].mean()), 1e-12)
        return mean, np.sqrt(square.clip(min=least))

    def __call__(self, prediction: Array, a: Array) -> Array:
        (mean, scale), (means, scales) = map(self.location_and_scale, (a, self.training))
        moved: Array = means.mean() + scales.mean() * (prediction - mean) / scale
        return moved


@dataclass(frozen=True)
class ContinuousBarycentre(System):
    """A plain network, moved by A itself, without groups. It needs A to predict.

    A strength t mixes (1 − t) f + t g, as in :class:`~fairlevel_study.systems.barycentres.Barycentre`.
    """

    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "barycentre_continuous"
    uses_attributes: ClassVar[bool] = True

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> FittedFunctions:
        members = plain_network(data.x, data.y, setup, self.learning_rate)
        moved = LocationScale.of(members.predict(data.x)[0], data.a, setup.seed)
        return mixed_with(moved, members, data, strengths)


def cuts_between(score: Array, prediction: Array, cells: int) -> Array:
    """Edges between intervals of ``score`` whose average predictions differ most, as a regression tree finds them:
    score and prediction (row,) -> at most (cells − 1,), ascending.
    """
    if cells < 2:
        raise InvalidInput(f"bins={cells} was given; grouping needs at least 2.")
    tree = DecisionTreeRegressor(max_leaf_nodes=cells).fit(score[:, None], prediction).tree_
    edges: Array = np.sort(tree.threshold[tree.feature >= 0])
    return edges


@dataclass(frozen=True)
class FairnessAwareGrouping(System):
    """Groups found in A, then the barycentre of these groups (after Shilova et al. 2025). It needs A to predict.

    One attribute is cut into intervals; several are ordered by the smoothed average prediction E[f|A] first. A strength
    t mixes (1 − t) f + t g.
    """

    bins: int = 4
    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "grouping"
    uses_attributes: ClassVar[bool] = True

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> FittedFunctions:
        members = plain_network(data.x, data.y, setup, self.learning_rate)
        prediction = members.predict(data.x)[0]
        smoothed = LocationScale.of(prediction, data.a, setup.seed)

        def score(a: Array) -> Array:
            return a[:, 0] if a.shape[1] == 1 else smoothed.location_and_scale(a)[0]

        edges = cuts_between(score(data.a), prediction, self.bins)
        return moved_by_group(members, Groups.intervals(edges, score), data, strengths)
