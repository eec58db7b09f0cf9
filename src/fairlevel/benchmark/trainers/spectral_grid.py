"""The spectral path as a method of the study: two trained networks a step size, then eigendecompositions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby

import numpy as np
import pandas as pd

from fairlevel.benchmark.candidates import Candidates, on_validation
from fairlevel.benchmark.problem import Problem
from fairlevel.benchmark.protocol import Protocol
from fairlevel.benchmark.trainers.grid import PLAIN_RATE, Grid, Setting
from fairlevel.fronts.refinement import check_weights, coarse
from fairlevel.libraries import Spectral
from fairlevel.penalties import ClosedFBO
from fairlevel.training.outcome import Status


@dataclass(frozen=True)
class Head:
    """A setting of the spectral path: the ridge of the last layer and the step size of the two networks below it."""

    ridge: float
    learning_rate: float = PLAIN_RATE


@dataclass(frozen=True)
class SpectralGrid:
    """Weights along the path × heads; heads of one step size share their networks and stand next to each other."""

    weights: tuple[float, ...]
    heads: tuple[Head, ...]
    middle: float = 5.0

    def __post_init__(self) -> None:
        check_weights(self.weights)

    def train(self, problem: Problem, protocol: Protocol, device: str) -> Candidates:
        weights = coarse(self.weights, protocol.weights)
        pair = replace(protocol, settings=1, weights=2)
        parts = []
        for rate, group in groupby(enumerate(self.heads[: protocol.settings]), key=lambda pair: pair[1].learning_rate):
            bodies = Grid((0.0, self.middle), (Setting(ClosedFBO(), rate),)).train(problem, pair, device)
            ridges = {number: head.ridge for number, head in group}
            parts.append(self._on(bodies, ridges, tuple(weights.tolist()), problem))
        return on_validation(reduce(Candidates.joined, parts), problem, protocol)

    def _on(
        self, bodies: Candidates, ridges: dict[int, float], weights: tuple[float, ...], problem: Problem
    ) -> Candidates:
        """The paths on two trained networks, one a ridge; where one of the two diverged there is nothing to stand
        on.
        """
        grown = bool(bodies.alive.all())
        table = pd.DataFrame(
            {
                "family": "spectral",
                "setting": np.repeat(list(ridges), len(weights)),
                "weight": np.tile(weights, len(ridges)),
                "learning_rate": bodies.table["learning_rate"].iloc[0],
                "status": (Status.FINISHED if grown else Status.DIVERGED).value,
            }
        )
        if not grown:
            return replace(bodies, table=table, library=bodies.library.only(np.empty(0, dtype=np.int64)))
        path = Spectral(self.middle, weights, tuple(ridges.values()))
        return replace(bodies, table=table, library=path.on(bodies.library, problem.training, problem.seed))
