"""Several sources in one: each gets an equal part of the models that may be trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from fairlevel.candidates.candidate_set import CandidateSet
from fairlevel.candidates.protocol import CandidateRows, CandidateSource, Limits, Report, TrainingSetup, portion

FEWEST_WEIGHTS = 4  # fewer weights are not worth the training of a setting


@dataclass(frozen=True)
class Families:
    """Families that err in different ways; together they train no more models than any other source.

    Families that cannot read the rows, or that need a linear head which the predictor does not have, are left out.
    """

    parts: tuple[CandidateSource, ...]

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        parts = [part for part in self.parts if part.possible(rows, setup)]
        own, found, first = self.limits_of_one(limits, len(parts)), [], 0
        for number, part in enumerate(parts):
            steps = (
                None
                if rows.steps is None
                else {key._replace(setting=key.setting - first): taken for key, taken in rows.steps.items()}
            )
            trained = part.train(replace(rows, steps=steps), setup, own, portion(report, number, len(parts)))
            found.append(trained.renumbered(first))
            first += 1 + int(trained.table["setting"].max())
        return reduce(CandidateSet.joined, found)

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return any(part.possible(rows, setup) for part in self.parts)

    @staticmethod
    def limits_of_one(limits: Limits, families: int) -> Limits:
        """Limits of each of several families."""
        each = max(1, limits.models // families)
        settings = max(1, min(limits.settings // 2, each // FEWEST_WEIGHTS))
        weights = max(1, each // settings)
        return replace(limits, models=settings * weights, settings=settings, weights=weights)
