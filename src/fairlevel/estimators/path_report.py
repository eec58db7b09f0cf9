"""What a fitted path keeps for its report: sums over the reporting rows, and no row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.data.table import Table
from fairlevel.metrics.profile import MeanProfile, attribute_profiles, quantiles
from fairlevel.metrics.reliability import Reliability, reliability

if TYPE_CHECKING:
    from fairlevel.estimators.path_fit import ReportingRows

QUANTILES = 201  # of the conditional means


@dataclass(frozen=True)
class PathReport:
    """Of each model of a front: profiles along the attributes, how E[f | A] is distributed (model, quantile), and for
    two classes how reliable probabilities are; and how many rows were given and held out.
    """

    profiles: dict[str, list[MeanProfile]]
    conditional_means: Array
    reliabilities: list[Reliability]
    rows: int
    held_out_rows: int

    @classmethod
    def of(cls, reporting: ReportingRows, table: Table, models: Index, classifies: bool) -> PathReport:
        """For some of the models."""
        weight, predictions = reporting.attributes.row_weight, reporting.predictions[models]
        probabilities = np.clip(predictions, 0, 1) if classifies else predictions[:0]
        return cls(
            attribute_profiles(predictions, reporting.sensitive, weight, reporting.attributes.groups),
            quantiles(reporting.conditional_means[models], QUANTILES, weight),
            [reliability(reporting.target, of_model, sample_weight=weight) for of_model in probabilities],
            len(table),
            len(reporting.target),
        )


def settings_in_words(values: Mapping[str, object]) -> dict[str, str]:
    """Settings as a page shows them: those that were left alone have no value."""
    return {name.replace("_", " "): str(value) for name, value in values.items() if value is not None}
