"""Train a method's grid on a problem: a coarse grid, then weights where the validation front has gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairlevel.benchmark.methods import Method, Setting
from fairlevel.benchmark.problem import Problem
from fairlevel.benchmark.protocol import Protocol
from fairlevel.data.scaling import Array
from fairlevel.fronts.refinement import Proposal, coarse, propose
from fairlevel.metrics.crossfit import paper_diagnostic
from fairlevel.penalties.protocol import Penalty
from fairlevel.predictors import MLP
from fairlevel.stacked.network import Network
from fairlevel.training.engine import resolve_device, train
from fairlevel.training.grid import Configurations, Samples
from fairlevel.training.outcome import Status
from fairlevel.training.tuning import tuned

_BLOCK = 2**22  # activations of a layer computed at once on a CPU


@dataclass(frozen=True)
class Candidates:
    """Trained models of one method: a table with one row a model, and their parameters (config, parameter)."""

    table: pd.DataFrame
    parameters: Tensor
    network: Network
    device: torch.device

    @torch.no_grad()
    def predict(self, x: Array) -> Array:
        """Standardised x (row, feature) -> predictions (config, row) in float64; NaN for diverged models."""
        rows = torch.from_numpy(x).to(self.device, torch.float32)
        size = max(1, _BLOCK // (64 * len(rows))) if self.device.type == "cpu" else len(self.parameters)
        blocks = [
            self.network.forward(part.to(self.device), rows)[0].cpu() for part in torch.split(self.parameters, size)
        ]
        predictions: Array = torch.cat(blocks).double().numpy()
        predictions[self.table["status"].eq(Status.DIVERGED.value).to_numpy()] = np.nan
        return predictions

    def only(self, chosen: Sequence[int] | Array) -> Candidates:
        """Some of the models, by position."""
        index = np.array(chosen, dtype=np.int64)
        return replace(self, table=self.table.iloc[index], parameters=self.parameters[torch.from_numpy(index)])


def train_candidates(problem: Problem, method: Method, protocol: Protocol, device: str = "auto") -> Candidates:
    """Every model the protocol allows the method, with its figures on VAL."""
    settings = method.settings[: protocol.settings]
    weights = coarse(method.weights, min(protocol.coarse, protocol.weights))
    grid = [Proposal(*pair) for pair in product(range(len(settings)), weights)]
    found = _train(problem, settings, grid, protocol, device)
    for left in range(protocol.rounds, 0, -1):
        count = -(-(protocol.candidates - len(found.table)) // left)
        proposals = propose(found.table, count, protocol.weights)
        if not proposals:
            break
        found = _joined(found, _train(problem, settings, proposals, protocol, device))
    return found


def figures(candidates: Candidates, samples: Samples, protocol: Protocol, seed: int) -> pd.DataFrame:
    """MSE and the paper's diagnostic of every model on some rows; NaN for diverged models."""
    predictions = candidates.predict(samples.x)
    alive = np.isfinite(predictions).all(axis=1)
    mse, dpvar = np.full(len(predictions), np.nan), np.full(len(predictions), np.nan)
    if alive.any() and samples.sensitive is not None:
        mse[alive] = ((predictions[alive] - samples.y) ** 2).mean(axis=1)
        tensor = torch.from_numpy(predictions[alive]).to(candidates.device)
        weight = np.ones(len(samples))
        dpvar[alive] = paper_diagnostic(tensor, samples.sensitive, weight, protocol.diagnostic, seed).cpu().numpy()
    return pd.DataFrame({"mse": mse, "dpvar": dpvar})


def _train(
    problem: Problem, settings: Sequence[Setting], proposals: Sequence[Proposal], protocol: Protocol, device: str
) -> Candidates:
    """Train proposals, those that share a penalty as one program."""
    parts = [
        _train_together(problem, penalty, settings, group, protocol, device)
        for penalty, group in _by_penalty(settings, proposals)
    ]
    result = parts[0]
    for part in parts[1:]:
        result = _joined(result, part)
    return result


def _train_together(
    problem: Problem,
    penalty: Penalty,
    settings: Sequence[Setting],
    group: Sequence[Proposal],
    protocol: Protocol,
    device: str,
) -> Candidates:
    training, seed = problem.training, problem.seed
    chosen = [settings[proposal.setting] for proposal in group]
    rates = np.array([setting.learning_rate for setting in chosen]) * protocol.rate_scale
    numbers = {name: np.array([setting.numbers[name] for setting in chosen]) for name in chosen[0].numbers}
    if training.sensitive is not None:
        penalty = tuned(penalty, training.sensitive, training.y, None, seed)
    trained = train(
        training,
        Configurations.of([proposal.weight for proposal in group], rates, **numbers),
        predictor=MLP(),
        penalty=penalty,
        optimizer=protocol.optimizer,
        seed=seed,
        device=device,
    )
    table = pd.DataFrame(
        {
            "setting": [proposal.setting for proposal in group],
            "weight": [proposal.weight for proposal in group],
            "learning_rate": rates,
            "status": [status.value for status in trained.outcome.status],
        }
    )
    candidates = Candidates(table, trained.outcome.parameters, trained.network, resolve_device(device))
    on_validation = figures(candidates, problem.validation, protocol, seed)
    return replace(candidates, table=pd.concat([table, on_validation], axis=1))


def _by_penalty(settings: Sequence[Setting], proposals: Sequence[Proposal]) -> Iterator[tuple[Penalty, list[Proposal]]]:
    """Shapes group: proposals whose settings hold the same penalty object train together."""
    penalties: list[Penalty] = []
    for setting in settings:
        if setting.penalty not in penalties:
            penalties.append(setting.penalty)
    for penalty in penalties:
        group = [proposal for proposal in proposals if settings[proposal.setting].penalty == penalty]
        if group:
            yield penalty, group


def _joined(first: Candidates, second: Candidates) -> Candidates:
    table = pd.concat([first.table, second.table], ignore_index=True)
    return replace(first, table=table, parameters=torch.cat([first.parameters, second.parameters]))
