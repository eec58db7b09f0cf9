"""What a library of trained candidates is, and what trains one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Optimizer
from fairlevel.predictors import InputMap, Predictor
from fairlevel.training.engine import Progress
from fairlevel.training.grid import Samples

_BLOCK = 2**25  # numbers of a layer's activations computed at once


@dataclass(frozen=True)
class Library:
    """Candidates as sums of networks on one input map.

    Shapes: parameters (network, parameter), shares (candidate, network); ``table`` has one row a candidate: its name,
    the same whenever the same solver trains it, its family and weight.
    """

    network: Network
    input_map: InputMap
    parameters: Tensor
    shares: Tensor
    table: pd.DataFrame

    def __len__(self) -> int:
        return len(self.table)

    @torch.no_grad()
    def predict(self, x: Array, device: torch.device | str = "cpu") -> Array:
        """Standardised x (row, feature) -> (candidate, row)."""
        widest = max((*self.network.hidden, 1))
        size = max(1, _BLOCK // (max(1, len(self.parameters)) * widest))
        parameters, shares = self.parameters.to(device, torch.float64), self.shares.to(device, torch.float64)
        blocks = []
        for start in range(0, len(x), size):
            inputs = self.input_map(torch.from_numpy(x[start : start + size]).to(device))
            blocks.append((shares @ self.network.predict(parameters, inputs)).cpu())
        predictions: Array = torch.cat(blocks, dim=1).numpy()
        return predictions

    def only(self, chosen: Index) -> Library:
        """Some of the candidates, by position, and the networks they need."""
        rows = torch.from_numpy(np.array(chosen, dtype=np.int64))
        shares = self.shares[rows]
        used = (shares != 0).any(dim=0)
        return replace(
            self,
            parameters=self.parameters[used],
            shares=shares[:, used],
            table=self.table.iloc[rows.numpy()].reset_index(drop=True),
        )

    def joined(self, other: Library) -> Library:
        """Both libraries as one; they share network and input map."""
        return replace(
            self,
            parameters=torch.cat([self.parameters.double(), other.parameters.double()]),
            shares=torch.block_diag(self.shares.double(), other.shares.double()),  # type: ignore[no-untyped-call]
            table=pd.concat([self.table, other.table], ignore_index=True),
        )

    def mixture(self, shares: Array) -> tuple[Tensor, Tensor]:
        """Networks (network, parameter) and their shares (network,) in a mixture of candidates; unused networks are
        left out.
        """
        of_networks = torch.from_numpy(np.asarray(shares, dtype=np.float64)) @ self.shares.double()
        used = of_networks != 0
        return self.parameters[used], of_networks[used]


@dataclass(frozen=True)
class Workshop:
    """What candidates are trained with."""

    predictor: Predictor
    optimizer: Optimizer
    seed: int
    device: str


@runtime_checkable
class Solver(Protocol):
    """Something that trains a library on standardised rows."""

    @property
    def families(self) -> int:
        """Programs it trains; progress counts them."""

    def train(self, samples: Samples, held_out: Samples, workshop: Workshop, progress: Progress) -> Library:
        """Candidates that did not diverge; ``held_out`` rows tell each network when to stop."""
