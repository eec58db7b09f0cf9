"""Debiased (leave-one-out) DPVar and what its interval needs, for conditional means E[f|A] that are linear in f."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import Candidate, Choice, candidates_for, choose
from fairlevel.metrics.evidence import Evidence, StandardisedPredictions, influence_sums
from fairlevel.metrics.no_disparity_test import NoDisparityTest


@dataclass(frozen=True)
class LinearEstimator:
    """Each prediction gets the suitable mean (averages of groups, splines, random features) with the smallest
    leave-one-out error, or the given one. Predictions are standardised, (config, row).
    """

    rows: Attributes
    regressor: LinearMean | Sequence[LinearMean] | None
    seed: int

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        return candidates_for(self.rows, self.seed, self.regressor)

    def estimates(self, predictions: Array) -> Array:
        found = np.empty(len(predictions))
        for choice in choose(predictions, self.candidates):
            found[choice.configs] = choice.debiased.estimates(predictions[choice.configs])
        return found

    def evidence(self, predictions: StandardisedPredictions) -> list[Evidence]:
        found: dict[int, Evidence] = {}
        for choice in choose(predictions.values, self.candidates):
            found |= self._evidence(choice, predictions)
        return [found[config] for config in range(len(predictions.values))]

    def _evidence(self, choice: Choice, predictions: StandardisedPredictions) -> dict[int, Evidence]:
        """Of the predictions with this choice, by number."""
        debiased, test = choice.debiased, NoDisparityTest(self.candidates)
        values = predictions.values[choice.configs]
        fitted, noise = debiased.fitted(values), debiased.noise(values)
        return {
            int(config): Evidence(
                variance=float(predictions.variance[config]),
                estimate=float(estimate),
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
            for place, (config, estimate) in enumerate(zip(choice.configs, debiased.estimates(values), strict=True))
        }
