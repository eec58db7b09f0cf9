"""Several ways in one: each gets an equal share of the models that a method may train."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from fairlevel.benchmark.candidates import Candidates, Trainer
from fairlevel.benchmark.problem import Problem
from fairlevel.benchmark.protocol import Protocol

FEWEST_WEIGHTS = 4  # a setting is worth having with at least these


@dataclass(frozen=True)
class Families:
    """Trainers whose candidates form one library; together they train no more models than any other method."""

    parts: tuple[Trainer, ...]

    def train(self, problem: Problem, protocol: Protocol, device: str) -> Candidates:
        each = max(1, protocol.candidates // len(self.parts))
        settings = max(1, min(protocol.settings // 2, each // FEWEST_WEIGHTS))
        share = replace(protocol, settings=settings, weights=each // settings)
        trained = [part.train(problem, share, device) for part in self.parts]
        numbered = [
            replace(candidates, table=candidates.table.assign(setting=candidates.table["setting"] + number * settings))
            for number, candidates in enumerate(trained)
        ]
        return reduce(Candidates.joined, numbered)
