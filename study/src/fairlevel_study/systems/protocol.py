"""What a system of another shape offers, how it becomes the candidates of a method, and groups made of A."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar, NamedTuple, Self

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.candidates import CandidateSet, Limits, TrainingSetup
from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, candidate_table
from fairlevel.candidates.penalty_grid import check_weights, coarse
from fairlevel.candidates.protocol import PLAIN_RATE, CandidateRows, Report
from fairlevel.exceptions import InvalidInput
from fairlevel.members import Members
from fairlevel.members.protocol import Device, MembersInMemory
from fairlevel.training.outcome import WORST_LOSS, Status


class Data(NamedTuple):
    """Standardised training rows. Shapes: x (row, feature) without A, y (row,), a (row, attribute)."""

    x: Array
    y: Array
    a: Array


class System(ABC):
    """One frozen dataclass per system, its settings as fields.

    ``uses_attributes`` says whether it needs A to predict: such a system is a reference, since nobody else in the study
    sees A then. What a strength means is up to the system; its docstring says so.
    """

    name: ClassVar[str]
    uses_attributes: ClassVar[bool] = False

    @abstractmethod
    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> Members:
        """One model per strength. Models of a system that uses A read x and A side by side."""


Function = Callable[[Array, Array], Array]
"""x (row, feature), or predictions (row,) to be moved, and a (row, attribute) -> predictions (row,)."""


@dataclass(frozen=True)
class FittedFunctions(MembersInMemory):
    """Fitted functions of x and A; the last ``attributes`` columns of the rows they read are A (none: x alone)."""

    functions: tuple[Function, ...]
    attributes: int

    kind: ClassVar[str] = "fitted_functions"
    native: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.functions)

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        features = x.shape[1] - self.attributes
        return np.stack([function(x[:, :features], x[:, features:]) for function in self.functions])

    def take(self, index: Index) -> Self:
        return replace(self, functions=tuple(self.functions[number] for number in index))

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, functions=sum((other.functions for other in others), self.functions))

    def refusal(self, what: str) -> InvalidInput:
        return InvalidInput(
            "Systems that the study compares with have no file format; use a penalty, such as penalty='fbo_closed', "
            "for a model to keep."
        )


@dataclass(frozen=True)
class SystemGrid:
    """Settings of one system × strengths, one model each. The most sensible settings come first."""

    settings: tuple[System, ...]
    strengths: tuple[float, ...]

    def __post_init__(self) -> None:
        check_weights(self.strengths)

    @property
    def name(self) -> str:
        """That of the system."""
        return self.settings[0].name

    @property
    def uses_attributes(self) -> bool:
        """Whether its models read A behind the features."""
        return self.settings[0].uses_attributes

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return rows.suits(setup.predictor) and setup.loss.quadratic

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        data = self._data(rows, setup)
        settings = self.settings[: limits.settings]
        strengths = coarse(self.strengths, max(limits.weights, limits.models // len(settings)))
        parts = []
        for number, system in enumerate(settings):
            parts.append(self._candidates(system, number, data, strengths.tolist(), setup))
            report((number + 1) / len(settings))
        return reduce(CandidateSet.joined, parts)

    def _data(self, rows: CandidateRows, setup: TrainingSetup) -> Data:
        """Training rows as the study has them, or a sentence that says that this system takes no others."""
        training = rows.training.rows
        plain = self.possible(rows, setup) and training.attributes is not None and training.row_weight is None
        if not plain or training.some_attributes.given is not None:
            raise InvalidInput(
                f"{self.name} takes a regression on numbers without gaps, with sensitive attributes and without row "
                "weights or legitimate factors; use a penalty, such as 'fbo_closed', for anything else."
            )
        x, a = training.x, training.some_attributes.values
        if self.uses_attributes:
            x, behind = np.ascontiguousarray(x[:, : -a.shape[1]]), x[:, -a.shape[1] :]
            if not np.array_equal(behind, a):
                raise InvalidInput(
                    f"{self.name} needs A to predict, and a model of fairlevel gets X alone; compare with it in a "
                    f"study (fairlevel-study run --methods {self.name}), or use 'fbo_closed'."
                )
        return Data(x, training.y, a)

    def _candidates(
        self, system: System, setting: int, data: Data, strengths: list[float], setup: TrainingSetup
    ) -> CandidateSet:
        members = system.fit(data, strengths, setup)
        x = np.hstack([data.x, data.a]) if self.uses_attributes else data.x
        error = ((members.predict(x, "cpu") - data.y) ** 2).mean(axis=1)
        usable = np.isfinite(error) & (error <= WORST_LOSS * data.y.var())
        keys = [CandidateKey(self.name, strength, setting) for strength in strengths[: len(members)]]
        table = candidate_table(
            keys,
            setup.predictor.name,
            setup.optimizer.steps,
            learning_rate=getattr(system, "learning_rate", np.nan) * setup.rate_scale,
            status=[Status.FINISHED.value if good else Status.DIVERGED.value for good in usable],
            loss=error,
        )
        index = np.flatnonzero(usable)
        return CandidateSet(table, (members.take(index),), np.eye(len(index)), (NO_HISTORY,) * len(table))


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
