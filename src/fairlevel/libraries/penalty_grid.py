"""A grid over the weight of one penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import torch

from fairlevel.exceptions import Diverged
from fairlevel.fronts.refinement import check_weights
from fairlevel.libraries.protocol import Library, Workshop
from fairlevel.penalties import ClosedFBO, Penalty
from fairlevel.training.engine import Progress, train
from fairlevel.training.grid import Configurations, Samples
from fairlevel.training.outcome import Status
from fairlevel.training.tuning import tuned

WEIGHTS = (0.0, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 150.0, 400.0)


@dataclass(frozen=True)
class PenaltyGrid:
    """One network a weight, all trained as one program."""

    penalty: Penalty = ClosedFBO()
    weights: tuple[float, ...] = WEIGHTS

    families: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_weights(self.weights)

    def train(self, samples: Samples, held_out: Samples, workshop: Workshop, progress: Progress) -> Library:
        penalty = self.penalty
        if samples.sensitive is not None:
            penalty = tuned(penalty, samples.sensitive, samples.y, samples.sample_weight, workshop.seed)
        trained = train(
            samples,
            Configurations.of(self.weights, workshop.optimizer.learning_rate),
            predictor=workshop.predictor,
            penalty=penalty,
            optimizer=workshop.optimizer,
            held_out=held_out,
            seed=workshop.seed,
            device=workshop.device,
            progress=progress,
        )
        alive = np.array([status is not Status.DIVERGED for status in trained.outcome.status])
        if not alive.any():
            raise Diverged(
                f"Training diverged at every weight of {penalty.name}; lower the step size, such as "
                "optimizer=Adam(learning_rate=0.001)."
            )
        weights = np.array(self.weights)[alive]
        names = [f"{penalty.name} {weight:g}" for weight in weights]
        table = pd.DataFrame({"candidate": names, "family": penalty.name, "weight": weights})
        parameters = trained.outcome.parameters[torch.from_numpy(alive)]
        return Library(trained.network, trained.input_map, parameters, torch.eye(len(parameters)), table)
