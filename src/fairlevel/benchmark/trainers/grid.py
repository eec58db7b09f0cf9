"""A penalty over weights and settings: a coarse grid, then weights where the validation front has gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd
import torch

from fairlevel.benchmark.candidates import Candidates, on_validation
from fairlevel.benchmark.problem import Problem
from fairlevel.benchmark.protocol import Protocol
from fairlevel.fronts.refinement import Proposal, check_weights, coarse, propose
from fairlevel.libraries import Library
from fairlevel.penalties.protocol import Penalty
from fairlevel.predictors import MLP
from fairlevel.training.engine import resolve_device, train
from fairlevel.training.grid import Configurations
from fairlevel.training.outcome import Status
from fairlevel.training.tuning import tuned

PLAIN_RATE = 0.1  # outer step size of methods that do not tune it


@dataclass(frozen=True)
class Setting:
    """One configuration apart from the penalty weight: the penalty, the outer step size, numbers of the penalty."""

    penalty: Penalty
    learning_rate: float = PLAIN_RATE
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """Weights × settings; the most sensible settings come first, so that a small protocol takes those."""

    weights: tuple[float, ...]
    settings: tuple[Setting, ...]

    def __post_init__(self) -> None:
        check_weights(self.weights)

    def train(self, problem: Problem, protocol: Protocol, device: str) -> Candidates:
        settings = self.settings[: protocol.settings]
        weights = coarse(self.weights, min(protocol.coarse, protocol.weights))
        grid = [Proposal(*pair) for pair in product(range(len(settings)), weights)]
        found = _train(problem, settings, grid, protocol, device)
        for left in range(protocol.rounds, 0, -1):
            count = -(-(protocol.candidates - len(found.table)) // left)
            proposals = propose(found.table, count, protocol.weights)
            if not proposals:
                break
            found = found.joined(_train(problem, settings, proposals, protocol, device))
        return found


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
        result = result.joined(part)
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
            "family": penalty.name,
            "setting": [proposal.setting for proposal in group],
            "weight": [proposal.weight for proposal in group],
            "learning_rate": rates,
            "status": [status.value for status in trained.outcome.status],
        }
    )
    alive = table["status"].ne(Status.DIVERGED.value).to_numpy()
    parameters = trained.outcome.parameters[torch.tensor(alive)]
    shares = torch.eye(len(parameters), dtype=torch.float64)
    library = Library(trained.network, trained.input_map, parameters, shares, table[alive].reset_index(drop=True))
    return on_validation(Candidates(table, library, resolve_device(device)), problem, protocol)


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
