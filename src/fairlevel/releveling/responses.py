"""How the total of a model becomes its prediction, and the corrections that fit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, logit

from fairlevel.arrays import Array
from fairlevel.corrections.closed_form import CorrectionPath, Disparity
from fairlevel.corrections.columns import Columns
from fairlevel.corrections.logistic import LogisticCorrections, keeping_mean
from fairlevel.fronts.combiners import Best, Combiner, Stacked

KEPT = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""By how much log-odds are multiplied: shrinking is one more way to less disparity."""


@dataclass(frozen=True)
class Corrections:
    """Totals become kept · total + Φ u + intercept. Shapes: coefficients u (candidate, column), kept and intercepts
    (candidate,).
    """

    coefficients: Array
    kept: Array
    intercepts: Array


class Response(Protocol):
    """From totals to predictions."""

    @property
    def combiner(self) -> Combiner:
        """How a model is made from candidates: mixtures where they can be written as one model of the same type."""

    @property
    def starts(self) -> tuple[float, ...]:
        """From how much of the move of leaves towards y corrections start; mixtures with the model as it is reach less
        of it.
        """

    def prediction(self, total: Array) -> Array:
        """Of the shape of the total."""

    def total(self, prediction: float) -> float:
        """The total that gives a prediction."""

    def curvature(self, total: Array) -> Array:
        """The second derivative of the loss in the total, of its shape; the first one is prediction − y."""

    def corrections(self, columns: Columns, total: Array, disparity: Disparity, ridges: Sequence[float]) -> Corrections:
        """Candidates that change the model little and level it; ``disparity`` is that of its predictions."""


@dataclass(frozen=True)
class Number:
    """The total is the prediction. Candidates can be mixed, and mixing with the constant shrinks them."""

    combiner: Combiner = Stacked()
    starts: tuple[float, ...] = (1.0,)

    def prediction(self, total: Array) -> Array:
        return total

    def total(self, prediction: float) -> float:
        return prediction

    def curvature(self, total: Array) -> Array:
        return np.ones_like(total)

    def corrections(self, columns: Columns, total: Array, disparity: Disparity, ridges: Sequence[float]) -> Corrections:
        paths = CorrectionPath.all(columns, total, disparity, ridges)
        coefficients = np.concatenate([path.coefficients() for path in paths])
        intercepts = -columns.apply(coefficients) @ disparity.row_weight
        return Corrections(coefficients, np.ones(len(coefficients)), intercepts)


@dataclass(frozen=True)
class LogOdds:
    """The total are log-odds, the prediction is a probability. A mixture of probabilities is no model of the same type,
    so single candidates are taken, each of them also shrunk towards the constant.
    """

    combiner: Combiner = Best()
    starts: tuple[float, ...] = (0.0, 1.0)

    def prediction(self, total: Array) -> Array:
        return expit(total)

    def total(self, prediction: float) -> float:
        return float(logit(prediction))

    def curvature(self, total: Array) -> Array:
        probability = expit(total)
        curvature: Array = probability * (1 - probability)
        return curvature

    def corrections(self, columns: Columns, total: Array, disparity: Disparity, ridges: Sequence[float]) -> Corrections:
        mean = float(disparity.row_weight @ expit(total))
        found = LogisticCorrections.all(columns, total, disparity, ridges)
        points = [point for each in found for point in each.points]
        coefficients = np.stack([np.zeros_like(points[0].u), *(point.u for point in points)])
        log_odds = np.stack([total, *(point.log_odds for point in points)])
        before = np.array([0.0, *(point.intercept for point in points)])
        shifts = [keeping_mean(kept * log_odds, disparity.row_weight, mean) for kept in KEPT]
        return Corrections(
            np.concatenate([kept * coefficients for kept in KEPT]),
            np.repeat(KEPT, len(coefficients)),
            np.concatenate([kept * before + shift for kept, shift in zip(KEPT, shifts, strict=True)]),
        )
