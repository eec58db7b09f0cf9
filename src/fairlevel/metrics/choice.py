"""Which conditional mean describes a prediction best: a discrete super learner over linear means and ridges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean import GroupMean, LinearMean, RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.cells.discrete_columns import discrete_columns, few_categories
from fairlevel.conditional_mean.many_rows import ManyRows, by_row
from fairlevel.conditional_mean.resolution import resolutions_for
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.conditional_mean.spectrum import RIDGES, Spectrum
from fairlevel.metrics.units import IndependentUnits, null_variance
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
        yield Candidate(mean, ManyRows.factored(mean, rows, seed, by_row).whole(), units)


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


def choose(prediction: Tensor, candidates: tuple[Candidate, ...]) -> ChosenCandidates:
    """The candidate with the smallest leave-one-out error for each prediction, (config, row); averages of rows with the
    same attributes where these differ by more than it can follow.
    """
    ridges, errors = zip(*on_single_threads(*(partial(each.best, prediction) for each in candidates)), strict=True)
    index = torch.stack(errors).argmin(dim=0)
    found = ChosenCandidates(candidates, index, torch.stack(ridges).gather(0, index.unsqueeze(0)).squeeze(0))
    averages = [number for number, each in enumerate(candidates) if each.mean.averages]
    if len(candidates) == 1 or not averages:
        return found
    return on_single_threads(partial(_averages_where_needed, prediction, found, averages[0]))[0]


def _averages_where_needed(prediction: Tensor, found: ChosenCandidates, number: int) -> ChosenCandidates:
    """With the averages of candidate ``number`` where their DPVar, which has no bias, is larger than that of the choice
    by ``CLEARLY`` standard errors: their many degrees of freedom may cost more than they explain.
    """
    averages = found.candidates[number]
    ridge = torch.full_like(found.ridge, float(averages.ridges.min()))
    of_averages = averages.units.leave_out(prediction, averages.smoother, ridge)
    followed = torch.empty_like(of_averages.estimate)
    for chosen in torch.unique(found.index).tolist():
        own, which = found.candidates[chosen], found.index == chosen
        followed[which] = own.units.leave_out(prediction[which], own.smoother, found.ridge[which]).estimate
    error = null_variance(of_averages, averages.smoother, averages.units).clamp_min(0).sqrt()
    needed = of_averages.estimate > followed + CLEARLY * error
    return ChosenCandidates(
        found.candidates, torch.where(needed, number, found.index), torch.where(needed, ridge, found.ridge)
    )
