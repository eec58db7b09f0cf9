"""One task, from training to the test figures of the models that validation chose; and all tasks of a study."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import torch

from fairlevel._version import __version__
from fairlevel.arrays import Array, Index
from fairlevel.candidates import CandidateSet
from fairlevel.candidates.protocol import CandidateRows
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.combiners import Stacked, without_small_proportions
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.mixtures import most_accurate, shared_mean
from fairlevel.networks.backend import resolve_device
from fairlevel.networks.diagnostic import paper_diagnostic
from fairlevel.networks.mlp import MLP
from fairlevel.training.rows import AllRows, TrainingRows
from fairlevel_study.datasets import Dataset, Predict, Problem
from fairlevel_study.executors import Executor, Failure
from fairlevel_study.methods import METHODS
from fairlevel_study.points import select
from fairlevel_study.protocol import Protocol
from fairlevel_study.refinement import StudySetup
from fairlevel_study.rows import Key, Store, tidy

SMALLEST_CHANGE = 0.01  # of a share, between neighbouring mixtures of a front


@dataclass(frozen=True)
class Task:
    """A method on a dataset under a seed; small enough to send to another process."""

    dataset: Dataset
    seed: int
    method: str
    protocol: Protocol
    device: str = "auto"

    @property
    def key(self) -> tuple[str, int, str]:
        """What distinguishes it from the other tasks of a run."""
        return self.dataset.name, self.seed, self.method

    def __call__(self) -> pd.DataFrame:
        return run_method(self.dataset.problem(self.seed, self.protocol), self.method, self.protocol, self.device)


def run_method(problem: Problem, method: str, protocol: Protocol, device: str) -> pd.DataFrame:
    """One row per trained model and one per mixture: figures on VAL for all, on TEST for those some ζ selects."""
    started, where = perf_counter(), resolve_device(device)
    if where.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    problem = seen_by(problem, method)
    candidates = train_candidates(problem, method, protocol, device)
    parts = [_single(candidates, problem, protocol, where)]
    if candidates.usable.any():
        parts.append(_stacked(candidates.without_diverged(), problem, protocol, where))
    origin: dict[str, Any] = {
        "dataset": problem.name,
        "seed": problem.seed,
        "method": method,
        **problem.about,
        "protocol": protocol.id,
        "version": __version__,
        "commit": commit(),
        "device": where.type,
        "seconds": perf_counter() - started,
        "memory": torch.cuda.max_memory_allocated() / 2**20 if where.type == "cuda" else np.nan,
    }
    return tidy(pd.concat(parts, ignore_index=True).assign(**origin))


def seen_by(problem: Problem, method: str) -> Problem:
    """The problem as a method gets it: with A among the features if it needs A to predict."""
    return problem.with_attributes_as_features() if METHODS[method].uses_attributes else problem


def train_candidates(problem: Problem, method: str, protocol: Protocol, device: str) -> CandidateSet:
    """The candidates of a method, with their figures on VAL; the predictor is the paper's network."""
    evaluate = _on_validation(problem, protocol, resolve_device(device))
    setup = StudySetup(MLP(), protocol.optimizer, problem.seed, device, protocol.rate_scale, evaluate=evaluate)
    rows = CandidateRows(AllRows(problem.training), problem.validation if protocol.stopped else None)
    return evaluate(METHODS[method].source.train(rows, setup, protocol.limits, lambda share: None))


def _single(candidates: CandidateSet, problem: Problem, protocol: Protocol, device: torch.device) -> pd.DataFrame:
    """Every trained model; those that win for some ζ on VAL go to TEST."""
    table = candidates.table.rename(columns={"mse": "mse_val", "dpvar": "dpvar_val"})
    chosen = select(candidates.table, protocol.zetas).index.to_numpy()
    table["combiner"], table["selected"] = "best", table.index.isin(chosen)
    if len(chosen):
        winners = candidates.only(chosen)
        figures = _on_test(lambda x: winners.predict(x, device.type), problem, protocol, device)
        table.loc[chosen, list(figures)] = np.column_stack(list(figures.values()))
    return table


def _stacked(candidates: CandidateSet, problem: Problem, protocol: Protocol, device: torch.device) -> pd.DataFrame:
    """Mixtures of the same models, their proportions set on VAL, one for each ζ."""
    validation, attributes = problem.validation, problem.validation.some_attributes
    predictions = candidates.predict(validation.x, device.type)
    accurate = most_accurate(predictions, validation.y, attributes.weight)
    mean = shared_mean(accurate, attributes, problem.seed)
    disparity = mean.disparity(predictions, attributes, problem.seed)
    mixing = Stacked().over(predictions, validation.y, attributes.weight, disparity)
    proportions = np.stack([without_small_proportions(mixing.weighted(zeta).proportions) for zeta in protocol.zetas])
    first = _distinct(proportions)
    proportions = proportions[first]

    def predict(x: Array) -> Array:
        mixed: Array = proportions @ candidates.predict(x, device.type)
        return mixed

    return pd.DataFrame(
        {
            "combiner": "stacked",
            "family": "mixture",
            "status": "finished",
            "zeta": np.array(protocol.zetas)[first],
            "networks": (proportions > 0).sum(axis=1),
            "selected": True,
            "mse_val": ((proportions @ predictions - validation.y) ** 2).mean(axis=1),
            **_on_test(predict, problem, protocol, device),
        }
    )


def _distinct(proportions: Array) -> Index:
    """Positions of mixtures that differ from the last such one, (mixture, candidate) -> (position,)."""
    distinct = [0]
    for number in range(1, len(proportions)):
        if np.abs(proportions[number] - proportions[distinct[-1]]).max() > SMALLEST_CHANGE:
            distinct.append(number)
    return np.array(distinct, dtype=np.int64)


def _on_test(predict: Predict, problem: Problem, protocol: Protocol, device: torch.device) -> dict[str, Array]:
    """Figures on TEST, and the truth where it is known; each (model,)."""
    test = problem.test
    predictions = predict(test.x)
    figures = _figures(predictions, test, protocol, problem.seed, device)
    result = {"mse_test": figures["mse"], "dpvar_test": figures["dpvar"], "variance_test": predictions.var(axis=1)}
    result["dpvar_debiased_test"] = dpvar_of_many(predictions, test.some_attributes.values)
    if problem.true_dpvar is not None:
        truth = problem.true_dpvar(predict)
        result |= {"dpvar_true": np.asarray(truth.value), "dpvar_true_se": np.asarray(truth.standard_error)}
    return result


def _figures(
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


def _on_validation(
    problem: Problem, protocol: Protocol, device: torch.device
) -> Callable[[CandidateSet], CandidateSet]:
    """Measures candidates that have no figures yet on the validation rows of a problem."""

    def evaluate(candidates: CandidateSet) -> CandidateSet:
        measured = candidates.table.reindex(columns=["mse", "dpvar"])
        columns: dict[str, Array] = {name: measured[name].to_numpy(np.float64, copy=True) for name in ("mse", "dpvar")}
        new = np.isnan(columns["mse"]) & candidates.usable
        predictions = candidates.predict(problem.validation.x, device.type)[new]
        for name, figure in _figures(predictions, problem.validation, protocol, problem.seed, device).items():
            columns[name][new] = figure
        return candidates.with_columns(**columns)

    return evaluate


COMMIT_VARIABLE = "FAIRLEVEL_COMMIT"


@cache
def commit() -> str:
    """The commit of this code: FAIRLEVEL_COMMIT where that is set (copies without a repository), else what Git says,
    with a + where files of the packages differ from it; empty for an installed package.
    """
    if COMMIT_VARIABLE in os.environ:
        return os.environ[COMMIT_VARIABLE]
    try:
        _git("ls-files", "--error-unmatch", "__init__.py")
        head, changed = _git("rev-parse", "--short=10", "HEAD"), _git("status", "--porcelain", ":/src", ":/study/src")
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{head}+" if changed else head


def _git(*words: str) -> str:
    """What a command of Git says of the folder of this file."""
    command = ["git", "-C", str(Path(__file__).parent), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()


_TABLES_AT_ONCE = 12

Report = Callable[[float], None]  # a function that is called with the share of the tasks that are finished


def tasks_of(
    datasets: Sequence[Dataset], seeds: Sequence[int], methods: Sequence[str], protocol: Protocol, device: str = "auto"
) -> list[Task]:
    """One task per dataset, seed and method, in the order in which they should run: seed by seed, so that a run that is
    stopped is a study of fewer seeds; within a seed twelve tables at a time, and slow methods first, so that no slow
    task runs alone at the end.
    """
    for name, given in (("datasets", datasets), ("seeds", seeds), ("methods", methods)):
        if not given:
            raise InvalidInput(f"No {name} were given; at least one is needed.")
    return [
        Task(dataset, seed, method, protocol, device)
        for seed in sorted(seeds)
        for first in range(0, len(datasets), _TABLES_AT_ONCE)
        for slow in (True, False)
        for dataset in datasets[first : first + _TABLES_AT_ONCE]
        for method in methods
        if METHODS[method].slow == slow
    ]


def run_tasks(
    tasks: Sequence[Task], store: Store, executor: Executor, report: Report = lambda share: None
) -> dict[Key, Failure]:
    """Run the tasks without rows in the store, and write the rows of each as soon as it ends; returns the failures."""
    missing = [task for task in tasks if not store.finished(task.key)]
    failures: dict[Key, Failure] = {}
    for ended, (number, outcome) in enumerate(executor.run(missing), 1 + len(tasks) - len(missing)):
        key = missing[number].key
        if isinstance(outcome, Failure):
            failures[key] = outcome
        else:
            store.write(key, outcome)
        report(ended / len(tasks))
    return failures


def rows_of_tasks(tasks: Sequence[Task], executor: Executor, report: Report = lambda share: None) -> pd.DataFrame:
    """The rows of all tasks, in the order of the tasks; the first failure ends the run."""
    first = tasks[0]
    first.dataset.problem(first.seed, first.protocol)  # bad input fails here, before any process starts
    results: dict[int, pd.DataFrame] = {}
    for number, outcome in executor.run(tasks):
        if isinstance(outcome, Failure):
            raise InvalidInput(outcome.message)
        results[number] = outcome
        report(len(results) / len(tasks))
    return pd.concat([results[number] for number in range(len(tasks))], ignore_index=True)
