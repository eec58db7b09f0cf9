"""What trains candidates, and with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.data.scaling import Scaler
from fairlevel.losses import Loss, SquaredLoss
from fairlevel.predictors import Predictor
from fairlevel.training.rows import AllRows, TrainingRows

PLAIN_RATE = 0.1
"""The step size for which the settings of a grid are written, that of plain gradient descent."""

Report = Callable[[float], None]
"""Called with the share of the work that is done."""


def portion(report: Report, number: int, count: int) -> Report:
    """The report of one of several equal portions of the work."""
    return lambda share: report((number + share) / count)


@dataclass(frozen=True)
class TrainingSetup:
    """What candidates are trained with.

    ``optimizer`` is that of networks, None for other predictors; ``rate_scale`` multiplies the step size of every
    setting.
    """

    predictor: Predictor
    optimizer: Any
    seed: int
    device: str = "auto"
    rate_scale: float = 1.0
    loss: Loss = SquaredLoss()

    @classmethod
    def at_rate_of(cls, predictor: Predictor, optimizer: Any, seed: int, device: str) -> TrainingSetup:
        """Settings that name no step size of their own get that of the optimiser."""
        return cls(predictor, optimizer, seed, device, optimizer.learning_rate / PLAIN_RATE if optimizer else 1.0)

    def choices(self) -> list[TrainingSetup]:
        """This setup with each predictor that held-out rows may choose, the usual one first."""
        return [replace(self, predictor=predictor) for predictor in self.predictor.choices()]


def for_columns(predictor: Predictor, categorical: tuple[int, ...]) -> Predictor:
    """The predictor, knowing which columns hold categories if it can read them; columns that the user named stay."""
    if not categorical or not predictor.native or getattr(predictor, "categorical", None):
        return predictor
    reader: Any = predictor
    return replace(reader, categorical=categorical)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Limits:
    """How many candidates a source may train.

    Parameters
    ----------
    models : in all; a source of several families divides them
    settings : settings of one family
    weights : penalty weights of one setting
    """

    models: int
    settings: int
    weights: int


PATH_LIMITS = Limits(models=24, settings=4, weights=12)
"""What a fitted path trains: as many models as a method of the study under the protocol ``medium``."""


@dataclass(frozen=True)
class CandidateRows:
    """Rows to train on, and rows that decide when to stop, if any. Where ``steps`` are given, each candidate ends after
    its own number instead. Columns whose numbers are in ``categorical`` hold categories; ``gaps`` says whether features
    are missing somewhere; ``y_scaler`` standardised the target, the identity where it came standardised.
    """

    training: AllRows
    held_out: TrainingRows | None = None
    steps: Mapping[CandidateKey, int] | None = None
    categorical: tuple[int, ...] = ()
    gaps: bool = False
    y_scaler: Scaler = Scaler(np.asarray(0.0), np.asarray(1.0))

    def suits(self, predictor: Predictor) -> bool:
        """Whether a predictor can read these features."""
        return predictor.native or not (self.categorical or self.gaps)


@runtime_checkable
class CandidateSource(Protocol):
    """Something that trains candidates."""

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        """All candidates within the limits."""

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        """Whether these rows and this predictor suit it; among several families it is left out where not."""


@dataclass(frozen=True)
class Recipe:
    """What is trained: the candidates of a source, with a setup, within limits."""

    source: CandidateSource
    setup: TrainingSetup
    limits: Limits

    def train(self, rows: CandidateRows, report: Report) -> CandidateSet:
        """All candidates, trained on these rows."""
        return self.source.train(rows, self.setup, self.limits, report)
