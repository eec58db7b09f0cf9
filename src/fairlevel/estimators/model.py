"""A fitted model: a weighted sum of networks on standardised features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.data.scaling import Scaler
from fairlevel.networks.network import Network
from fairlevel.predictors import InputMap

_BLOCK = 65_536  # rows predicted at a time


@dataclass(frozen=True)
class WeightedNetworks:
    r"""f(x) = ȳ + s_y Σ_m v_m f_m((x − x̄)/s_x): one network, a spectral head or a stack, all the same to predict.

    Shapes: parameters (network, parameter), shares v (network,); a matrix of shares predicts several sums at once.
    """

    network: Network
    input_map: InputMap
    parameters: Tensor
    shares: Tensor
    x_scaler: Scaler
    y_scaler: Scaler

    @torch.no_grad()
    def predict(self, x: Array) -> Array:
        """Predictions in units of y, in float64 whatever the precision of training: (row, feature) -> (row,)."""
        parameters, shares = self.parameters.double(), self.shares.double()
        blocks = []
        size = max(1, _BLOCK // len(parameters))
        for start in range(0, len(x), size):
            rows = torch.from_numpy(self.x_scaler.transform(x[start : start + size]))
            blocks.append(shares @ self.network.predict(parameters, self.input_map(rows)))
        standardised = torch.cat(blocks, dim=-1).numpy() if blocks else np.empty(0)
        return self.y_scaler.inverse(standardised)
