"""What an interval needs to know about one prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.data.numbers import rounding_limit
from fairlevel.metrics.units import Units

CONSTANT = "none needed: the prediction is constant"
ONE_PROFILE = "none needed: the attributes are constant"


@dataclass(frozen=True)
class Evidence:
    """The estimate of one prediction and its uncertainty, on the scale of Var(f) = 1.

    Parameters
    ----------
    variance : Var(f) in the user's units; 0 for a constant prediction
    estimate : debiased DPVar
    fitted_variance : Σ w ĥ², with ĥ(a_i) less its mean
    influence : sums over independent units of products of their sums of w (r ĥ, ĥ², f², 1), (4, 4), with r the noise of
        each row: the variance of any combination of their means
    degenerate : variance of the estimate that is left when DPVar = 0
    test : computes the p-value of the test of DPVar = 0
    regressor : the conditional mean in words
    learnt : how many functions of A in it were learnt from predictions
    informative : False where the rows are too few for the attributes: then only DPVar ≤ Var(f) is known
    spent : share of the rows that functions of L cost, as degrees of freedom
    """

    variance: float
    estimate: float
    fitted_variance: float
    influence: Array
    degenerate: float
    test: Callable[[], float]
    regressor: str
    learnt: int = 0
    informative: bool = True
    spent: float = 0.0

    @property
    def p_value(self) -> float:
        """The p-value of DPVar = 0: the larger one of the test and of the estimate, so that the test rejects where the
        interval is above 0, and only there. The test is made when it is first asked for.
        """
        if "_p_value" not in self.__dict__:  # before Python 3.12 one lock of cached_property serves all instances
            self.__dict__["_p_value"] = max(self.test(), self._p_value_of_estimate)
        p_value: float = self.__dict__["_p_value"]
        return p_value

    @property
    def _p_value_of_estimate(self) -> float:
        """Two-sided, where the estimate is normal with the variance that it has at DPVar = 0."""
        if self.estimate <= 0:
            return 1.0
        return math.erfc(self.estimate / math.sqrt(2 * self.degenerate)) if self.degenerate > 0 else 0.0

    def squared_error(self, *combination: float) -> float:
        """The variance of the weighted mean of a combination of (r ĥ, ĥ², f², 1), which has mean zero: for as many
        fewer rows as functions of L cost.
        """
        factors = np.array(combination)
        return max(float(factors @ self.influence @ factors), 0.0) / (1 - self.spent)

    @classmethod
    def of_constant(cls, regressor: str = CONSTANT) -> Evidence:
        """Of a prediction, or of attributes, that do not vary: DPVar is 0, whatever the rows."""
        return cls(0.0, 0.0, 0.0, np.zeros((4, 4)), 0.0, lambda: 1.0, regressor)


def influence_sums(
    prediction: Array, fitted: Array, residual: Array, row_weight: Array, units: Units
) -> dict[str, Any]:
    """``fitted_variance`` and ``influence`` from a prediction, ĥ and the noise of each row, (row,) each."""
    parts = np.stack([residual * fitted, fitted**2, prediction**2, np.ones_like(fitted)], axis=1)
    sums = units.sums(parts * row_weight[:, None])
    return {"fitted_variance": float(row_weight @ fitted**2), "influence": sums.T @ sums}


@dataclass(frozen=True)
class StandardisedPredictions:
    """The predictions that vary, with mean 0 and variance 1, and what they had before.

    Shapes: values (config, row), configs, their numbers among all predictions, (config,), variance (config,),
    row_weight (row,) summing to 1.
    """

    values: Array
    configs: Index
    variance: Array
    row_weight: Array

    @classmethod
    def of(cls, predictions: Array | Sequence[Array], row_weight: Array) -> StandardisedPredictions:
        """From predictions (config, row) and row weights on any scale, (row,)."""
        predictions = np.asarray(predictions, dtype=np.float64)
        used = predictions[:, row_weight > 0]
        varying = np.flatnonzero(np.ptp(used, axis=1) > rounding_limit(used))
        chosen = predictions[varying]
        mean = np.average(chosen, axis=1, weights=row_weight)[:, None]
        variance = np.average((chosen - mean) ** 2, axis=1, weights=row_weight)
        values = (chosen - mean) / np.sqrt(variance)[:, None]
        return cls(values, varying, variance, row_weight / row_weight.sum())
