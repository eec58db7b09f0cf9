"""The spectral path: two trained networks, then every trade-off from an eigendecomposition a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import torch

from fairlevel.conditional_mean import LinearMean, RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.libraries.penalty_grid import PenaltyGrid
from fairlevel.libraries.protocol import Library, Workshop
from fairlevel.penalties import ClosedFBO
from fairlevel.training.engine import Progress
from fairlevel.training.grid import Samples
from fairlevel.training.spectral import last_features, spectral_head, with_heads

ALPHAS = (0.0, *np.geomspace(0.03, 3000, 23).round(4).tolist())
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True)
class Spectral:
    """One plain network and one at a middle weight; on their last hidden layers the front is solved, not trained.

    Parameters
    ----------
    weight : the middle weight
    alphas : weights along the path
    ridges : ridges of the head, as multiples of the mean second moment of its features; which is best is for the rows
        that choose among candidates to say
    mean : the conditional mean behind the disparity
    """

    weight: float = 5.0
    alphas: tuple[float, ...] = ALPHAS
    ridges: tuple[float, ...] = RIDGES
    mean: LinearMean = RandomFeaturesMean()

    families: ClassVar[int] = 1

    def train(self, samples: Samples, held_out: Samples, workshop: Workshop, progress: Progress) -> Library:
        bodies = PenaltyGrid(ClosedFBO(self.mean), (0.0, self.weight)).train(samples, held_out, workshop, progress)
        return self.on(bodies, samples.joined(held_out), workshop.seed)

    def on(self, bodies: Library, samples: Samples, seed: int) -> Library:
        """The path on networks that are trained already; pass all training rows, early stopping's included."""
        if samples.sensitive is None:
            raise TypeError("The spectral path needs sensitive attributes.")
        target = torch.from_numpy(samples.y)
        smoother = self.mean.prepare(Attributes(samples.sensitive), seed=seed)
        chosen = smoother.choose_ridge(target.unsqueeze(0)) if self.mean.ridge is None else self.mean.ridge
        with torch.no_grad():
            features = last_features(bodies.network, bodies.parameters, bodies.input_map(torch.from_numpy(samples.x)))
        alphas = torch.tensor(self.alphas, dtype=torch.float64)
        heads, rows = [], []
        for ridge in self.ridges:
            head = spectral_head(features, target, smoother, float(chosen), ridge)
            coefficients = head.coefficients(alphas)
            intercepts = head.intercepts(coefficients)
            heads.append(with_heads(bodies.network, bodies.parameters, coefficients, intercepts))
            names = [f"spectral {alpha:g} ridge {ridge:g}" for alpha in self.alphas]
            rows.append(pd.DataFrame({"candidate": names, "family": "spectral", "weight": self.alphas}))
        parameters = torch.cat(heads)  # (candidate, network, parameter)
        candidates, networks, _ = parameters.shape
        shares = torch.eye(candidates, dtype=torch.float64).repeat_interleave(networks, dim=1)
        table = pd.concat(rows, ignore_index=True)
        return Library(bodies.network, bodies.input_map, parameters.flatten(0, 1), shares, table)
