"""What a system of another shape offers, and how it becomes the candidates of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar, NamedTuple, Self

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates import CandidateSet, Limits, TrainingSetup
from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, candidate_table
from fairlevel.candidates.protocol import CandidateRows, Report
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.refinement import check_weights, coarse
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
        return setup.evaluated(reduce(CandidateSet.joined, parts))

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
