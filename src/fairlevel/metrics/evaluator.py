"""DPVar of any number of predictions on the same rows, with what an interval needs of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import ConditionalMean, kind_of
from fairlevel.extras import networks
from fairlevel.metrics.choice import Candidate, Choice, candidates_for, choices_for
from fairlevel.metrics.evidence import Evidence, StandardisedPredictions, influence_sums
from fairlevel.metrics.interval import DPVarInterval, interval_of
from fairlevel.metrics.no_disparity_test import NoDisparityTest
from fairlevel.threads import on_single_threads

Regressor = ConditionalMean | Sequence[Any] | None
"""One conditional mean, or linear ones that join the default choice, or that choice alone."""


class Estimator(Protocol):
    """How DPVar is estimated on some rows for one kind of conditional mean; what depends on A is computed once."""

    def estimates(self, predictions: Array) -> Array:
        """Debiased DPVar of standardised predictions: (config, row) -> (config,)."""

    def evidence(self, predictions: StandardisedPredictions) -> list[Evidence]:
        """The same with its uncertainty, one entry per standardised prediction."""


@dataclass(frozen=True)
class DPVarEvaluator:
    """What depends on the attributes is computed once. For both errors and intervals of the same predictions, compute
    the evidence once and pass it to :func:`error_of` and :func:`interval_of`. Predictions are (config, row).
    """

    rows: Attributes
    seed: int
    regressor: Regressor = None

    @cached_property
    def estimator(self) -> Estimator:
        """Leave-one-out for linear means, cross-fitting for those that are trained."""
        means: Any = self.regressor if isinstance(self.regressor, list | tuple) else (self.regressor,)
        if "trained" in {kind_of(mean) for mean in means if mean is not None}:
            trained: Estimator = networks("trained_estimator").CrossFittedEstimator(
                self.rows, self.regressor, self.seed
            )
            return trained
        return LinearEstimator(self.rows, self.regressor, self.seed)  # type: ignore[arg-type]

    def estimates(self, predictions: Array) -> Array:
        """Debiased DPVar of each prediction, (config,)."""
        standardised = StandardisedPredictions.of(predictions, self.rows.counts)
        estimates = np.zeros(len(predictions))
        if len(standardised.configs):
            estimates[standardised.configs] = self.estimator.estimates(standardised.values) * standardised.variance
        return estimates

    def evidence(self, predictions: Array | Sequence[Array]) -> list[Evidence]:
        """What errors and intervals need, one entry per prediction."""
        standardised = StandardisedPredictions.of(predictions, self.rows.counts)
        evidence = [Evidence.of_constant() for _ in predictions]
        if len(standardised.configs):
            measured = self.estimator.evidence(standardised)
            for config, of_config in zip(standardised.configs.tolist(), measured, strict=True):
                evidence[config] = of_config
        return evidence

    def intervals(self, predictions: Array | Sequence[Array]) -> list[DPVarInterval]:
        """The 95 % interval of each prediction."""
        return on_single_threads(*(partial(interval_of, each) for each in self.evidence(predictions)))


@dataclass(frozen=True)
class LinearEstimator:
    """For conditional means that are linear in f. Each prediction gets the suitable mean (averages of groups, splines,
    random features) with the smallest leave-one-out error, or the given one.
    """

    rows: Attributes
    regressor: LinearMean | Sequence[LinearMean] | None
    seed: int

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return candidates_for(self.rows, self.seed, self.regressor)

    def estimates(self, predictions: Array) -> Array:
        estimates = np.empty(len(predictions))
        for choice in choices_for(self.rows, predictions, self.seed, self.regressor):
            estimates[choice.configs] = choice.debiased.estimates(predictions[choice.configs])
        return estimates

    def evidence(self, predictions: StandardisedPredictions) -> list[Evidence]:
        evidence: dict[int, Evidence] = {}
        for choice in choices_for(self.rows, predictions.values, self.seed, self.regressor):
            evidence |= self._evidence(choice, predictions)
        return [evidence[number] for number in range(len(predictions.values))]

    def _evidence(self, choice: Choice, predictions: StandardisedPredictions) -> dict[int, Evidence]:
        """Of the predictions with this choice, by number."""
        debiased, test = choice.debiased, NoDisparityTest(self.candidates)
        values = predictions.values[choice.configs]
        fitted, noise = debiased.fitted(values), debiased.noise(values)
        estimates = debiased.estimates(values)
        return {
            number: Evidence(
                variance=float(predictions.variance[number]),
                estimate=float(estimates[place]),
                degenerate=debiased.null_variance(debiased.scores(noise[place])),
                test=partial(test.p_value, values[place]),
                regressor=choice.candidate.in_words(choice.ridge),
                learnt=choice.candidate.learnt,
                informative=debiased.informative,
                spent=debiased.smoother.spent_on_factors,
                **influence_sums(
                    values[place], fitted[place], noise[place], predictions.row_weight, choice.candidate.units
                ),
            )
            for place, number in enumerate(choice.configs.tolist())
        }
