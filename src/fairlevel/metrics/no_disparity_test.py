r"""A test of DPVar = 0 that is valid when the noise differs from row to row.

With c = BᵀWf for all functions B of A that the candidates use, and K = Bᵀ diag(w² v²) B the covariance of c when the
conditional mean is constant, the statistic is the largest standardised quadratic form over candidates and roughnesses,

.. math:: T = \max_q \frac{\sum_j q_j (c_j^2 - K_{jj})}{\sqrt{2 \sum_{jk} q_j q_k K_{jk}^2}} ,

compared with its distribution for c* ~ N(0, K) (multiplier bootstrap). Where rows belong to groups, K sums the scores
of each group first. f stands for the prediction less what the nuisance functions, those of L included, explain, and
v_i = f_i / √(1 − P_ii), with P_ii their leverage, for its noise: what they fit by chance is not missing from K.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.cells.signed_functions import SignedFunctions
from fairlevel.conditional_mean.spectrum import Spectrum
from fairlevel.metrics.choice import Candidate
from fairlevel.metrics.group_scores import GroupScores
from fairlevel.metrics.leave_one_out import form_weights
from fairlevel.threads import on_single_threads

_EXTRA_DF = (4.0, 16.0)
_DRAWS = 4000
_ROWS = 4096  # at a time
REACH = 64.0
"""What no draw of a standardised form reaches, but with a probability below 1e-16: a positive form of normal numbers
exceeds √(2x) + √2 x with a probability below exp(−x) (Laurent & Massart, Annals of Statistics 2000)."""
SMALLEST_P = 1 / (1 + _DRAWS)
"""What the test gives where no draw reaches the statistic; the p-value is then at most this."""


@dataclass(frozen=True)
class NoDisparityTest:
    """The test on some rows, prepared for any number of predictions."""

    candidates: tuple[Candidate, ...]
    seed: int

    def p_value(self, prediction: Tensor) -> float:
        """The test for one standardised prediction, (row,)."""
        return on_single_threads(lambda: self._p_value(prediction))[0]

    def _p_value(self, prediction: Tensor) -> float:
        if not self._forms.numel():
            return 1.0
        smoother, units = self.candidates[0].smoother, self.candidates[0].units
        centred = smoother.beyond_nuisance(prediction)
        coefficients = self._functions.coefficients(smoother.row_weight * centred)
        weighted = smoother.row_weight * units.null_noise(centred, smoother)
        if beyond_every_draw(coefficients, self._traces(weighted), self._forms, self.seed):
            return SMALLEST_P
        covariance = units.covariance(weighted, self._functions)
        return p_value(self._forms, covariance, coefficients, self.seed)

    def _traces(self, weighted: Tensor) -> Tensor:
        """tr qK of each form, from w_i v_i: (row,) -> (form,)."""
        groups = self.candidates[0].units.groups
        if groups is None:
            return weighted.square() @ self._row_traces
        return GroupScores.of(self._functions, weighted, groups).diagonal() @ self._forms.T

    @cached_property
    def _row_traces(self) -> Tensor:
        """Σ_j q_j b_ij² for each form, (row, form): tr qK is their sum with the weights (w_i v_i)²."""
        return self._functions.sums_of_squares(self._forms)

    @cached_property
    def _functions(self) -> SignedFunctions:
        """The functions of A of all candidates. One of them knows of cells: groups."""
        parts = tuple(each.smoother.fit.beyond(each.smoother.nuisance) for each in self.candidates)
        return Basis.concatenated(parts).signed

    @cached_property
    def _forms(self) -> Tensor:
        """The weights q of each form, (form, function): each uses the functions of one candidate."""
        spectra = [(each.smoother.spectrum, each.mean.ridge) for each in self.candidates]
        of_candidates = [forms(spectrum, ridges_to_try(asked, spectrum)) for spectrum, asked in spectra]
        rows, columns = map(sum, zip(*(each.shape for each in of_candidates), strict=True))
        together = torch.zeros(rows, columns, dtype=torch.float64)
        row = column = 0
        for weights in of_candidates:
            together[row : row + len(weights), column : column + weights.shape[1]] = weights
            row, column = row + len(weights), column + weights.shape[1]
        return self._functions.weights(together)


def beyond_every_draw(coefficients: Tensor, traces: Tensor, weights: Tensor, seed: int) -> Tensor:
    r"""Whether the observed form is so large that no draw can reach it, without computing the noise matrix K.

    A draw z has the form :math:`(z^\top M z - \operatorname{tr} qK) / s`, where M has the eigenvalues of qK and
    :math:`s^2 = 2 \sum \lambda^2`. So no draw exceeds :math:`\|z\|^2 / \sqrt 2`, nor ``REACH``. The observed form
    is at least
    :math:`(c^\top q c - \operatorname{tr} qK) / (\sqrt 2 \operatorname{tr} qK)`, because
    :math:`s \le \sqrt 2 \operatorname{tr} qK`. Shapes: coefficients c (…, basis), traces tr qK (…, form), weights q
    (form, basis) -> (…).
    """
    excess, count = coefficients.square() @ weights.T - traces, weights.shape[1]
    most = 2**0.5 * REACH
    if count < most:  # the expected ‖z‖²
        most = min(most, _largest_square(count, seed))
    return (excess > most * traces.clamp_min(1e-300)).any(dim=-1)


def surely_disparate(candidate: Candidate, predictions: Tensor, seed: int) -> list[bool]:
    """Whether the test of each prediction has the smallest p-value, as far as sums of squares say; (config, row)."""
    smoother = candidate.smoother
    first, spectrum = smoother.nuisance, smoother.spectrum
    weights = forms(spectrum, ridges_to_try(candidate.mean.ridge, spectrum))
    if not weights.numel() or candidate.units.groups is not None:
        return [False] * len(predictions)
    weighted = smoother.row_weight * smoother.beyond_nuisance(predictions)
    noise = candidate.units.null_noise(weighted, smoother)
    functions = smoother.fit.beyond(first).signed
    weights, traces = functions.weights(weights), weighted.new_zeros(len(predictions), len(weights))
    for start in range(0, len(smoother.row_weight), _ROWS):
        part = slice(start, start + _ROWS)
        traces += noise[:, part].square() @ functions.take(part).sums_of_squares(weights)
    return beyond_every_draw(functions.coefficients(weighted), traces, weights, seed).tolist()


def forms(spectrum: Spectrum, ridges: list[float]) -> Tensor:
    """Weights q of the functions after the nuisance functions at each ridge, (form, basis)."""
    shrinkage = spectrum.shrinkage(torch.tensor(ridges, dtype=torch.float64))
    return form_weights(shrinkage, spectrum.nuisance)[:, spectrum.nuisance :]


def ridges_to_try(asked: float | None, spectrum: Spectrum) -> list[float]:
    """The ridge that was asked for, or ridges at which the penalised part spends nothing, 4 and 16 degrees of freedom,
    or all it has.
    """
    if asked is not None:
        return [asked]
    ridges = torch.logspace(-9, 6, 61, dtype=torch.float64)
    spent = spectrum.df(ridges) - spectrum.free
    available = len(spectrum.moments)
    chosen = [float(ridges[(spent - extra).abs().argmin()]) for extra in _EXTRA_DF if extra < available]
    return [
        *([float("inf")] if spectrum.free > spectrum.nuisance else []),  # the free part alone
        *chosen,
        *([0.0] if 0 < available <= max(_EXTRA_DF) else []),  # all functions
    ]


def p_value(weights: Tensor, covariance: CoefficientCovariance, coefficients: Tensor, seed: int) -> float:
    """P-value of the largest form over weights q (form, function), noise K, coefficients c (function,); 1 where A has
    no function that varies.
    """
    if not weights.numel():
        return 1.0
    expected = weights @ covariance.diagonal()
    spread = (2 * covariance.trace_of_square(weights)).sqrt().clamp_min(1e-300)
    seen = ((coefficients.square() @ weights.T - expected) / spread).max()
    if seen > REACH:
        return SMALLEST_P
    draws = covariance.drawn_forms(_standard_normal(covariance.normal_count, seed), weights)
    null = ((draws - expected) / spread).amax(dim=1)
    return (1 + int((null >= seen).sum())) / (1 + _DRAWS)


def _drawn(count: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(_DRAWS, count, generator=generator, dtype=torch.float64)


_standard_normal = lru_cache(maxsize=2)(_drawn)


@lru_cache(maxsize=2)
def _largest_square(count: int, seed: int) -> float:
    """The largest ‖z‖² of the draws, which are not kept: where it decides, nothing else needs them."""
    return float(_drawn(count, seed).square_().sum(dim=1).max())
