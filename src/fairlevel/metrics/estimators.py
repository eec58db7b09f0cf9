"""How DPVar is estimated with each kind of conditional mean."""

from __future__ import annotations

from typing import Any, Protocol

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import ConditionalMean, kind_of
from fairlevel.metrics.evidence import Estimator
from fairlevel.metrics.linear_estimators import linear_estimator
from fairlevel.metrics.trained_estimator import CrossFittedEstimator


class MakesEstimator(Protocol):
    """An estimator for some rows, a conditional mean of the kind and a seed."""

    def __call__(self, rows: Attributes, regressor: Any, seed: int) -> Estimator: ...


ESTIMATORS: dict[str, MakesEstimator] = {"linear": linear_estimator, "trained": CrossFittedEstimator}
"""By the kind of the conditional mean: leave-one-out for linear ones, cross-fitting for trained ones."""


def estimator_for(rows: Attributes, regressor: ConditionalMean | None, seed: int) -> Estimator:
    """The estimator on these rows; without a regressor, the best linear mean of each prediction is used."""
    kind = "linear" if regressor is None else kind_of(regressor)
    return ESTIMATORS[kind](rows, regressor, seed)
