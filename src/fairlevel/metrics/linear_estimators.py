"""Debiased (leave-one-out) DPVar and what its interval needs, for conditional means E[f|A] that are linear in f."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Index
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import BlockwiseSmoother, blockwise
from fairlevel.conditional_mean.spectrum import Spectrum
from fairlevel.data.splitting import rare_rows
from fairlevel.metrics.choice import Candidate, Choice, candidates, choose
from fairlevel.metrics.evidence import Evidence, Standardised
from fairlevel.metrics.leave_one_out import BlockwiseEvidence, leave_out_streamed
from fairlevel.metrics.no_disparity_test import NoDisparityTest, forms, p_value, ridges_to_try
from fairlevel.metrics.threads import on_single_threads
from fairlevel.metrics.units import null_variance

MANY_ROWS, SAMPLE_ROWS = 150_000, 30_000
"""Above ``MANY_ROWS`` rows, mean and ridge are chosen on ``SAMPLE_ROWS`` of them, and DPVar is computed on all, in
blocks."""
LEAST_DF = 0.5  # degrees of freedom below which the rows say nothing about DPVar


def linear_estimator(rows: Attributes, regressor: LinearMean | None, seed: int) -> InMemory | Blockwise:
    """All rows at once, or block by block where they are many and independent."""
    many = len(rows) > MANY_ROWS and rows.groups is None
    return (Blockwise if many else InMemory)(rows, regressor, seed)


@dataclass(frozen=True)
class InMemory:
    """All rows in memory. With ``regressor`` None, each prediction gets the suitable mean (groups, splines, random
    features) with the smallest leave-one-out error. Predictions are standardised, (config, row).
    """

    rows: Attributes
    regressor: LinearMean | None
    seed: int

    @cached_property
    def known(self) -> tuple[Candidate, ...]:
        return candidates(self.rows, self.seed, self.regressor)

    @cached_property
    def test(self) -> NoDisparityTest:
        return NoDisparityTest(self.known, self.seed)

    def estimates(self, predictions: Tensor) -> Tensor:
        known = self.known
        return on_single_threads(lambda: _estimates(predictions, choose(predictions, known)))[0]

    def evidence(self, predictions: Standardised) -> list[Evidence]:
        choice, result = choose(predictions.values, self.known), dict[int, Evidence]()
        for number, own in _by_candidate(choice):
            smoother, units = self.known[number].smoother, self.known[number].units
            values, ridge = predictions.values[own], choice.ridge[own]
            (found,) = on_single_threads(partial(units.leave_out, values, smoother, ridge))
            degenerate = null_variance(found, smoother, units)
            for place, config in enumerate(own.tolist()):
                prediction = predictions.values[config]
                result[config] = Evidence(
                    prediction=prediction,
                    row_weight=predictions.row_weight,
                    variance=float(predictions.variance[config]),
                    estimate=float(found.estimate[place]),
                    fitted=found.fitted[place],
                    residual=found.residual[place],
                    degenerate=float(degenerate[place]),
                    test=partial(self.test.p_value, prediction),
                    regressor=choice.describe(config),
                    informative=float(found.kept[place].sum()) >= LEAST_DF,
                    units=units,
                    spent=spent_on_factors(smoother.spectrum),
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

    @cached_property
    def known(self) -> tuple[Candidate, ...]:
        return candidates(self.sample, self.seed, self.regressor)

    def estimates(self, predictions: Tensor) -> Tensor:
        choice = choose(predictions[:, torch.from_numpy(self._sampled)], self.known)
        return torch.cat(
            [self._of_all_rows(each, choice, config).found.estimate for config, each in enumerate(predictions)]
        )

    def evidence(self, predictions: Standardised) -> list[Evidence]:
        choice = choose(predictions.values[:, torch.from_numpy(self._sampled)], self.known)
        return [self._evidence(predictions, choice, config) for config in range(len(predictions.values))]

    def _evidence(self, predictions: Standardised, choice: Choice, config: int) -> Evidence:
        prediction, number = predictions.values[config], int(choice.index[config])
        evidence = self._of_all_rows(prediction, choice, config)
        smoother = self._smoother(number)
        first = smoother.nuisance
        tried = forms(smoother.spectrum, ridges_to_try(self.known[number]))
        return Evidence(
            prediction=prediction,
            row_weight=predictions.row_weight,
            variance=float(predictions.variance[config]),
            estimate=float(evidence.found.estimate),
            fitted=evidence.found.fitted[0],
            residual=evidence.found.residual[0],
            degenerate=evidence.null_variance,
            test=lambda: p_value(
                tried, evidence.centred_scatter[first:, first:], evidence.coefficients[first:], self.seed
            ),
            regressor=f"{choice.describe(config)}, chosen on {len(self.sample):,} rows",
            informative=float(evidence.found.kept.sum()) >= LEAST_DF,
            spent=spent_on_factors(smoother.spectrum),
        )

    def _of_all_rows(self, prediction: Tensor, choice: Choice, config: int) -> BlockwiseEvidence:
        smoother = self._smoother(int(choice.index[config]))
        return leave_out_streamed(prediction, smoother, float(choice.ridge[config]))

    def _smoother(self, number: int) -> BlockwiseSmoother:
        if number not in self._smoothers:
            self._smoothers[number] = blockwise(self.known[number].mean, self.sample, self.rows, self.seed)
        return self._smoothers[number]

    @cached_property
    def _smoothers(self) -> dict[int, BlockwiseSmoother]:
        return {}

    @cached_property
    def _sampled(self) -> Index:
        drawn = np.random.default_rng(self.seed).choice(len(self.rows), SAMPLE_ROWS, replace=False)
        return np.concatenate([drawn, rare_rows(self.rows.columns, drawn)])


def spent_on_factors(spectrum: Spectrum) -> float:
    """The share of the rows that functions of L beyond the constant cost, at most a half."""
    return min((spectrum.nuisance - 1) / spectrum.rows, 0.5)


def _estimates(predictions: Tensor, choice: Choice) -> Tensor:
    estimate = torch.empty_like(choice.ridge)
    for number, own in _by_candidate(choice):
        candidate = choice.candidates[number]
        estimate[own] = candidate.units.leave_out(predictions[own], candidate.smoother, choice.ridge[own]).estimate
    return estimate


def _by_candidate(choice: Choice) -> list[tuple[int, Tensor]]:
    """The candidates that were chosen, each with its predictions (config,)."""
    return [(number, torch.nonzero(choice.index == number).squeeze(1)) for number in sorted(set(choice.index.tolist()))]
