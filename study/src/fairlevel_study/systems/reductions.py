"""Reductions: re-weighted fits of any learner, by fairlearn's own grid search with bounded group loss."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fairlevel.arrays import Array
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.exceptions import InvalidInput
from fairlevel.members.networks import NetworkMembers
from fairlevel_study.systems.groups import groups_of
from fairlevel_study.systems.networks import plain_network
from fairlevel_study.systems.protocol import Data


class WeightedNetwork:
    """The study's network as fairlearn calls a learner."""

    def __init__(self, setup: TrainingSetup, learning_rate: float) -> None:
        self.setup, self.learning_rate = setup, learning_rate

    def fit(self, X: Array, y: Any, sample_weight: Any) -> Self:
        """X (row, feature), y and sample_weight (row,)."""
        target, weight = np.array(y, dtype=np.float64), np.array(sample_weight, dtype=np.float64)
        self.members = plain_network(X, target, self.setup, self.learning_rate, weight)
        return self

    def predict(self, X: Array) -> Array:
        prediction: Array = self.members.predict(X)[0]
        return prediction


@dataclass(frozen=True)
class Reductions:
    """Grid search over multipliers of the groups' losses (Agarwal et al. 2018, 2019), done by fairlearn.

    One model per strength; which multipliers they get is fairlearn's grid, up to ``largest``. Its exponentiated
    gradient trains up to five models in each of its steps, so that it does not fit into an equal number of models.
    """

    bins: int | None = 4
    largest: float = 2.0
    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "reductions"
    uses_attributes: ClassVar[bool] = False

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> NetworkMembers:
        try:
            from fairlearn.reductions import BoundedGroupLoss, GridSearch, SquareLoss
        except ImportError:
            raise InvalidInput(
                "reductions are fairlearn's; install it with pip install 'fairlevel-study[peers]'."
            ) from None
        group = groups_of(self.name, data.a, self.bins, setup.seed).number(data.a)
        loss = SquareLoss(float(data.y.min()), float(data.y.max()))
        search = GridSearch(
            WeightedNetwork(setup, self.learning_rate),
            BoundedGroupLoss(loss),
            grid_size=len(strengths),
            grid_limit=self.largest,
        )
        with warnings.catch_warnings():  # fairlearn uses what pandas is going to drop
            warnings.simplefilter("ignore")
            search.fit(data.x, data.y, sensitive_features=group)
        trained: list[NetworkMembers] = [predictor.members for predictor in search.predictors_]
        return trained[0].join(trained[1:])
