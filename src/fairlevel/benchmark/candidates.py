"""Trained models of one method, and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol as Interface

import numpy as np
import pandas as pd
import torch

from fairlevel.arrays import Array, Index
from fairlevel.benchmark.problem import Problem
from fairlevel.benchmark.protocol import Protocol
from fairlevel.libraries import Library
from fairlevel.metrics.crossfit import paper_diagnostic
from fairlevel.training.grid import Samples
from fairlevel.training.outcome import Status

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Candidates:
    """One row of ``table`` a trained model: family, setting, weight, learning_rate, status, and mse and dpvar on VAL.

    ``library`` holds those that did not diverge, in the order of the table.
    """

    table: pd.DataFrame
    library: Library
    device: torch.device

    @property
    def alive(self) -> Flags:
        """Whether each model is usable, (candidate,)."""
        return np.asarray(self.table["status"].ne(Status.DIVERGED.value), dtype=np.bool_)

    def predict(self, x: Array) -> Array:
        """Standardised x (row, feature) -> predictions (candidate, row); NaN for diverged models."""
        predictions = np.full((len(self.table), len(x)), np.nan)
        if len(self.library):
            predictions[self.alive] = self.library.predict(x, self.device)
        return predictions

    def only(self, chosen: Sequence[int] | Index) -> Candidates:
        """Some of the usable models, by position in the table."""
        index: Index = np.array(chosen, dtype=np.int64)
        position: Index = np.cumsum(self.alive) - 1
        return replace(self, table=self.table.iloc[index], library=self.library.only(position[index]))

    def joined(self, other: Candidates) -> Candidates:
        """Both sets of models."""
        table = pd.concat([self.table, other.table], ignore_index=True)
        return replace(self, table=table, library=self.library.joined(other.library))


class Trainer(Interface):
    """What trains the candidates of a method."""

    def train(self, problem: Problem, protocol: Protocol, device: str) -> Candidates:
        """Every model the protocol allows, with its figures on VAL."""


def on_validation(candidates: Candidates, problem: Problem, protocol: Protocol) -> Candidates:
    """The same models with their figures on VAL in the table."""
    predictions = candidates.predict(problem.validation.x)
    found = figures(predictions, problem.validation, protocol, problem.seed, candidates.device)
    return replace(candidates, table=candidates.table.assign(**found))


def figures(
    predictions: Array, samples: Samples, protocol: Protocol, seed: int, device: torch.device
) -> dict[str, Array]:
    """MSE and the paper's diagnostic of predictions (candidate, row), each (candidate,); NaN where they are."""
    alive = np.isfinite(predictions).all(axis=1)
    mse, dpvar = np.full(len(predictions), np.nan), np.full(len(predictions), np.nan)
    if alive.any() and samples.sensitive is not None:
        mse[alive] = ((predictions[alive] - samples.y) ** 2).mean(axis=1)
        tensor = torch.from_numpy(predictions[alive]).to(device)
        weight = np.ones(len(samples))
        dpvar[alive] = paper_diagnostic(tensor, samples.sensitive, weight, protocol.diagnostic, seed).cpu().numpy()
    return {"mse": mse, "dpvar": dpvar}
