"""A model that exists, as re-levelling sees it: totals that columns are added to, and how they become predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import CorrectionPath, Disparity, spanned_by_rows
from fairlevel.corrections.logistic import keeping_mean, logistic_corrections
from fairlevel.fronts.combiners import Best, Combiner, Stacked

UNNAMED: tuple[Any, Any] = (0, 1)
"""The classes of a model that knows no names for them."""

KEPT = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""By how much log-odds are multiplied: shrinking is one more way to less disparity."""


@dataclass(frozen=True)
class Family:
    """Columns Φ (row, column) that may be added to a total s (row,), the ridges ρ with which they are used, and what
    the model needs to write the total and the columns down. The total may have ``learned`` from y; it is then a
    candidate, too.
    """

    start: Array
    columns: Any
    ridges: tuple[float, ...]
    start_written: Any
    written: Any
    learned: bool = False


@dataclass(frozen=True)
class Corrections:
    """Candidates of a family: totals become kept · s + Φ u + intercept. Shapes: coefficients u (candidate, column),
    kept and intercepts (candidate,).
    """

    coefficients: Array
    kept: Array
    intercepts: Array

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def with_start(self) -> Corrections:
        """These after the start as it is."""
        none = np.zeros_like(self.coefficients[:1])
        kept, intercepts = np.append(1.0, self.kept), np.append(0.0, self.intercepts)
        return Corrections(np.vstack([none, self.coefficients]), kept, intercepts)

    def mixed(self, proportions: Array) -> Corrections:
        """One candidate, the mixture in these proportions, (candidate,)."""
        one = proportions[None]
        return Corrections(one @ self.coefficients, one @ self.kept, one @ self.intercepts)

    def totals(self, family: Family, rows: Index) -> Array:
        """What totals of some rows become, (candidate, row)."""
        added = (family.columns[rows] @ self.coefficients.T).T
        return np.asarray(added + self.kept[:, None] * family.start[rows] + self.intercepts[:, None])


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

    def level(self, columns: Any, start: Array, disparity: Disparity, ridges: Sequence[float]) -> Corrections:
        """Candidates that change a model little and level it, from totals (row,); ``disparity`` is that of the model's
        predictions.
        """
        paths = CorrectionPath.all(columns, start, disparity, ridges)
        coefficients = np.concatenate([path.coefficients() for path in paths])
        intercepts = -coefficients @ (columns.T @ disparity.row_weight)
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

    def level(self, columns: Any, start: Array, disparity: Disparity, ridges: Sequence[float]) -> Corrections:
        mean = float(disparity.row_weight @ expit(start))
        points = logistic_corrections(columns, start, disparity, ridges)
        coefficients = np.stack([np.zeros_like(points[0].u), *(point.u for point in points)])
        log_odds = np.stack([start, *(point.log_odds for point in points)])
        before = np.array([0.0, *(point.intercept for point in points)])
        shifts = [keeping_mean(kept * log_odds, disparity.row_weight, mean) for kept in KEPT]
        return Corrections(
            np.concatenate([kept * coefficients for kept in KEPT]),
            np.repeat(KEPT, len(coefficients)),
            np.concatenate([kept * before + shift for kept, shift in zip(KEPT, shifts, strict=True)]),
        )


def corrections(response: Response, family: Family, rows: Index, disparity: Disparity) -> Corrections:
    """The candidates of a family that some rows give; ``disparity`` is that of the model's predictions there. Where
    columns outnumber rows, the problem is solved in the space that the rows span.
    """
    columns = family.columns[rows]
    fewer, turn = spanned_by_rows(columns)
    ridges = [ridge * fewer.shape[1] / columns.shape[1] for ridge in family.ridges]  # of traces over numbers of columns
    level = response.level(fewer, family.start[rows], disparity, ridges)
    if turn is not None:
        level = replace(level, coefficients=np.asarray((columns.T @ (turn @ level.coefficients.T)).T))
    return level.with_start if family.learned else level


@dataclass(frozen=True)
class ExistingModel(ABC):
    """A fitted model on the rows given. ``total``, (row,), is what columns are added to: the prediction of a regressor,
    the log-odds of most classifiers. ``classes`` are both classes of a classifier, in its order; None for numbers.
    ``kind`` says in words what it is.
    """

    original: Any
    kind: str
    total: Array
    response: Response
    classes: tuple[Any, Any] | None

    @property
    def prediction(self) -> Array:
        """f0, (row,): a number, or the probability of the second class."""
        return self.response.prediction(self.total)

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
    def changed(self, families: Sequence[Family], mixture: Sequence[Corrections], kept: float, constant: float) -> Any:
        """The model times ``kept``, a constant, and one candidate of each family, whose totals add up. A model of the
        same type where that is possible.
        """
