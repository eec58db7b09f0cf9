"""DPVar and its evidence by cross-fitting, for means that are trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import t as student
from torch import Tensor

from fairlevel.conditional_mean import MLPMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.crossfit import covariance_form
from fairlevel.metrics.evidence import Evidence, Standardised

_FLIPS = 8


@dataclass(frozen=True)
class CrossFitted:
    """The covariance of the prediction with its out-of-fold mean; see :mod:`fairlevel.metrics.crossfit`."""

    rows: Attributes
    regressor: MLPMean
    seed: int

    def estimates(self, predictions: Tensor) -> Tensor:
        return self._covariance(predictions)[0]

    def evidence(self, predictions: Standardised) -> list[Evidence]:
        return [self._evidence(predictions, config) for config in range(len(predictions.values))]

    def _evidence(self, predictions: Standardised, config: int) -> Evidence:
        """The prediction with random signs has no disparity: what the estimate shows there is its noise."""
        prediction = predictions.values[config]
        random = np.random.default_rng(self.seed)
        flips = random.choice([-1.0, 1.0], (_FLIPS, len(prediction)))
        signs = torch.from_numpy(np.vstack([np.ones(len(prediction)), flips]))
        values, fitted = self._covariance(signs * prediction)
        estimate, null_sd = float(values[0]), float(values[1:].square().mean().sqrt())
        return Evidence(
            prediction=prediction,
            row_weight=predictions.row_weight,
            variance=float(predictions.variance[config]),
            estimate=estimate,
            fitted=fitted[0],
            residual=prediction - fitted[0],
            degenerate=null_sd**2,
            test=lambda: float(student.sf(estimate / max(null_sd, 1e-300), _FLIPS)),
            regressor=f"{self.regressor.name} ({self.regressor.describe()}, 5 folds)",
        )

    def _covariance(self, predictions: Tensor) -> tuple[Tensor, Tensor]:
        row_weight = np.ones(len(self.rows)) if self.rows.row_weight is None else self.rows.row_weight
        return covariance_form(predictions, self.rows.values, row_weight, self.regressor, self.seed)
