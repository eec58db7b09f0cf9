"""DPVar of any number of predictions on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.estimators import estimator_for
from fairlevel.metrics.evidence import Estimator, Evidence, StandardisedPredictions
from fairlevel.metrics.inputs import read_vector
from fairlevel.metrics.interval import DPVarInterval, interval_of
from fairlevel.threads import on_single_threads


@dataclass(frozen=True)
class DPVarEvaluator:
    """What depends on the attributes is computed once. For both errors and intervals of the same predictions, compute
    the evidence once and pass it to :func:`error_of` and :func:`interval_of`.

    Shapes: attributes of the rows (row, attribute); predictions (config, row).
    """

    rows: Attributes
    seed: int

    @cached_property
    def estimator(self) -> Estimator:
        return estimator_for(self.rows, None, self.seed)

    def evidence(self, predictions: Array) -> list[Evidence]:
        """What errors and intervals need, one entry per prediction."""
        read = np.stack([read_vector("y_pred", prediction) for prediction in predictions])
        standardised, varying = StandardisedPredictions.of(read, self.rows.counts)
        evidence = [Evidence.of_constant() for _ in predictions]
        if varying:
            for config, measured in zip(varying, self.estimator.evidence(standardised), strict=True):
                evidence[config] = measured
        return evidence

    def intervals(self, predictions: Array) -> list[DPVarInterval]:
        """The 95 % interval of each prediction."""
        return on_single_threads(*(partial(interval_of, each) for each in self.evidence(predictions)))
