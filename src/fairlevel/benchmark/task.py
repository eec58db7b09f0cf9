"""One task: one method on one problem, from training to the test figures of the models that validation chose."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import fairlevel
from fairlevel.benchmark.candidates import figures, train_candidates
from fairlevel.benchmark.methods import METHODS
from fairlevel.benchmark.problem import Problem, synthetic_problem
from fairlevel.benchmark.protocol import Protocol
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.fronts.selection import select
from fairlevel.metrics.dpvar import dpvar_of_many


@dataclass(frozen=True)
class SyntheticTask:
    """A method on the synthetic design; small enough to send to another process."""

    design: SyntheticDesign
    rows: int
    seed: int
    method: str
    protocol: Protocol
    device: str = "auto"

    def problem(self) -> Problem:
        return synthetic_problem(self.design, self.rows, self.seed, self.protocol)

    def __call__(self) -> pd.DataFrame:
        described = {"beta_int": self.design.beta_int, "attributes": self.design.attributes, "rows": self.rows}
        return run_method(self.problem(), self.method, self.protocol, self.device).assign(**described)


def run_method(problem: Problem, method: str, protocol: Protocol, device: str) -> pd.DataFrame:
    """One row a trained model: figures on VAL for all, on TEST for those some ζ selects, and where it came from."""
    started = perf_counter()
    candidates = train_candidates(problem, METHODS[method], protocol, device)
    table = candidates.table.rename(columns={"mse": "mse_val", "dpvar": "dpvar_val"})
    chosen = select(candidates.table, protocol.zetas).points.index.to_numpy()
    table["selected"] = table.index.isin(chosen)
    winners = candidates.only(chosen)
    on_test = figures(winners, problem.test, protocol, problem.seed)
    table.loc[chosen, ["mse_test", "dpvar_test"]] = on_test.to_numpy()
    if len(chosen) and problem.test.sensitive is not None:
        predictions = winners.predict(problem.test.x)
        table.loc[chosen, "dpvar_debiased_test"] = dpvar_of_many(predictions, problem.test.sensitive)
        table.loc[chosen, "variance_test"] = predictions.var(axis=1)
    if len(chosen) and problem.true_dpvar is not None:
        truth = problem.true_dpvar(winners.predict)
        table.loc[chosen, "dpvar_true"] = np.asarray(truth.value)
        table.loc[chosen, "dpvar_true_se"] = np.asarray(truth.standard_error)
    origin: dict[str, Any] = {
        "dataset": problem.name,
        "seed": problem.seed,
        "method": method,
        "protocol": protocol.id,
        "version": fairlevel.__version__,
        "device": candidates.device.type,
        "seconds": perf_counter() - started,
    }
    return table.assign(**origin)
