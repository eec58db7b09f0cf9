"""Figures beside the headline of an audit, on a random part of the rows: which attributes, other measures, profiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairlevel.auditing.attribution import attribute_shares
from fairlevel.auditing.dependence import Measure, measure_dependence, random_pairings
from fairlevel.auditing.worst_profiles import worst_profiles
from fairlevel.data.sensitive import is_number
from fairlevel.extras import has_networks
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.inputs import EvaluationRows
from fairlevel.metrics.profile import MeanProfile, category_profiles, mean_profiles

SIDE_ROWS = 10_000
"""Rows behind the side figures; the headline uses all."""
PAPER_ROWS, FLOOR_DRAWS = 2000, 4
"""Rows of the paper's estimate, which trains networks, and random pairings that show its noise."""


class PaperEstimate(NamedTuple):
    """The paper's diagnostic, and its mean over random pairings of A with the predictions."""

    value: float
    by_chance: float


@dataclass(frozen=True)
class SideFigures:
    """See :class:`fairlevel.auditing.answer.Audit`."""

    measures: tuple[Measure, ...]
    paper: PaperEstimate | None
    attributes: pd.DataFrame
    profiles: dict[str, MeanProfile]
    worst: pd.DataFrame

    @staticmethod
    def tasks(side: EvaluationRows, frame: pd.DataFrame, seed: int) -> tuple[Callable[[], Any], ...]:
        """What computes them, in the order of the fields; ``frame`` holds the attributes as they were given. The one
        that needs most memory comes first, beside the one that needs least, and short ones last.
        """
        names = tuple(map(str, frame.columns))
        return (
            lambda: measure_dependence(
                side.prediction, side.attributes(seed).values, side.row_weight, seed, side.groups
            ),
            lambda: _paper_estimate(side, seed),
            lambda: attribute_shares(side.prediction, side.attributes(seed), names, side.sources, seed),
            lambda: _profiles(side, frame),
            lambda: worst_profiles(side, frame, seed),
        )


def _paper_estimate(rows: EvaluationRows, seed: int) -> PaperEstimate | None:
    """It trains networks; None where PyTorch is not installed."""
    if not has_networks():
        return None
    first, random = rows.take(np.arange(min(PAPER_ROWS, len(rows)))), np.random.default_rng(seed)
    shuffled = first.prediction[random_pairings(len(first), FLOOR_DRAWS, first.groups, random)]
    predictions = np.vstack([first.prediction, shuffled])
    estimates = dpvar_of_many(predictions, first.attributes(seed), "paper", random_state=seed)
    return PaperEstimate(float(estimates[0]), float(estimates[1:].mean()))


def _profiles(rows: EvaluationRows, frame: pd.DataFrame) -> dict[str, MeanProfile]:
    """The average prediction along each column of the frame."""
    prediction, weight, groups, profiles = rows.prediction[None], rows.row_weight, rows.groups, {}
    for name, column in frame.items():
        if is_number(column.dtype):
            (profile,) = mean_profiles(prediction, column.to_numpy(dtype=np.float64)[:, None], weight, groups)
        else:
            codes, categories = pd.factorize(column.astype(str), sort=True)
            (profile,) = category_profiles(prediction, codes.astype(np.int64), categories.tolist(), weight, groups)
        profiles[str(name)] = profile
    return profiles
