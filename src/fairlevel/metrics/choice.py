"""Which conditional mean describes a prediction best: a discrete super learner over linear means and ridges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean import GroupMean, LinearMean, RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean.groups import discrete_columns
from fairlevel.conditional_mean.protocol import Array
from fairlevel.conditional_mean.smoother import LinearSmoother

PARSIMONY = 2.5  # choice and estimate share their rows; at 1, chosen noise would show as DPVar near zero


@dataclass(frozen=True)
class Candidate:
    """A prepared smoother, the name of its family and the ridge asked for (None: chosen)."""

    name: str
    smoother: LinearSmoother
    ridge: float | None

    def ridges(self, prediction: Tensor) -> Tensor:
        """The ridge for each prediction, (config,)."""
        if self.ridge is None:
            return self.smoother.choose_ridge(prediction, cost=PARSIMONY)
        return prediction.new_full((len(prediction),), self.ridge)


@dataclass(frozen=True)
class Choice:
    """For each prediction the index of its candidate and the ridge; both (config,)."""

    candidates: tuple[Candidate, ...]
    index: Tensor
    ridge: Tensor

    def describe(self, config: int = 0) -> str:
        candidate = self.candidates[int(self.index[config])]
        df = float(candidate.smoother.df(self.ridge[config]))
        return f"{candidate.name} (ridge {float(self.ridge[config]):.3g}, {df:.1f} degrees of freedom)"


def candidates(
    sensitive: Array, row_weight: Array | None, seed: int, regressor: LinearMean | None
) -> tuple[Candidate, ...]:
    """Prepare the regressor that was asked for, or all that suit these attributes."""
    means = [regressor] if regressor is not None else suitable_means(sensitive)
    return tuple(
        Candidate(mean.name, mean.prepare(sensitive, row_weight=row_weight, seed=seed), mean.ridge) for mean in means
    )


def suitable_means(sensitive: Array) -> Sequence[LinearMean]:
    """Groups for discrete attributes; splines and random features where any attribute is continuous."""
    discrete = discrete_columns(sensitive)
    smooth: list[LinearMean] = [] if discrete.all() else [SplineMean(), RandomFeaturesMean()]
    return [*([GroupMean()] if discrete.any() else []), *smooth]


def choose(prediction: Tensor, known: tuple[Candidate, ...]) -> Choice:
    """The candidate with the smallest generalised cross-validation error for each prediction; (config, row) ->
    :class:`Choice`.
    """
    ridges = torch.stack([candidate.ridges(prediction) for candidate in known])
    errors = torch.stack(
        [
            candidate.smoother.gcv(prediction, ridge, cost=PARSIMONY).diagonal()
            for candidate, ridge in zip(known, ridges, strict=True)
        ]
    )
    index = errors.argmin(dim=0)
    return Choice(known, index, ridges.gather(0, index.unsqueeze(0)).squeeze(0))
