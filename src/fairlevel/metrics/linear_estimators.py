"""Debiased (leave-one-out) DPVar and what its interval needs, for conditional means E[f|A] that are linear in f."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Index
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.splitting import rare_rows
from fairlevel.metrics.choice import Candidate, ChosenCandidates, candidates_in_turn, choose, prepared, suitable_means
from fairlevel.metrics.evidence import Evidence, StandardisedPredictions, influence_sums
from fairlevel.metrics.no_disparity_test import NoDisparityTest
from fairlevel.metrics.streamed import LEAST_DF, Plan, measured
from fairlevel.metrics.units import null_variance
from fairlevel.threads import on_single_threads

MOST_AT_ONCE, SAMPLE_ROWS = 150_000, 30_000
"""Above ``MOST_AT_ONCE`` rows, mean and ridge are chosen on ``SAMPLE_ROWS`` of them, and DPVar is computed on all, in
blocks."""


def linear_estimator(rows: Attributes, regressor: LinearMean | None, seed: int) -> InMemory | Blockwise:
    """All rows at once, or block by block where they are many and independent."""
    many = len(rows) > MOST_AT_ONCE and rows.groups is None
    return (Blockwise if many else InMemory)(rows, regressor, seed)


@dataclass(frozen=True)
class InMemory:
    """All rows in memory. With ``regressor`` None, each prediction gets the suitable mean (averages of groups, splines,
    random features) with the smallest leave-one-out error. Predictions are standardised, (config, row).
    """

    rows: Attributes
    regressor: LinearMean | None
    seed: int

    _candidates: dict[LinearMean, Candidate] = field(default_factory=dict, compare=False, repr=False)
    _tests: dict[tuple[LinearMean, ...], NoDisparityTest] = field(default_factory=dict, compare=False, repr=False)

    def candidates_for(self, predictions: Tensor) -> tuple[Candidate, ...]:
        """The candidates for these predictions; each is prepared once."""
        means = suitable_means(predictions, self.rows, self.seed, self.regressor)
        new = tuple(mean for mean in means if mean not in self._candidates)
        self._candidates.update(zip(new, prepared(new, self.rows, self.seed), strict=True))
        return tuple(self._candidates[mean] for mean in means)

    def test_with(self, candidates: tuple[Candidate, ...]) -> NoDisparityTest:
        """The test with these candidates, one per set of candidates."""
        means = tuple(candidate.mean for candidate in candidates)
        return self._tests.setdefault(means, NoDisparityTest(candidates, self.seed))

    def estimates(self, predictions: Tensor) -> Tensor:
        candidates = self.candidates_for(predictions)
        return on_single_threads(lambda: _estimates(predictions, choose(predictions, candidates, self.rows)))[0]

    def evidence(self, predictions: StandardisedPredictions) -> list[Evidence]:
        candidates = self.candidates_for(predictions.values)
        test, choice = self.test_with(candidates), choose(predictions.values, candidates, self.rows)
        result: dict[int, Evidence] = {}
        for number, configs in _by_candidate(choice):
            smoother, units = candidates[number].smoother, candidates[number].units
            values, ridge = predictions.values[configs], choice.ridge[configs]
            (left_out,) = on_single_threads(partial(units.leave_out, values, smoother, ridge))
            degenerate = null_variance(left_out, smoother, units)
            for place, config in enumerate(configs.tolist()):
                prediction = predictions.values[config]
                result[config] = Evidence(
                    variance=float(predictions.variance[config]),
                    estimate=float(left_out.estimate[place]),
                    degenerate=float(degenerate[place]),
                    test=partial(test.p_value, prediction),
                    regressor=choice.describe(config),
                    informative=float(left_out.kept[place].sum()) >= LEAST_DF,
                    spent=smoother.spectrum.spent_on_factors,
                    **influence_sums(
                        prediction, left_out.fitted[place], left_out.residual[place], predictions.row_weight, units
                    ),
                )
        return [result[config] for config in range(len(predictions.values))]


@dataclass(frozen=True)
class Blockwise:
    """Mean and ridge are chosen on a random sample of the rows; the estimate then reads all rows block by block."""

    rows: Attributes
    regressor: LinearMean | None
    seed: int

    @cached_property
    def sample(self) -> Attributes:
        return self.rows.take(self._sampled)

    def estimates(self, predictions: Tensor) -> Tensor:
        return torch.tensor([each.estimate for each in self._measured(predictions)], dtype=torch.float64)

    def evidence(self, predictions: StandardisedPredictions) -> list[Evidence]:
        return [
            replace(each, variance=float(variance))
            for each, variance in zip(self._measured(predictions.values), predictions.variance, strict=True)
        ]

    def _measured(self, predictions: Tensor) -> list[Evidence]:
        sampled = predictions[:, torch.from_numpy(self._sampled)]
        candidates = candidates_in_turn(sampled, self.sample, self.seed, self.regressor)
        plan = Plan.of(candidates, self.sample, sampled.numpy(), self.seed)
        return measured(plan, self.rows, predictions.numpy())

    @cached_property
    def _sampled(self) -> Index:
        drawn = np.random.default_rng(self.seed).choice(len(self.rows), SAMPLE_ROWS, replace=False)
        return np.concatenate([drawn, rare_rows(self.rows.columns, drawn)])


def _estimates(predictions: Tensor, choice: ChosenCandidates) -> Tensor:
    estimate = torch.empty_like(choice.ridge)
    for number, configs in _by_candidate(choice):
        units, smoother = choice.candidates[number].units, choice.candidates[number].smoother
        estimate[configs] = units.leave_out(predictions[configs], smoother, choice.ridge[configs]).estimate
    return estimate


def _by_candidate(choice: ChosenCandidates) -> list[tuple[int, Tensor]]:
    """The candidates that were chosen, each with its predictions (config,)."""
    return [(number, torch.nonzero(choice.index == number).squeeze(1)) for number in sorted(set(choice.index.tolist()))]
