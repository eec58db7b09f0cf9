r"""The leave-one-out estimate and its uncertainty as sums over rows, which may be read in parts, anywhere.

1. A sample of the rows fixes a :class:`Plan`: the functions of A and the ridge of each prediction.
2. One read of all rows adds up moments, :meth:`Plan.moments`. They give the smoothers: :meth:`Plan.fitted`.
3. Another read adds up what depends on the smoothers row by row, :meth:`FittedPlan.terms`: the noise to subtract, with
   the leverage rule of :mod:`fairlevel.metrics.leave_one_out`, and what the interval and the test need.
4. These sums give the estimates: :meth:`FittedPlan.evidence`.

Sums are tensors by name. Those of parts are added in a fixed order, so the answer does not depend on where parts are
computed. :func:`measured` takes all steps but the first for rows in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import BlockwiseSmoother, Functions, parts
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.linear_algebra import scatter_matrix
from fairlevel.data.numbers import rounding_limit
from fairlevel.metrics.choice import Candidate, averages_among, best_offers, in_words, offer
from fairlevel.metrics.evidence import Evidence
from fairlevel.metrics.leave_one_out import NoiseSums, form_weights
from fairlevel.metrics.no_disparity_test import SMALLEST_P, forms, p_value, ridges_to_try, surely_disparate
from fairlevel.metrics.row_terms import FunctionsAtRows, Sums
from fairlevel.threads import map_on_single_threads, on_single_threads

LEAST_DF = 0.5  # degrees of freedom below which the rows say nothing about DPVar


def add(one: Sums, other: Sums) -> Sums:
    """Sums over the rows of both."""
    return {name: value + other[name] for name, value in one.items()}


def measured(plan: Plan, rows: Attributes, predictions: Array) -> list[Evidence]:
    """The evidence of several predictions on rows that are in memory; predictions (config, row)."""
    fitted = plan.fitted(plan.moments(rows, predictions))
    return fitted.evidence(fitted.terms(rows, predictions))


@dataclass(frozen=True)
class Plan:
    """What is fixed before any sum, for several predictions. It is stored in files, under these names.

    Parameters
    ----------
    functions : functions of A of each conditional mean in use
    index : the number of those that describe each prediction, (config,)
    ridge : of each prediction, (config,)
    asked : the ridge that was asked for in each of ``functions``; None where it was chosen
    regressors : the conditional mean of each prediction in words
    centre, scale : a rough mean and standard deviation of each prediction, (config,), so that sums lose no digits
    seed : of the test
    tested : predictions of which the test on the sample has the smallest p-value already: that is their p-value, and
        the test of all rows, which needs a matrix of sums, is not made
    """

    functions: tuple[Functions, ...]
    index: Index
    ridge: Array
    asked: tuple[float | None, ...]
    regressors: tuple[str, ...]
    centre: Array
    scale: Array
    seed: int
    tested: tuple[bool, ...] = ()

    @classmethod
    def of(cls, candidates: Iterable[Candidate], sample: Attributes, predictions: Array, seed: int) -> Plan:
        """Each prediction gets the candidate and the ridge that are best on a sample; predictions (config, sample row).
        Candidates are used one after another and may be made when asked for; averages come first.
        """
        constant = np.ptp(predictions, axis=1) <= rounding_limit(predictions)
        centre = np.where(constant, predictions[:, 0], predictions.mean(axis=1))
        scale = np.where(constant, 1.0, predictions.std(axis=1))
        standard = torch.from_numpy((predictions - centre[:, None]) / scale[:, None])
        means: list[LinearMean] = []
        spectra, offers, tested = [], [], []
        for each in candidates:
            compared = (means[0] if means else each.mean).averages
            offers += on_single_threads(partial(offer, each, standard, compared))
            tested.append(surely_disparate(each, standard, seed))
            means.append(each.mean)
            spectra.append(each.smoother.spectrum)
        best, chosen = (each.tolist() for each in best_offers(offers, averages_among(means), sample))
        used = sorted(set(best))
        return cls(
            functions=tuple(Functions.of(means[number], replace(sample, row_weight=None), seed) for number in used),
            index=np.array([used.index(number) for number in best]),
            ridge=np.array(chosen),
            asked=tuple(means[number].ridge for number in used),
            regressors=tuple(
                f"{in_words(means[number], spectra[number], ridge)}, chosen on {len(sample):,} rows"
                for number, ridge in zip(best, chosen, strict=True)
            ),
            centre=centre,
            scale=scale,
            seed=seed,
            tested=tuple(tested[number][config] for config, number in enumerate(best)),
        )

    def is_tested(self, config: int) -> bool:
        """Whether the p-value is known from the sample."""
        return bool(self.tested) and self.tested[config]

    def configs_of(self, number: int) -> Index:
        """The predictions that use the functions of this number, (own config,)."""
        return np.flatnonzero(self.index == number)

    def moments(self, rows: Attributes, predictions: Array) -> Sums:
        """Sums over some rows, of predictions f (config, row), after they were centred and scaled:

        - "weight" (3,): Σ w, Σ w² and the number of rows
        - "prediction", "square" (config,): Σ w f and Σ w f²
        - for each of ``functions``, by its number k, with features z: "first k" Σ w z (feature,), "second k" Σ w z zᵀ
          (feature, feature), "products k" Σ w f z (own config, feature)
        """
        return reduce(add, map_on_single_threads(self._moments, _blocks(rows, predictions)))

    def _moments(self, block: tuple[Attributes, Array]) -> Sums:
        rows, predictions = block
        weight = torch.from_numpy(rows.counts)
        standard = torch.from_numpy((predictions - self.centre[:, None]) / self.scale[:, None])
        weighted = standard * weight
        moments = {
            "weight": torch.stack([weight.sum(), weight.square().sum(), weight.new_tensor(float(len(weight)))]),
            "prediction": weighted.sum(dim=1),
            "square": (weighted * standard).sum(dim=1),
        }
        for number, functions in enumerate(self.functions):
            features = functions(rows)
            moments[f"first {number}"] = weight @ features
            moments[f"second {number}"] = scatter_matrix(weight.sqrt(), features)
            moments[f"products {number}"] = weighted[self.configs_of(number)] @ features
        return moments

    def fitted(self, moments: Sums) -> FittedPlan:
        """The smoothers of all rows, from the moments of all rows."""
        total, squares, _ = moments["weight"]
        mean, square = moments["prediction"] / total, moments["square"] / total
        spread = (square - mean.square()).clamp_min(0).sqrt()
        location = self.centre + self.scale * mean.numpy()
        size = self.scale * spread.numpy()
        varies = size > rounding_limit(location[:, None])
        spread = torch.where(torch.from_numpy(varies), spread, 1)
        by_smoother = []
        for number, functions in enumerate(self.functions):
            first, second = moments[f"first {number}"] / total, moments[f"second {number}"] / total
            smoother = BlockwiseSmoother.of(functions, first, second, float(total**2 / squares))
            configs = self.configs_of(number)
            products = moments[f"products {number}"] / total - torch.outer(mean[configs], first)
            coefficients = smoother.coefficients(products / spread[configs].unsqueeze(1))
            ridge = torch.from_numpy(self.ridge)[configs]
            by_smoother.append(SmoothedPredictions(configs, smoother, coefficients, ridge, self.asked[number]))
        return FittedPlan(self, tuple(by_smoother), float(total), location, size, varies)


@dataclass(frozen=True)
class FittedPlan:
    """The smoothers of all rows with the predictions that use each. ``total_weight`` is the sum of all weights;
    ``location`` and ``size`` are the mean and the standard deviation of each prediction, and ``varies`` whether it is
    no constant, (config,).
    """

    plan: Plan
    by_smoother: tuple[SmoothedPredictions, ...]
    total_weight: float
    location: Array
    size: Array
    varies: Array

    def terms(self, rows: Attributes, predictions: Array) -> Sums:
        """Sums over some rows of what depends on the smoothers; predictions (config, row). For each prediction, by its
        number c: "noise c", "others c", "influence c" and "residual c" of
        :meth:`fairlevel.metrics.row_terms.FunctionsAtRows.terms`; and "null c", K of the test, unless its p-value is
        known.
        """
        return reduce(add, map_on_single_threads(self._terms, _blocks(rows, predictions)))

    def _terms(self, block: tuple[Attributes, Array]) -> Sums:
        rows, predictions = block
        weight = torch.from_numpy(rows.counts) / self.total_weight
        size = np.where(self.varies, self.size, 1.0)
        standard = torch.from_numpy((predictions - self.location[:, None]) / size[:, None])
        terms: Sums = {}
        for own in self.by_smoother:
            for place, (config, functions) in enumerate(zip(own.configs.tolist(), own.at(rows, weight), strict=True)):
                prediction, coefficients = standard[config], own.coefficients[place][: own.smoother.nuisance]
                sums = functions.terms(prediction, coefficients, weight)
                if not self.plan.is_tested(config):
                    sums["null"] = functions.null_covariance(prediction, coefficients, weight)
                terms |= {f"{name} {config}": value for name, value in sums.items()}
        return terms

    def evidence(self, terms: Sums) -> list[Evidence]:
        """The estimate of each prediction and its uncertainty, from the terms of all rows."""
        found = {
            config: self._evidence(terms, config, own, place)
            for own in self.by_smoother
            for place, config in enumerate(own.configs.tolist())
        }
        return [found[config] for config in range(len(found))]

    def _evidence(self, terms: Sums, config: int, own: SmoothedPredictions, place: int) -> Evidence:
        """Of a prediction, which is the one at this place among those of its smoother."""
        if not self.varies[config]:
            return Evidence.of_constant()
        coefficients, q, first = own.coefficients[place], own.kept[place], own.smoother.nuisance
        by_chance, fitted_variance, own_part = terms[f"others {config}"].tolist()
        noise = NoiseSums(*terms[f"noise {config}"]).total
        covariance = terms[f"residual {config}"]
        return Evidence(
            variance=float(self.size[config] ** 2),
            estimate=float((q * coefficients.square()).sum() - noise) + by_chance,
            fitted_variance=fitted_variance,
            influence=terms[f"influence {config}"].numpy(),
            degenerate=2 * (float(q[first:] @ covariance.square() @ q[first:]) - own_part),
            test=partial(own.p_value, place, terms.get(f"null {config}"), self.plan.seed),
            regressor=self.plan.regressors[config],
            informative=float(q.sum()) >= LEAST_DF,
            spent=own.smoother.spectrum.spent_on_factors,
        )


@dataclass(frozen=True)
class SmoothedPredictions:
    """The predictions that use one smoother.

    Parameters
    ----------
    configs : their numbers among all predictions, (own config,)
    smoother : of all rows
    coefficients : c = BᵀWf, (own config, basis)
    ridge : of each, (own config,)
    asked : the ridge that was asked for; None where it was chosen
    """

    configs: Index
    smoother: BlockwiseSmoother
    coefficients: Tensor
    ridge: Tensor
    asked: float | None

    def at(self, rows: Attributes, weight: Tensor) -> Iterator[FunctionsAtRows]:
        """The functions at some rows for each own prediction; weights as shares of all rows (row,).

        Of very many rows the basis is computed in 32 bits: S_ii, Q_ii and covariances are sums of its squares, without
        cancellation, and a row's leverage is a small number beside 1. Nuisance functions and ĥ are in 64 bits.
        """
        first, features = self.smoother.nuisance, self.smoother.functions(rows)
        exact = self.smoother.combined(features, self._directions)
        basis = self.smoother.basis(features.to(self.smoother.precision))
        diagonals = (basis.square() @ self._diagonals.to(basis.dtype)).double().T * weight
        for place, (own_weight, diagonal) in enumerate(zip(*diagonals.chunk(2), strict=True)):
            yield FunctionsAtRows(exact[:, :first], exact[:, first + place], basis[:, first:], own_weight, diagonal)

    @cached_property
    def shrinkage(self) -> Tensor:
        """d, (own config, basis)."""
        return self.smoother.spectrum.shrinkage(self.ridge)

    @cached_property
    def kept(self) -> Tensor:
        """q = 1 − (1 − d)⁴, and 0 for nuisance functions, (own config, basis)."""
        return form_weights(self.shrinkage, self.smoother.nuisance)

    @cached_property
    def _directions(self) -> Tensor:
        """Coefficients of the nuisance functions, then of ĥ beyond them of each own prediction, (basis, function)."""
        nuisance = torch.eye(1 + self.smoother.transform.shape[1], self.smoother.nuisance, dtype=torch.float64)
        fitted = self.coefficients * self.shrinkage
        fitted[:, : self.smoother.nuisance] = 0
        return torch.cat([nuisance, fitted.T], dim=1)

    @cached_property
    def _diagonals(self) -> Tensor:
        """d of each own prediction, then q of each, (basis, 2 · own config)."""
        return torch.cat([self.shrinkage, self.kept]).T.contiguous()

    def p_value(self, place: int, covariance: Tensor | None, seed: int) -> float:
        """The test of the prediction at this place, with K (function, function); None where the sample has the smallest
        p-value already.
        """
        if covariance is None:
            return SMALLEST_P
        spectrum, coefficients = self.smoother.spectrum, self.coefficients[place][self.smoother.nuisance :]
        weights = forms(spectrum, ridges_to_try(self.asked, spectrum))
        return p_value(weights, CoefficientCovariance.of_columns(covariance), coefficients, seed)


def _blocks(rows: Attributes, predictions: Array) -> Iterator[tuple[Attributes, Array]]:
    """Rows and predictions (config, row) in blocks."""
    for part in parts(len(rows)):
        yield rows.take(np.arange(part.start, part.stop)), predictions[:, part]
