"""Several sources in one: each gets an equal part of the models that may be trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from fairlevel.candidates.candidate_set import CandidateSet
from fairlevel.candidates.protocol import CandidateRows, CandidateSource, Limits, Report, TrainingSetup, portion
from fairlevel.candidates.spectral_path import SpectralPath

FEWEST_WEIGHTS = 4  # a setting is worth training with at least so many


@dataclass(frozen=True)
class Families:
    """Families that err in different ways; together they train no more models than any other source.

    The spectral family is left out where the predictor has no linear head.
    """

    parts: tuple[CandidateSource, ...]

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        parts = [part for part in self.parts if setup.predictor.linear_head or not isinstance(part, SpectralPath)]
        own = self.limits_of_one(limits, len(parts))
        trained = [
            part.train(rows, setup, own, portion(report, number, len(parts))) for number, part in enumerate(parts)
        ]
        numbered, first = [], 0
        for found in trained:
            numbered.append(found.renumbered(first))
            first += 1 + int(found.table["setting"].max())
        return reduce(CandidateSet.joined, numbered)

    @staticmethod
    def limits_of_one(limits: Limits, families: int) -> Limits:
        """Limits of each of several families."""
        each = max(1, limits.models // families)
        settings = max(1, min(limits.settings // 2, each // FEWEST_WEIGHTS))
        weights = max(1, each // settings)
        return replace(limits, models=settings * weights, settings=settings, weights=weights)
