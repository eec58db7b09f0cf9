"""Several cheap families in one library: the default of a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlevel.libraries.penalty_grid import PenaltyGrid
from fairlevel.libraries.protocol import Library, Workshop
from fairlevel.libraries.spectral import Spectral
from fairlevel.penalties import GDP, RootFBO
from fairlevel.training.engine import Progress
from fairlevel.training.grid import Samples

BODY_WEIGHTS = (0.0, 0.7)  # of the root grid, whose last layers carry the spectral candidates


@dataclass(frozen=True)
class Mixed:
    """The root of DPVar and GDP at several weights each, and the spectral path on two of the networks: families that
    err in different ways; other mixtures of three or four families do as well (docs/results/path.md).
    """

    root: PenaltyGrid = PenaltyGrid(RootFBO(), (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0))
    others: tuple[PenaltyGrid, ...] = (PenaltyGrid(GDP(), (0.2, 0.5, 1.0, 2.0, 5.0, 12.0)),)
    spectral: Spectral = Spectral(
        alphas=(0.0, *np.geomspace(0.1, 1000, 11).round(3).tolist()), ridges=(1e-5, 1e-4, 1e-3)
    )

    @property
    def families(self) -> int:
        return 1 + len(self.others)

    def train(self, samples: Samples, held_out: Samples, workshop: Workshop, progress: Progress) -> Library:
        library = self.root.train(samples, held_out, workshop, progress)
        bodies = library.only(np.flatnonzero(library.table["weight"].isin(BODY_WEIGHTS)))
        library = library.joined(self.spectral.on(bodies, samples.joined(held_out), workshop.seed))
        for grid in self.others:
            library = library.joined(grid.train(samples, held_out, workshop, progress))
        return library
