r"""The spectral path: two trained members per step size, then every trade-off from one eigendecomposition per ridge.

With centred features F of x (what the last linear step of trained members reads), a linear smoother S of A and f = F w,

.. math:: w(\alpha) = \arg\min_w \tfrac1n \|F w - y\|^2 + \lambda \|w\|^2 + \alpha\, \tfrac1n w^\top F^\top S F w .

The generalised eigenvectors V of FᵀSF/n beside M = FᵀF/n + λI, VᵀMV = 1, with values d, give every α at once:
w(α) = V (z / (1 + αd)) with z = VᵀFᵀy/n, and DPVar(α) = Σ d z² / (1 + αd)², which falls in α.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from fairlevel.arrays import Array
from fairlevel.candidates.candidate_set import NO_HISTORY, CandidateKey, CandidateSet, candidate_table
from fairlevel.candidates.network_features import fitted_network
from fairlevel.candidates.penalty_grid import PenaltyGrid, Setting, check_weights, coarse
from fairlevel.candidates.protocol import PLAIN_RATE, CandidateRows, Limits, Report, TrainingSetup, portion
from fairlevel.conditional_mean import LinearMean, RandomFeaturesMean
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.choice import tuned_mean
from fairlevel.penalties import ClosedFBO
from fairlevel.predictors.linear import leave_one_out_ridge
from fairlevel.training.outcome import Status
from fairlevel.training.rows import TrainingRows

MOST_HALVINGS = 4  # of a step size at which both members diverge


@dataclass(frozen=True)
class Head:
    """A setting of the path: the ridge of the head, as a multiple of the mean second moment of its features, and the
    step size of the two members below it. Where features do not depend on training, the ridge is a larger one if rows
    that are left out ask for it.
    """

    ridge: float
    learning_rate: float = PLAIN_RATE


@dataclass(frozen=True)
class SpectralPath:
    """Weights along the path × heads; heads of one step size share their members and must follow each other.

    Parameters
    ----------
    weights : weights along the path
    heads : the most sensible ones first
    middle : penalty weight of the second member; that of the first is 0
    mean : the conditional mean behind the disparity
    network : widths of a scikit-learn network that is fitted to y and stands in place of both members; empty for none
    """

    weights: tuple[float, ...]
    heads: tuple[Head, ...]
    middle: float = 5.0
    mean: LinearMean = RandomFeaturesMean()
    network: tuple[int, ...] = ()

    needs_linear_head: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_weights(self.weights)

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return setup.predictor.linear_head and rows.suits(setup.predictor) and setup.loss.quadratic

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        if not setup.predictor.linear_head:
            raise InvalidInput(
                f"The spectral path solves the last, linear step of a predictor, and predictor="
                f"{setup.predictor.name!r} has none; use the name of a penalty, such as solver='fbo_closed'."
            )
        if not setup.loss.quadratic:
            raise InvalidInput(
                "The spectral path predicts numbers, and the target has two classes; use 'auto' (the default), "
                "'boosting', or the name of a penalty, such as 'fbo_closed'."
            )
        training = rows.training.rows
        solved_on = training if rows.held_out is None else training.joined(rows.held_out)
        weights = tuple(coarse(self.weights, limits.weights).tolist())
        groups = groupby(enumerate(self.heads[: limits.settings]), key=lambda pair: pair[1].learning_rate)
        by_rate = [(rate, {number: head.ridge for number, head in group}) for rate, group in groups]
        parts = []
        for number, (rate, ridges) in enumerate(by_rate):
            of_bodies = self._rows_of_bodies(rows, setup, CandidateKey("spectral", weights[0], min(ridges)))
            bodies = self._bodies(rate, of_bodies, setup, portion(report, number, len(by_rate)))
            parts.append(self._solved(bodies, ridges, weights, solved_on, setup))
        return reduce(CandidateSet.joined, parts)

    def _bodies(self, rate: float, rows: CandidateRows, setup: TrainingSetup, report: Report) -> CandidateSet:
        """Both members at a step size; where both diverge at half of it, and so on. Or the network, if there is one."""
        if self.network:
            return fitted_network(rows.training, self.network, setup.seed)
        pair = Limits(models=2, settings=1, weights=2)
        for halvings in range(MOST_HALVINGS + 1):
            grid = PenaltyGrid((Setting(ClosedFBO(self.mean), rate / 2**halvings),), (0.0, self.middle))
            bodies = grid.train(rows, setup, pair, report)
            if bodies.usable.any():
                break
        return bodies

    def _rows_of_bodies(self, rows: CandidateRows, setup: TrainingSetup, first: CandidateKey) -> CandidateRows:
        """Where steps are known, both members take those of the candidates that are solved on them. Where features do
        not depend on training, nothing else of a member is used, and one step is enough.
        """
        bodies = [CandidateKey(ClosedFBO.name, weight, 0) for weight in (0.0, self.middle)]
        if setup.predictor.fixed_features:
            return replace(rows, held_out=None, steps=dict.fromkeys(bodies, 1))
        return rows if rows.steps is None else replace(rows, steps=dict.fromkeys(bodies, rows.steps[first]))

    def _solved(
        self,
        bodies: CandidateSet,
        ridges: dict[int, float],
        weights: tuple[float, ...],
        rows: TrainingRows,
        setup: TrainingSetup,
    ) -> CandidateSet:
        """The paths on the trained members, one per ridge. A member that diverged is left out; all candidates have
        diverged where both did at every step size tried.
        """
        solvable = bool(bodies.usable.any())
        table = candidate_table(
            [CandidateKey("spectral", weight, number) for number in ridges for weight in weights],
            bodies.table["predictor"].iloc[0],
            int(bodies.table["steps"].max()),
            learning_rate=bodies.table["learning_rate"].iloc[0],
            status=(Status.FINISHED if solvable else Status.DIVERGED).value,
        )
        histories = (NO_HISTORY,) * len(table)
        if not solvable:
            return CandidateSet(table, (), np.empty((0, 0)), histories)
        members: Any = bodies.groups[0]  # of a predictor with a linear head
        attributes = rows.some_attributes
        mean: Any = tuned_mean(self.mean, attributes, rows.y, setup.seed)
        smoother = mean.prepare(attributes, seed=setup.seed)
        features = members.features(rows.x)
        enough = list(ridges.values())
        if setup.predictor.fixed_features and not self.network:
            enough = [leave_one_out_ridge(features, rows.y, attributes.weight, ridge) for ridge in enough]
        heads = [spectral_head(features, rows.y, smoother, float(mean.ridge), ridge) for ridge in enough]
        coefficients = np.vstack([head.coefficients(np.array(weights)) for head in heads])
        intercepts = np.concatenate([head.intercepts(np.array(weights)) for head in heads])
        solved, per_head = members.with_heads(coefficients, intercepts)
        proportions = np.eye(len(table)).repeat(per_head, axis=1)
        return CandidateSet(table, (solved,), proportions, histories)


@dataclass(frozen=True)
class SpectralHead:
    """Shapes: basis V (feature, direction), disparity d (direction,), signal z (direction,), centre (feature,);
    ``offset`` is the mean target.
    """

    basis: Array
    disparity: Array
    signal: Array
    centre: Array
    offset: float

    def coefficients(self, weights: Array) -> Array:
        """w(α) for each weight: (weight,) -> (weight, feature)."""
        along: Array = (self.signal / (1 + weights[:, None] * self.disparity)) @ self.basis.T
        return along

    def intercepts(self, weights: Array) -> Array:
        """What makes the mean prediction the mean target: (weight,) -> (weight,)."""
        return self.offset - self.coefficients(weights) @ self.centre


def spectral_head(
    features: Array, target: Array, smoother: LinearSmoother, smoother_ridge: float, ridge: float
) -> SpectralHead:
    """Diagonalise; ``ridge`` is a multiple of the mean second moment of the features. Shapes: features (row, feature),
    target (row,).
    """
    weight = smoother.row_weight
    centre, offset = weight @ features, float(weight @ target)
    centred = features - centre
    moments = centred.T @ (weight[:, None] * centred)
    moments += ridge * max(float(moments.diagonal().mean()), 1e-300) * np.eye(len(moments))
    along = smoother.coefficients(centred.T)  # (feature, function of A)
    between = (along * smoother.shrinkage(smoother_ridge)) @ along.T
    disparity, basis = eigh(between, moments)
    return SpectralHead(basis, disparity.clip(0), basis.T @ (centred.T @ (weight * (target - offset))), centre, offset)
