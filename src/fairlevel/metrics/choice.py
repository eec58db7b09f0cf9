"""Which conditional mean describes a prediction best: a discrete super learner over linear means and ridges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean import GroupMean, LinearMean, RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.groups import discrete_columns, few_levels
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.conditional_mean.spectrum import RIDGES
from fairlevel.exceptions import InvalidType

PARSIMONY = 2.0  # choice and estimate share their rows; at 1, chosen noise would show as DPVar near zero


@dataclass(frozen=True)
class Candidate:
    """A prepared smoother, the name of its family and the ridge asked for (None: chosen)."""

    name: str
    smoother: LinearSmoother
    ridge: float | None

    def best(self, prediction: Tensor) -> tuple[Tensor, Tensor]:
        """The ridge for each prediction and its leave-one-out error, both (config,); the largest ridge of several."""
        ridges = RIDGES.flip(0) if self.ridge is None else torch.tensor([self.ridge], dtype=torch.float64)
        errors = self.smoother.leave_one_out(prediction, ridges, cost=PARSIMONY)
        error, index = errors.min(dim=-1)
        return ridges[index], error


@dataclass(frozen=True)
class Choice:
    """For each prediction the index of its candidate and the ridge; both (config,)."""

    candidates: tuple[Candidate, ...]
    index: Tensor
    ridge: Tensor

    def describe(self, config: int = 0) -> str:
        candidate = self.candidates[int(self.index[config])]
        df = float(candidate.smoother.spectrum.df(self.ridge[config]))
        return f"{candidate.name} (ridge {float(self.ridge[config]):.3g}, {df:.1f} degrees of freedom)"


def candidates(
    sensitive: Array, row_weight: Array | None, seed: int, regressor: LinearMean | None
) -> tuple[Candidate, ...]:
    """Prepare the regressor that was asked for, or all that suit these attributes."""
    if regressor is not None and not isinstance(regressor, LinearMean):
        raise InvalidType(
            f"regressor={regressor!r} was given; a conditional mean object is needed, such as SplineMean() or "
            "MLPMean()."
        )
    means = [regressor] if regressor is not None else suitable_means(sensitive)
    rows = Attributes(sensitive, row_weight=row_weight)
    return tuple(Candidate(mean.name, mean.prepare(rows, seed=seed), mean.ridge) for mean in means)


def suitable_means(sensitive: Array) -> Sequence[LinearMean]:
    """Groups for discrete attributes; splines and random features where any attribute is continuous."""
    smooth: list[LinearMean] = [] if few_levels(sensitive).all() else [SplineMean(), RandomFeaturesMean()]
    return [*([GroupMean()] if discrete_columns(sensitive).any() else []), *smooth]


def choose(prediction: Tensor, known: tuple[Candidate, ...]) -> Choice:
    """The candidate with the smallest leave-one-out error for each prediction; (config, row) -> :class:`Choice`."""
    ridges, errors = zip(*(candidate.best(prediction) for candidate in known), strict=True)
    index = torch.stack(errors).argmin(dim=0)
    return Choice(known, index, torch.stack(ridges).gather(0, index.unsqueeze(0)).squeeze(0))
