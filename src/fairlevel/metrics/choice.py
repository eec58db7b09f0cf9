"""Which conditional mean describes a prediction best: a discrete super learner over linear means and ridges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean import GroupMean, LinearMean, RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.cells.discrete_columns import discrete_columns, few_categories
from fairlevel.conditional_mean.many_rows import ManyRows
from fairlevel.conditional_mean.resolution import resolutions_for
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.conditional_mean.spectrum import RIDGES, Spectrum
from fairlevel.metrics.units import IndependentUnits
from fairlevel.threads import on_single_threads

PARSIMONY = 2.0
"""The price of a degree of freedom. Choice and estimate use the same rows: at 1, noise that was fitted would look like
DPVar where there is none."""

CLEARLY = 3.0  # standard errors


@dataclass(frozen=True)
class Candidate:
    """A conditional mean, its smoother for some rows, and which of them are independent."""

    mean: LinearMean
    smoother: LinearSmoother
    units: IndependentUnits

    def best(self, prediction: Tensor) -> tuple[Tensor, Tensor]:
        """The ridge for each prediction and its leave-one-out error, both (config,); the largest ridge of several."""
        error, index = self.errors(prediction).min(dim=-1)
        return self.ridges[index], error

    @property
    def ridges(self) -> Tensor:
        """The ridges to choose from, the largest first."""
        ridge = self.mean.ridge
        return RIDGES.flip(0) if ridge is None else torch.tensor([ridge], dtype=torch.float64)

    def errors(self, prediction: Tensor) -> Tensor:
        """The leave-one-out error of each ridge, (config, ridge)."""
        return self.units.errors(prediction, self.smoother, self.ridges, PARSIMONY)


@dataclass(frozen=True)
class ChosenCandidates:
    """For each prediction the index of its candidate and the ridge; both (config,)."""

    candidates: tuple[Candidate, ...]
    index: Tensor
    ridge: Tensor

    def describe(self, config: int = 0) -> str:
        """The candidate of a prediction in words."""
        candidate = self.candidates[int(self.index[config])]
        return in_words(candidate.mean, candidate.smoother.spectrum, float(self.ridge[config]))


def in_words(mean: LinearMean, spectrum: Spectrum, ridge: float) -> str:
    """A mean with its ridge and what that leaves of it."""
    kept = f"ridge {ridge:.3g}" if np.isfinite(ridge) else "unpenalised functions only"
    return f"{mean.label} ({kept}, {float(spectrum.df(ridge)):.1f} degrees of freedom)"


def candidates_for(
    prediction: Tensor, rows: Attributes, seed: int, regressor: LinearMean | None = None
) -> tuple[Candidate, ...]:
    """The given regressor, or all means that suit these attributes and predictions, (config, row), each prepared for
    the rows.
    """
    return prepared(suitable_means(prediction, rows, seed, regressor), rows, seed)


def prepared(means: tuple[LinearMean, ...], rows: Attributes, seed: int) -> tuple[Candidate, ...]:
    """Candidates with these means."""
    units = IndependentUnits.of(rows)
    return tuple(Candidate(mean, mean.prepare(rows, seed=seed), units) for mean in means)


def candidates_in_turn(
    prediction: Tensor, rows: Attributes, seed: int, regressor: LinearMean | None = None
) -> Iterator[Candidate]:
    """The same on a sample of rows, each prepared when it is asked for and from moments: one basis is in memory."""
    units = IndependentUnits.of(rows)
    for mean in suitable_means(prediction, rows, seed, regressor):
        yield Candidate(mean, ManyRows.factored(mean, rows, seed, np.float64).whole(), units)


def suitable_means(
    prediction: Tensor, rows: Attributes, seed: int, regressor: LinearMean | None = None
) -> tuple[LinearMean, ...]:
    """Groups for discrete attributes; splines and random features where any attribute is continuous, also of narrower
    bandwidths where these describe some of the predictions better, (config, row). A given regressor is the only one.
    """
    if regressor is not None:
        return resolutions_for(regressor, rows, prediction, seed)
    varying = _varying(rows.columns)
    if few_categories(varying).all():
        return (GroupMean(),)
    groups = (GroupMean(),) if discrete_columns(varying).any() else ()
    return (*groups, SplineMean(), *resolutions_for(RandomFeaturesMean(), rows, prediction, seed))


def general_mean(sensitive: Array) -> LinearMean:
    """The one mean that finds differences of any smooth shape: random features, or groups where every attribute has few
    values. Constant columns say nothing; groups where there is nothing else.
    """
    return GroupMean() if few_categories(_varying(sensitive)).all() else RandomFeaturesMean()


def _varying(sensitive: Array) -> Array:
    return sensitive[:, np.ptp(sensitive, axis=0) > 0]


class Offer(NamedTuple):
    """What a candidate offers each prediction: a ridge and its leave-one-out error, both (config,); and, where averages
    are among the candidates, what it leaves of each row, (config, row).
    """

    ridge: Tensor
    error: Tensor
    residual: Tensor | None = None


def offer(candidate: Candidate, prediction: Tensor, compared: bool) -> Offer:
    """Of a candidate for predictions (config, row); with ``compared`` averages are among the candidates."""
    ridge, error = candidate.best(prediction)
    if not compared:
        return Offer(ridge, error)
    return Offer(ridge, error, candidate.units.leave_out(prediction, candidate.smoother, ridge).residual)


def best_offers(offers: Sequence[Offer], averages: int | None, rows: Attributes) -> tuple[Tensor, Tensor]:
    """The number of the candidate and the ridge for each prediction, (config,): the smallest error; the candidate
    ``averages``, without a ridge, where rows of one profile have more in common than the choice can follow. Many
    degrees of freedom may cost more than they explain.
    """
    index = torch.stack([each.error for each in offers]).argmin(dim=0)
    ridge = torch.stack([each.ridge for each in offers]).gather(0, index.unsqueeze(0))[0]
    residuals = [each.residual for each in offers if each.residual is not None]
    if averages is None or len(residuals) < 2:
        return index, ridge
    columns = rows.columns
    columns = columns[:, discrete_columns(columns)]
    left = torch.stack(residuals)[index, torch.arange(len(index))]
    needed = torch.from_numpy(in_common(left.numpy(), columns, rows.weight, rows.groups) > CLEARLY)
    return torch.where(needed, averages, index), torch.where(needed, float(RIDGES.min()), ridge)


def in_common(residual: Array, profiles: Array, weight: Array, groups: Index | None) -> Array:
    r"""How many standard errors the products of residuals of two rows with the same profile are above 0 on average,
    (config,): what is left of differences between profiles, whatever the noise of each row is.

    .. math:: \sum_c W_c \frac{(\sum_u s_{cu})^2 - \sum_u s_{cu}^2}{W_c^2 - \sum_u W_{cu}^2}, \qquad
              s_{cu} = \sum_{i \in c, u} w_i r_i

    over profiles c and units u, rows or groups, with :math:`2 (\sum_u s_{cu}^2)^2 - 2 \sum_u s_{cu}^4` for the
    variance of a numerator. Shapes: residual (config, row), profiles (row, column), weight and groups (row,).
    """
    _, cell = np.unique(profiles, axis=0, return_inverse=True)
    unit = np.arange(len(cell)) if groups is None else np.unique(groups, return_inverse=True)[1]
    pairs, number = np.unique(np.stack([cell.ravel(), unit]), axis=1, return_inverse=True)
    cells, count = pairs[0], int(pairs[0].max()) + 1
    size = np.bincount(number.ravel(), weight)
    whole = np.bincount(cells, size, count)
    divisor = whole**2 - np.bincount(cells, size**2, count)
    factor = np.where(divisor > 1e-9 * whole**2, whole / np.where(divisor > 0, divisor, 1.0), 0.0)
    found = []
    for own in residual:
        score = np.bincount(number.ravel(), weight * own)
        square = np.bincount(cells, score**2, count)
        value = factor @ (np.bincount(cells, score, count) ** 2 - square)
        variance = factor**2 @ (2 * square**2 - 2 * np.bincount(cells, score**4, count))
        found.append(value / np.sqrt(variance) if variance > 0 else 0.0)
    return np.array(found)


def choose(prediction: Tensor, candidates: tuple[Candidate, ...], rows: Attributes) -> ChosenCandidates:
    """The best candidate and ridge for each prediction, (config, row), on rows with these attributes."""
    averages = averages_among([each.mean for each in candidates])
    offers = on_single_threads(*(partial(offer, each, prediction, averages is not None) for each in candidates))
    return ChosenCandidates(candidates, *best_offers(offers, averages, rows))


def averages_among(means: Sequence[LinearMean]) -> int | None:
    """The number of the mean that is averages, among several."""
    found = [number for number, each in enumerate(means) if each.averages]
    return found[0] if found and len(means) > 1 else None
