"""How DPVar is estimated with each kind of conditional mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import ConditionalMean, kind_of
from fairlevel.extras import networks
from fairlevel.metrics.evidence import Estimator
from fairlevel.metrics.linear_estimator import LinearEstimator

Regressor = ConditionalMean | Sequence[Any] | None
"""One conditional mean, or linear ones that join the default choice, or that choice alone."""


def estimator_for(rows: Attributes, regressor: Regressor, seed: int) -> Estimator:
    """The estimator on these rows: leave-one-out for linear means, cross-fitting for those that are trained. Without
    a regressor, the best linear mean of each prediction is used.
    """
    means: Any = regressor if isinstance(regressor, list | tuple) else (regressor,)
    kinds = {kind_of(mean) for mean in means if mean is not None}
    if "trained" in kinds:
        estimator: Estimator = networks("trained_estimator").CrossFittedEstimator(rows, regressor, seed)
        return estimator
    return LinearEstimator(rows, regressor, seed)  # type: ignore[arg-type]
