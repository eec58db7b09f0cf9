"""A model that exists, as re-levelling sees it: totals that columns are added to, and how they become predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import CorrectionPath, Disparity
from fairlevel.corrections.columns import DenseColumns
from fairlevel.corrections.logistic import keeping_mean, logistic_corrections
from fairlevel.fronts.combiners import Best, Combiner, Stacked

UNNAMED: tuple[Any, Any] = (0, 1)
"""The classes of a model that knows no names for them."""

KEPT = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""By how much log-odds are multiplied: shrinking is one more way to less disparity."""


@dataclass(frozen=True)
class Family:
    """Columns that may be added to the total of a model, the ridges ρ with which they are used, and what the model
    needs to write them down.
    """

    columns: DenseColumns
    ridges: tuple[float, ...]
    written: Any
    starts: bool = False
    """Whether the last column is a start: it is added, whole, before any of the others."""


@dataclass(frozen=True)
class Corrections:
    """Candidates: totals become kept · total + Φ u + intercept. Shapes: coefficients u (candidate, column), kept and
    intercepts (candidate,).
    """

    coefficients: Array
    kept: Array
    intercepts: Array

    def mixed(self, proportions: Array) -> Corrections:
        """One candidate, the mixture in these proportions, (candidate,)."""
        one = proportions[None]
        return Corrections(one @ self.coefficients, one @ self.kept, one @ self.intercepts)

    def totals(self, columns: DenseColumns, total: Array) -> Array:
        """What totals (row,) become, (candidate, row)."""
        return columns.apply(self.coefficients) + self.kept[:, None] * total + self.intercepts[:, None]


class Response:
    """From totals to predictions. Here the total is the prediction: candidates can be mixed, and mixing with the
    constant shrinks them.
    """

    combiner: Combiner = Stacked()
    """How a model is made from candidates: mixtures where they can be written as one model of the same type."""

    starts: tuple[float, ...] = (1.0,)
    """From how much of the move of leaves towards y corrections start; mixtures with the model as it is reach less."""

    def prediction(self, total: Array) -> Array:
        """Of the shape of the total."""
        return total

    def total(self, prediction: float) -> float:
        """The total that gives a prediction."""
        return prediction

    def curvature(self, total: Array) -> Array:
        """The second derivative of the loss in the total, of its shape; the first one is prediction − y."""
        return np.ones_like(total)

    def corrections(
        self, columns: DenseColumns, total: Array, disparity: Disparity, ridges: Sequence[float]
    ) -> Corrections:
        """Candidates that change the model little and level it; ``disparity`` is that of its predictions."""
        paths = CorrectionPath.all(columns, total, disparity, ridges)
        coefficients = np.concatenate([path.coefficients() for path in paths])
        intercepts = -columns.apply(coefficients) @ disparity.row_weight
        return Corrections(coefficients, np.ones(len(coefficients)), intercepts)


class LogOdds(Response):
    """The total are log-odds, the prediction is a probability. A mixture of probabilities is no model of the same type,
    so single candidates are taken, each of them also shrunk towards the constant.
    """

    combiner: Combiner = Best()
    starts: tuple[float, ...] = (0.0, 1.0)

    def prediction(self, total: Array) -> Array:
        return np.asarray(expit(total))

    def total(self, prediction: float) -> float:
        return float(logit(prediction))

    def curvature(self, total: Array) -> Array:
        probability = self.prediction(total)
        return probability * (1 - probability)

    def corrections(
        self, columns: DenseColumns, total: Array, disparity: Disparity, ridges: Sequence[float]
    ) -> Corrections:
        mean = float(disparity.row_weight @ expit(total))
        points = logistic_corrections(columns, total, disparity, ridges)
        coefficients = np.stack([np.zeros_like(points[0].u), *(point.u for point in points)])
        log_odds = np.stack([total, *(point.log_odds for point in points)])
        before = np.array([0.0, *(point.intercept for point in points)])
        shifts = [keeping_mean(kept * log_odds, disparity.row_weight, mean) for kept in KEPT]
        return Corrections(
            np.concatenate([kept * coefficients for kept in KEPT]),
            np.repeat(KEPT, len(coefficients)),
            np.concatenate([kept * before + shift for kept, shift in zip(KEPT, shifts, strict=True)]),
        )


@dataclass(frozen=True)
class ExistingModel(ABC):
    """A fitted model on the rows given. ``total``, (row,), is what columns are added to: the prediction of a regressor,
    the log-odds of most classifiers. ``classes`` are both classes of a classifier, in its order; None for numbers.
    """

    original: Any
    total: Array
    response: Response
    classes: tuple[Any, Any] | None

    @property
    def prediction(self) -> Array:
        """f0, (row,): a number, or the probability of the second class."""
        return self.response.prediction(self.total)

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, in words for a report."""

    @property
    @abstractmethod
    def unchanged(self) -> Any:
        """The model as it was given."""

    @property
    def seen(self) -> bool:
        """Whether these are certainly the rows that it was trained on."""
        return False

    @abstractmethod
    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> tuple[Family, ...]:
        """Columns that may be added to it, at all rows. Where columns are found by training, ``rows`` train them, and
        ``disparity`` is that of the model on those rows. ``target`` is y of those rows, where it is known and the model
        has not seen it.
        """

    @abstractmethod
    def changed(self, families: Sequence[Family], mixture: Sequence[Corrections]) -> Any:
        """The model after a mixture, which holds one candidate for each family; their totals add up. A model of the
        same type where that is possible.
        """
