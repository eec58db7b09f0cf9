"""DPVar and its evidence by cross-fitting, for means that are trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import stdtr

from fairlevel.arrays import Array
from fairlevel.conditional_mean import RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.interval import Evidence, StandardisedPredictions, influence_sums
from fairlevel.metrics.units import Units
from fairlevel.networks.diagnostic import covariance_form
from fairlevel.networks.mlp_mean import MLPMean

_FLIPS = 8


@dataclass(frozen=True)
class CrossFittedEstimator:
    """The covariance of the prediction with its out-of-fold mean; see :mod:`fairlevel.networks.diagnostic`."""

    rows: Attributes
    regressor: MLPMean
    seed: int

    def estimates(self, predictions: Array) -> Array:
        return self._covariance(predictions)[0]

    def evidence(self, predictions: StandardisedPredictions) -> list[Evidence]:
        return [self._evidence(predictions, config) for config in range(len(predictions.values))]

    def _evidence(self, predictions: StandardisedPredictions, config: int) -> Evidence:
        """The prediction with random signs has no disparity: what the estimate shows there is its noise."""
        prediction = predictions.values[config]
        random = np.random.default_rng(self.seed)
        units = Units.of(self.rows)
        flips = random.choice([-1.0, 1.0], (_FLIPS, units.count))[:, units.number]
        beyond = self._beyond_factors(prediction)
        values, fitted = self._covariance(np.vstack([prediction[None], flips * beyond]))
        estimate, null_sd = float(values[0]), float(np.sqrt(np.square(values[1:]).mean()))
        return Evidence(
            variance=float(predictions.variance[config]),
            estimate=estimate,
            degenerate=null_sd**2,
            test=lambda: _beyond(estimate / max(null_sd, 1e-300)),
            regressor=f"{self.regressor.name} ({self.regressor.describe()}, 5 folds)",
            **influence_sums(prediction, fitted[0], beyond - fitted[0], predictions.row_weight, units),
        )

    def _beyond_factors(self, prediction: Array) -> Array:
        """The prediction less what functions of L explain; it itself where there are none; (row,) -> (row,)."""
        if self.rows.given is None:
            return prediction
        nothing = Attributes(np.empty((len(self.rows), 0)), self.rows.given, self.rows.row_weight)
        beyond: Array = RidgeMean().prepare(nothing).beyond_nuisance(prediction[None])[0]
        return beyond

    def _covariance(self, predictions: Array) -> tuple[Array, Array]:
        values, fitted = covariance_form(torch.from_numpy(predictions), self.rows, self.regressor, self.seed)
        return values.numpy(), fitted.numpy()


def _beyond(statistic: float) -> float:
    """P(T > statistic) for Student's t with as many degrees of freedom as flips."""
    return float(stdtr(_FLIPS, -statistic))
