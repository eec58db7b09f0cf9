"""DPVar of any number of predictions on the same rows, with what an interval needs of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import ConditionalMean, kind_of
from fairlevel.extras import networks
from fairlevel.metrics.choice import Candidate, candidates_for, choices_for
from fairlevel.metrics.interval import DPVarInterval, Evidence, StandardisedPredictions, influence_sums, interval_of
from fairlevel.metrics.no_disparity_test import p_value_of_no_disparity
from fairlevel.threads import on_single_threads

Regressor = ConditionalMean | Sequence[Any] | None
"""One conditional mean, or linear ones that join the default choice, or that choice alone."""


@dataclass(frozen=True)
class DPVarEvaluator:
    """What depends on the attributes is computed once. For both errors and intervals of the same predictions, compute
    the evidence once and pass it to :func:`error_of` and :func:`interval_of`. Predictions are (config, row).
    """

    rows: Attributes
    seed: int
    regressor: Regressor = None

    @cached_property
    def estimator(self) -> Any:
        """Leave-one-out for linear means, cross-fitting for those that are trained: ``estimates`` of standardised
        predictions, and ``evidence``, one entry per :class:`StandardisedPredictions`.
        """
        means: Any = self.regressor if isinstance(self.regressor, list | tuple) else (self.regressor,)
        if "trained" in {kind_of(mean) for mean in means if mean is not None}:
            return networks("trained_estimator").CrossFittedEstimator(self.rows, self.regressor, self.seed)
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
            debiased, values = choice.debiased, predictions.values[choice.configs]
            estimates, fitted, noise = debiased.estimates(values), debiased.fitted(values), debiased.noise(values)
            for prediction, config in enumerate(choice.configs.tolist()):
                of_one = values[prediction], fitted[prediction], noise[prediction]
                evidence[config] = Evidence(
                    variance=float(predictions.variance[config]),
                    estimate=float(estimates[prediction]),
                    degenerate=debiased.null_variance(debiased.scores(noise[prediction])),
                    test=partial(p_value_of_no_disparity, values[prediction], self.candidates),
                    regressor=choice.candidate.in_words(choice.ridge),
                    learnt=choice.candidate.learnt,
                    informative=debiased.informative,
                    spent=debiased.smoother.spent_on_factors,
                    **influence_sums(*of_one, predictions.row_weight, debiased.units),
                )
        return [evidence[config] for config in range(len(predictions.values))]
