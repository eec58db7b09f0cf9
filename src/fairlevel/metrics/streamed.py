r"""The leave-one-out estimate and its uncertainty as sums over rows, which may be read in parts, anywhere.

A :class:`Plan` is fixed on a sample: the functions of A and the ridge of each prediction. One read of all rows then
adds up moments, which give the smoother; another adds up what depends on it row by row: the noise to subtract, the
leverage rule of :mod:`fairlevel.metrics.leave_one_out`, and what the interval and the test need. Sums of parts are
tensors by name, and adding them in a fixed order gives the same answer however the parts were computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import BlockwiseSmoother, Functions, parts
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.linear_algebra import scatter_matrix
from fairlevel.data.numbers import rounding_limit
from fairlevel.metrics.choice import Candidate, in_words
from fairlevel.metrics.evidence import Evidence, influence_parts
from fairlevel.metrics.leave_one_out import Leverage, NoiseSums, factor_leverage, form_weights, nuisance_left_out
from fairlevel.metrics.no_disparity_test import SMALLEST_P, forms, p_value, ridges_to_try, surely_disparate
from fairlevel.threads import map_on_single_threads, on_single_threads

Sums = dict[str, Tensor]
"""Sums over some rows by name."""

LEAST_DF = 0.5  # degrees of freedom below which the rows say nothing about DPVar


def add(one: Sums, other: Sums) -> Sums:
    """Sums over the rows of both."""
    return {name: value + other[name] for name, value in one.items()}


@dataclass(frozen=True)
class Plan:
    """What is fixed before any sum, for several predictions.

    Parameters
    ----------
    functions : functions of A, one entry per conditional mean in use
    index : which of them describes each prediction, (config,)
    ridge : of each prediction, (config,)
    asked : the ridge that was asked for in each of ``functions``; None where it was chosen
    regressors : the conditional mean of each prediction in words
    centre, scale : a rough location and size of each prediction, (config,), so that sums are exact
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
        """Each prediction gets the candidate and the ridge with the smallest leave-one-out error on a sample;
        predictions (config, sample row). Candidates are used one after another and may be made when asked for.
        """
        constant = np.ptp(predictions, axis=1) <= rounding_limit(predictions)
        centre = np.where(constant, predictions[:, 0], predictions.mean(axis=1))
        scale = np.where(constant, 1.0, predictions.std(axis=1))
        standard = torch.from_numpy((predictions - centre[:, None]) / scale[:, None])
        means, spectra, ridges, errors, tested = [], [], [], [], []
        for each in candidates:
            ((ridge, error),) = on_single_threads(partial(each.best, standard))
            tested.append(surely_disparate(each, standard, seed))
            means.append(each.mean)
            spectra.append(each.smoother.spectrum)
            ridges.append(ridge)
            errors.append(error)
        best = torch.stack(errors).argmin(dim=0).tolist()
        used = sorted(set(best))
        chosen = [float(ridges[number][config]) for config, number in enumerate(best)]
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
        """The predictions that use these functions."""
        return np.flatnonzero(self.index == number)

    def moments(self, rows: Attributes, predictions: Array) -> Sums:
        """Sums of weights, predictions, features and their products; predictions (config, row)."""
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
        """What the last read needs, from the moments of all rows."""
        total, squares, _ = moments["weight"]
        mean, square = moments["prediction"] / total, moments["square"] / total
        spread = (square - mean.square()).clamp_min(0).sqrt()
        location = self.centre + self.scale * mean.numpy()
        size = self.scale * spread.numpy()
        varies = size > rounding_limit(location[:, None])
        spread = torch.where(torch.from_numpy(varies), spread, 1)
        smoothers, coefficients = [], []
        for number, functions in enumerate(self.functions):
            first, configs = moments[f"first {number}"] / total, self.configs_of(number)
            second = moments[f"second {number}"] / total
            smoother = BlockwiseSmoother.of(functions, first, second, float(total**2 / squares))
            products = moments[f"products {number}"] / total - torch.outer(mean[configs], first)
            smoothers.append(smoother)
            coefficients.append(smoother.coefficients(products / spread[configs].unsqueeze(1)))
        return FittedPlan(self, tuple(smoothers), tuple(coefficients), float(total), location, size, varies)


@dataclass(frozen=True)
class FittedPlan:
    """The smoothers of all rows, and the coefficients of the predictions that use each, (own config, basis).

    ``weight`` is the sum of all weights; location and size, the mean and standard deviation of each prediction,
    and whether it varies, are (config,).
    """

    plan: Plan
    smoothers: tuple[BlockwiseSmoother, ...]
    coefficients: tuple[Tensor, ...]
    weight: float
    location: Array
    size: Array
    varies: Array

    def terms(self, rows: Attributes, predictions: Array) -> Sums:
        """Sums of what depends on the smoothers; predictions (config, row).

        Of very many rows the basis is computed in 32 bits: S_ii, Q_ii and the noise matrix are sums of its squares,
        without cancellation, and a row's leverage is a small number beside 1. Predictions, ĥ and their products are in
        64 bits.
        """
        return reduce(add, map_on_single_threads(self._terms, _blocks(rows, predictions)))

    def _terms(self, block: tuple[Attributes, Array]) -> Sums:
        rows, predictions = block
        weight = torch.from_numpy(rows.counts) / self.weight
        size = np.where(self.varies, self.size, 1.0)
        standard = torch.from_numpy((predictions - self.location[:, None]) / size[:, None])
        terms: Sums = {}
        for number, smoother in enumerate(self.smoothers):
            configs, first = self.plan.configs_of(number), smoother.nuisance
            features = smoother.functions(rows)
            exact = smoother.combined(features, self._directions[number])
            basis = smoother.basis(features.to(smoother.precision))
            diagonals = (basis.square() @ self._diagonals[number].to(basis.dtype)).double().T * weight
            for place, config in enumerate(configs.tolist()):
                functions = _FunctionsAtRows(
                    exact[:, :first], exact[:, first + place], basis[:, first:], *diagonals[place :: len(configs)]
                )
                coefficients = self.coefficients[number][place][:first]
                sums = functions.sums(standard[config], coefficients, weight)
                if not self.plan.is_tested(config):
                    sums["null"] = functions.null(standard[config], coefficients, weight)
                terms |= {f"{name} {config}": value for name, value in sums.items()}
        return terms

    @cached_property
    def _shrinkage(self) -> list[Tensor]:
        ridge = torch.from_numpy(self.plan.ridge)
        return [each.spectrum.shrinkage(ridge[self.plan.configs_of(k)]) for k, each in enumerate(self.smoothers)]

    @cached_property
    def _kept(self) -> list[Tensor]:
        return [
            form_weights(shrinkage, each.nuisance)
            for shrinkage, each in zip(self._shrinkage, self.smoothers, strict=True)
        ]

    @cached_property
    def _directions(self) -> list[Tensor]:
        """Coefficients of the nuisance functions, then of ĥ of each own prediction, (basis, function)."""
        return [
            torch.cat([_nuisance_directions(each), _beyond(coefficients * shrinkage, each.nuisance).T], dim=1)
            for each, coefficients, shrinkage in zip(self.smoothers, self.coefficients, self._shrinkage, strict=True)
        ]

    @cached_property
    def _diagonals(self) -> list[Tensor]:
        """d of each own prediction, then q of each, (basis, 2 · own config)."""
        return [
            torch.cat([shrinkage, kept]).T.contiguous()
            for shrinkage, kept in zip(self._shrinkage, self._kept, strict=True)
        ]

    def evidence(self, terms: Sums) -> list[Evidence]:
        """The estimate of each prediction and its uncertainty, from the sums of all rows."""
        return [self._evidence(terms, config) for config in range(len(self.plan.index))]

    def _evidence(self, terms: Sums, config: int) -> Evidence:
        if not self.varies[config]:
            return Evidence.of_constant()
        number = int(self.plan.index[config])
        place = int(np.flatnonzero(self.plan.configs_of(number) == config)[0])
        smoother, coefficients = self.smoothers[number], self.coefficients[number][place]
        kept, first = self._kept[number][place], smoother.nuisance
        lost, size, own_squares = terms[f"others {config}"].tolist()
        noise = NoiseSums(*terms[f"noise {config}"]).total
        residual, spectrum = terms[f"residual {config}"], smoother.spectrum
        return Evidence(
            variance=float(self.size[config] ** 2),
            estimate=float((kept * coefficients.square()).sum() - noise) + lost,
            fitted_variance=size,
            influence=terms[f"influence {config}"].numpy(),
            degenerate=2 * (float(kept[first:] @ residual.square() @ kept[first:]) - own_squares),
            test=partial(self._p_value, number, coefficients[first:], terms.get(f"null {config}")),
            regressor=self.plan.regressors[config],
            informative=float(kept.sum()) >= LEAST_DF,
            spent=spectrum.spent_on_factors,
        )

    def _p_value(self, number: int, coefficients: Tensor, covariance: Tensor | None) -> float:
        if covariance is None:
            return SMALLEST_P
        spectrum = self.smoothers[number].spectrum
        return p_value(
            forms(spectrum, ridges_to_try(self.plan.asked[number], spectrum)),
            CoefficientCovariance.of_columns(covariance),
            coefficients,
            self.plan.seed,
        )


@dataclass(frozen=True)
class _FunctionsAtRows:
    """The functions of A of one prediction at some rows.

    Shapes: nuisance (row, nuisance), fitted ĥ beyond the nuisance functions (row,), basis beyond them (row, function),
    own_weight S_ii and diagonal Q_ii (row,). The basis may be in 32 bits, see :meth:`FittedPlan.terms`.
    """

    nuisance: Tensor
    fitted: Tensor
    basis: Tensor
    own_weight: Tensor
    diagonal: Tensor

    def sums(self, prediction: Tensor, coefficients: Tensor, weight: Tensor) -> Sums:
        """What a prediction (row,) adds to the sums; coefficients of the nuisance functions (nuisance,)."""
        fitted, diagonal = self.fitted, self.diagonal
        centred = prediction - self.nuisance @ coefficients
        leverage = Leverage.of(self.own_weight, weight)
        of_factors, alone = factor_leverage(self.nuisance, len(coefficients), weight, leverage)
        beyond, alone_error = centred / alone, (centred - fitted) / leverage.left_out
        residual = (centred - fitted) / leverage.left_out.sqrt()
        weighted = influence_parts(prediction, fitted, residual) * weight.unsqueeze(1)
        return {
            "noise": leverage.noise_sums(diagonal, centred, fitted).stacked,
            "others": torch.stack(
                [
                    (of_factors * beyond * (beyond - alone_error)).sum(),
                    (weight * fitted.square()).sum(),
                    (weight * diagonal * residual.square()).square().sum(),
                ]
            ),
            "influence": weighted.T @ weighted,
            "residual": self._scatter(weight * residual),
        }

    def null(self, prediction: Tensor, coefficients: Tensor, weight: Tensor) -> Tensor:
        """What it adds to K of the test, (function, function)."""
        centred = prediction - self.nuisance @ coefficients
        return self._scatter(weight * centred / nuisance_left_out(self.nuisance, len(coefficients), weight).sqrt())

    def _scatter(self, scale: Tensor) -> Tensor:
        return scatter_matrix(scale.to(self.basis.dtype), self.basis).double()


def _nuisance_directions(smoother: BlockwiseSmoother) -> Tensor:
    """Coefficients of the nuisance functions, (basis, nuisance)."""
    return torch.eye(1 + smoother.transform.shape[1], smoother.nuisance, dtype=torch.float64)


def _beyond(coefficients: Tensor, nuisance: int) -> Tensor:
    """Coefficients without those of the nuisance functions: (…, basis) -> (…, basis)."""
    rest = coefficients.clone()
    rest[..., :nuisance] = 0
    return rest


def measured(plan: Plan, rows: Attributes, predictions: Array) -> list[Evidence]:
    """The evidence of several predictions on rows that are in memory; predictions (config, row)."""
    fitted = plan.fitted(plan.moments(rows, predictions))
    return fitted.evidence(fitted.terms(rows, predictions))


def _blocks(rows: Attributes, predictions: Array) -> Iterator[tuple[Attributes, Array]]:
    for part in parts(len(rows)):
        yield rows.take(np.arange(part.start, part.stop)), predictions[:, part]
