"""The synthetic study: all methods on the paper's design at several strengths of the interaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlevel.benchmark.executors import LocalExecutor
from fairlevel.benchmark.methods import METHODS, PAPER_METHODS, resolve_methods
from fairlevel.benchmark.protocol import Protocol
from fairlevel.benchmark.task import SyntheticTask
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.budgets import SHARES, best_mse, budgets_over_range
from fairlevel.fronts.points import non_dominated

Done = Callable[[int, int], None]
"""Called with (tasks done, tasks in all)."""


@dataclass(frozen=True)
class SyntheticStudy:
    """What to run. The defaults are the paper's: three strengths, its six methods and ours, three seeds."""

    protocol: Protocol
    rows: int = 5000
    betas: tuple[float, ...] = (1.0, 3.0, 10.0)
    attributes: int = 5
    seeds: tuple[int, ...] = (0, 1, 2)
    methods: tuple[str, ...] = (*PAPER_METHODS, "fbo_closed")
    device: str = "auto"

    def __post_init__(self) -> None:
        resolve_methods(self.methods)
        for name in ("betas", "seeds", "methods"):
            if not getattr(self, name):
                raise InvalidInput(f"No {name} were given; at least one is needed.")

    @property
    def tasks(self) -> list[SyntheticTask]:
        """The slow methods first, so that none is left to run alone at the end."""
        slow_first = sorted(self.methods, key=lambda name: name not in ("itd", "itd_all_labels", "hsic", "adversarial"))
        return [
            SyntheticTask(
                SyntheticDesign(beta_int=beta, attributes=self.attributes),
                self.rows,
                seed,
                method,
                self.protocol,
                self.device,
            )
            for method in slow_first
            for beta in self.betas
            for seed in self.seeds
        ]

    def run(self, executor: LocalExecutor, done: Done = lambda finished, total: None) -> pd.DataFrame:
        """One row a trained model, in an order that does not depend on which task was faster."""
        tasks = self.tasks
        for task in tasks[:1]:
            task.problem()  # refuse what cannot be split before any process starts
        results: dict[int, pd.DataFrame] = {}
        for number, rows in executor.run(tasks):
            results[number] = rows
            done(len(results), len(tasks))
        return pd.concat([results[number] for number in range(len(tasks))], ignore_index=True)


def selected_points(rows: pd.DataFrame, dpvar: str = "dpvar_test") -> pd.DataFrame:
    """The selected models of each (dataset, seed, method) on TEST, dominated ones dropped; columns mse and dpvar."""
    chosen = rows[rows["selected"]].assign(mse=rows["mse_test"], dpvar=rows[dpvar])
    fronts = [non_dominated(group).points for _, group in chosen.groupby(["dataset", "seed", "method"], sort=False)]
    return pd.concat(fronts, ignore_index=True) if fronts else chosen


def budget_table(rows: pd.DataFrame, methods: Sequence[str], dpvar: str = "dpvar_test") -> pd.DataFrame:
    """Best test MSE under Tight, Mid and Loose budgets: median and range over seeds, for each dataset and method.

    Budgets are shares of the DPVar range of all test points of these methods on a dataset. ``feasible`` counts the
    seeds with a model within the budget.
    """
    points = selected_points(rows[rows["method"].isin(methods)], dpvar)
    table = []
    for dataset, here in points.groupby("dataset", sort=False):
        limits = budgets_over_range(here["dpvar"].to_numpy())
        for method in methods:
            own = here[here["method"] == method]
            seeds = here["seed"].unique()
            best = np.stack([best_mse(own[own["seed"] == seed], limits) for seed in seeds])
            for number, budget in enumerate(SHARES):
                found = best[np.isfinite(best[:, number]), number]
                row = {"dataset": dataset, "method": method, "label": METHODS[method].label, "budget": budget}
                row |= {"limit": limits[number], "feasible": len(found), "seeds": len(seeds)}
                row |= dict(zip(("median", "low", "high"), _spread(found), strict=True))
                table.append(row)
    return pd.DataFrame(table)


def _spread(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float, float]:
    if not len(values):
        return np.nan, np.nan, np.nan
    return float(np.median(values)), float(values.min()), float(values.max())
