"""A grid of networks trained on one table: what goes in, the models that come out, and their figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.data.sensitive import Sensitive
from fairlevel.estimators.model import WeightedNetworks
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.training.engine import Trained
from fairlevel.training.outcome import Status


@dataclass(frozen=True)
class Table:
    """Validated input: x (row, feature), y (row,), sensitive (row, attribute) or None."""

    x: Array
    y: Array
    sensitive: Sensitive | None

    def rows(self, index: Index) -> Table:
        """A part of the rows; attributes as 64-bit numbers."""
        sensitive = self.sensitive
        if sensitive is not None:
            sensitive = Sensitive(sensitive.values[index].astype(np.float64, copy=False), sensitive.names)
        return Table(self.x[index], self.y[index], sensitive)


@dataclass(frozen=True)
class GridFit:
    """A trained grid with the scaling it was trained under."""

    trained: Trained
    x_scaler: Scaler
    y_scaler: Scaler

    @property
    def alive(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which configurations did not diverge."""
        return np.array([status is not Status.DIVERGED for status in self.trained.outcome.status], dtype=bool)

    def model(self, config: int) -> WeightedNetworks:
        """One configuration as a model of its own."""
        outcome, network = self.trained.outcome, self.trained.network
        row = outcome.parameters[config : config + 1]
        return WeightedNetworks(network, self.trained.input_map, row, torch.ones(1), self.x_scaler, self.y_scaler)

    def figures(self, table: Table) -> Figures:
        """Every configuration on these rows at once."""
        alive = torch.from_numpy(self.alive).unsqueeze(1)
        parameters = torch.where(alive, self.trained.outcome.parameters, 0.0)  # a NaN would reach its neighbours' sums
        everyone = replace(self.model(0), parameters=parameters, shares=torch.eye(len(alive)))
        predictions = everyone.predict(table.x)
        predictions[~self.alive] = np.nan
        dpvar = np.full(len(predictions), np.nan)
        if table.sensitive is not None:
            dpvar[self.alive] = dpvar_of_many(predictions[self.alive], table.sensitive.values)
        return Figures(((predictions - table.y) ** 2).mean(axis=1), dpvar, predictions.var(axis=1))


@dataclass(frozen=True)
class Figures:
    """In units of y², each (config,); dpvar is NaN without sensitive attributes."""

    mse: Array
    dpvar: Array
    variance: Array

    @property
    def share(self) -> Array:
        """DPVar / Var(f), 0 for a constant prediction."""
        return np.divide(self.dpvar, self.variance, out=np.zeros_like(self.dpvar), where=self.variance > 0)
