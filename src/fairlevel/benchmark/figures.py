"""Figures of predictions in a study: error, and the paper's diagnostic of DPVar."""

from __future__ import annotations

import numpy as np
import torch

from fairlevel.arrays import Array
from fairlevel.benchmark.problem import Problem
from fairlevel.benchmark.protocol import Protocol
from fairlevel.candidates import CandidateSet
from fairlevel.candidates.protocol import Evaluate
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.crossfit import paper_diagnostic
from fairlevel.training.rows import TrainingRows


def figures(
    predictions: Array, rows: TrainingRows, protocol: Protocol, seed: int, device: torch.device
) -> dict[str, Array]:
    """MSE and the paper's diagnostic of predictions (candidate, row), each (candidate,); NaN where predictions are."""
    usable = np.isfinite(predictions).all(axis=1)
    mse, dpvar = np.full(len(predictions), np.nan), np.full(len(predictions), np.nan)
    if usable.any():
        mse[usable] = ((predictions[usable] - rows.y) ** 2).mean(axis=1)
        tensor = torch.from_numpy(predictions[usable]).to(device)
        attributes = Attributes(rows.some_attributes.values)
        dpvar[usable] = paper_diagnostic(tensor, attributes, protocol.diagnostic, seed).cpu().numpy()
    return {"mse": mse, "dpvar": dpvar}


def on_validation(problem: Problem, protocol: Protocol, device: torch.device) -> Evaluate:
    """Measures candidates on the validation rows of a problem."""

    def evaluate(candidates: CandidateSet) -> CandidateSet:
        predictions = candidates.predict(problem.validation.x, device.type)
        return candidates.with_columns(**figures(predictions, problem.validation, protocol, problem.seed, device))

    return evaluate
