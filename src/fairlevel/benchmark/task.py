"""One task: one method on one problem, from training to the test figures of the models that validation chose."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from fairlevel._version import __version__
from fairlevel.arrays import Array, Index
from fairlevel.benchmark.candidates import Candidates, figures
from fairlevel.benchmark.datasets import Dataset
from fairlevel.benchmark.methods import METHODS
from fairlevel.benchmark.problem import Predict, Problem
from fairlevel.benchmark.protocol import Protocol
from fairlevel.benchmark.rows import tidy
from fairlevel.fronts.combiners import Stacked
from fairlevel.fronts.selection import select
from fairlevel.fronts.stacking import without_small_shares
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.mixtures import shared_mean

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
        """What tells it from other tasks of a run."""
        return self.dataset.name, self.seed, self.method

    def __call__(self) -> pd.DataFrame:
        return run_method(self.dataset.problem(self.seed, self.protocol), self.method, self.protocol, self.device)


def run_method(problem: Problem, method: str, protocol: Protocol, device: str) -> pd.DataFrame:
    """One row a trained model and one a mixture: figures on VAL for all, on TEST for those some ζ selects."""
    started = perf_counter()
    candidates = METHODS[method].trainer.train(problem, protocol, device)
    parts = [_single(candidates, problem, protocol)]
    if candidates.alive.any():
        parts.append(_stacked(candidates, problem, protocol))
    origin: dict[str, Any] = {
        "dataset": problem.name,
        "seed": problem.seed,
        "method": method,
        **problem.about,
        "protocol": protocol.id,
        "version": __version__,
        "device": candidates.device.type,
        "seconds": perf_counter() - started,
    }
    return tidy(pd.concat(parts, ignore_index=True).assign(**origin))


def _single(candidates: Candidates, problem: Problem, protocol: Protocol) -> pd.DataFrame:
    """Every trained model; those that win for some ζ on VAL go to TEST."""
    table = candidates.table.rename(columns={"mse": "mse_val", "dpvar": "dpvar_val"})
    chosen = select(candidates.table, protocol.zetas).points.index.to_numpy()
    table["combiner"], table["selected"] = "best", table.index.isin(chosen)
    if len(chosen):
        winners = candidates.only(chosen)
        found = _on_test(winners.predict, problem, protocol, candidates)
        table.loc[chosen, list(found)] = np.column_stack(list(found.values()))
    return table


def _stacked(candidates: Candidates, problem: Problem, protocol: Protocol) -> pd.DataFrame:
    """Mixtures of the same models, their shares set on VAL, one for each ζ."""
    library, validation = candidates.library, problem.validation
    if validation.sensitive is None:
        raise TypeError("A problem of the study has sensitive attributes.")
    predictions = library.predict(validation.x, candidates.device)
    mean = shared_mean(predictions, validation.y, validation.sensitive, problem.seed)
    disparity = mean.disparity(predictions, validation.sensitive, problem.seed)
    mixing = Stacked().over(predictions, validation.y, disparity)
    shares = np.stack([without_small_shares(mixing.weighted(zeta).shares) for zeta in protocol.zetas])
    first = _distinct(shares)
    shares = shares[first]

    def predict(x: Array) -> Array:
        mixed: Array = shares @ library.predict(x, candidates.device)
        return mixed

    return pd.DataFrame(
        {
            "combiner": "stacked",
            "family": "mixture",
            "status": "finished",
            "zeta": np.array(protocol.zetas)[first],
            "networks": (shares > 0).sum(axis=1),
            "selected": True,
            "mse_val": ((shares @ predictions - validation.y) ** 2).mean(axis=1),
            **_on_test(predict, problem, protocol, candidates),
        }
    )


def _distinct(shares: Array) -> Index:
    """Positions of mixtures that differ from the one kept before them, (mixture, candidate) -> (kept,)."""
    kept = [0]
    for number in range(1, len(shares)):
        if np.abs(shares[number] - shares[kept[-1]]).max() > SMALLEST_CHANGE:
            kept.append(number)
    return np.array(kept, dtype=np.int64)


def _on_test(predict: Predict, problem: Problem, protocol: Protocol, candidates: Candidates) -> dict[str, Array]:
    """Figures on TEST, and the truth where it is known; each (model,)."""
    test = problem.test
    predictions = predict(test.x)
    found = figures(predictions, test, protocol, problem.seed, candidates.device)
    result = {"mse_test": found["mse"], "dpvar_test": found["dpvar"], "variance_test": predictions.var(axis=1)}
    if test.sensitive is not None:
        result["dpvar_debiased_test"] = dpvar_of_many(predictions, test.sensitive)
    if problem.true_dpvar is not None:
        truth = problem.true_dpvar(predict)
        result |= {"dpvar_true": np.asarray(truth.value), "dpvar_true_se": np.asarray(truth.standard_error)}
    return result
