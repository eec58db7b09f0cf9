"""Fairness-aware grouping: the cells of A between which predictions differ most, then a barycentre of these cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.exceptions import InvalidInput
from fairlevel_study.systems.barycentres import LocationScale, moved_by_group
from fairlevel_study.systems.groups import Groups
from fairlevel_study.systems.networks import plain_network
from fairlevel_study.systems.protocol import Data, FittedFunctions

MOST_BLOCKS = 512  # neighbouring rows are merged beyond that


def best_cuts(sums: Array, counts: Array, cells: int) -> Index:
    r"""Where to cut a sequence of blocks into ``cells`` runs, so that Σ_g n_g m_g² is largest: a dynamic programme.

    With S and N the cumulative sums and counts, B_k(j) = max_{i<j} B_{k−1}(i) + (S_j − S_i)² / (N_j − N_i). Shapes:
    sums, counts (block,) -> first blocks of runs 2 to ``cells``, (cells − 1,).
    """
    total, number = np.concatenate([[0.0], sums.cumsum()]), np.concatenate([[0.0], counts.cumsum()])
    size = len(total)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (total[None, :] - total[:, None]) ** 2 / (number[None, :] - number[:, None])
    gain[np.tril_indices(size)] = -np.inf  # a run holds at least one block
    best, choices = gain[0], []
    for _ in range(cells - 1):
        reach = best[:, None] + gain
        choices.append(reach.argmax(axis=0))
        best = reach.max(axis=0)
    cuts, end = [], size - 1
    for choice in reversed(choices):
        end = int(choice[end])
        cuts.append(end)
    return np.array(cuts[::-1], dtype=np.int64)


def cuts_between(score: Array, prediction: Array, cells: int) -> Array:
    """Edges between intervals of ``score`` with the largest between-group variance of predictions; score and prediction
    (row,) -> (cells − 1,). Rows of one score stay together.
    """
    values, of_value = np.unique(score, return_inverse=True)
    if not 2 <= cells <= len(values):
        raise InvalidInput(
            f"bins={cells} was given; grouping needs a number between 2 and {len(values)}, the different values of A."
        )
    block = np.arange(len(values)) * min(len(values), MOST_BLOCKS) // len(values)
    of_row = block[of_value]
    centred = prediction - prediction.mean()
    sums: Array = np.bincount(of_row, centred).astype(np.float64)
    cuts = best_cuts(sums, np.bincount(of_row).astype(np.float64), cells)
    first = np.searchsorted(block, cuts)
    edges: Array = (values[first - 1] + values[first]) / 2
    return edges


@dataclass(frozen=True)
class FairnessAwareGrouping:
    """Groups found in A, then the barycentre of these groups (after Shilova et al. 2025). It needs A to predict.

    One attribute is cut into intervals; several are ordered by the smoothed average prediction E[f|A] first. A strength
    t mixes (1 − t) f + t g.
    """

    bins: int = 4
    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "grouping"
    uses_attributes: ClassVar[bool] = True

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> FittedFunctions:
        members = plain_network(data.x, data.y, setup, self.learning_rate)
        prediction = members.predict(data.x)[0]
        smoothed = LocationScale.of(prediction, data.a, setup.seed)

        def score(a: Array) -> Array:
            return a[:, 0] if a.shape[1] == 1 else smoothed.location_and_scale(a)[0]

        number = score(data.a)
        edges = cuts_between(number, prediction, min(self.bins, len(np.unique(number))))
        return moved_by_group(members, Groups.intervals(edges, score), data, strengths)
