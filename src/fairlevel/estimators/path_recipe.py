"""How a path is fitted, from the parameters of an estimator."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from rich.console import Console
from rich.progress import Progress

from fairlevel.estimators._validation import resolve_optimizer
from fairlevel.estimators.grid_fit import Table
from fairlevel.estimators.path_fit import PathFit, fit_path
from fairlevel.exceptions import InvalidType
from fairlevel.fronts.combiners import Combiner
from fairlevel.libraries import Solver, resolve_solver
from fairlevel.libraries.protocol import Workshop
from fairlevel.networks.optimizers import Optimizer
from fairlevel.penalties import Penalty
from fairlevel.predictors import Predictor, resolve_predictor


@dataclass(frozen=True)
class Recipe:
    """Parameters as the user gave them."""

    solver: str | Penalty | Solver
    combiner: Combiner
    predictor: str | Predictor
    optimizer: str | Optimizer
    device: str
    verbose: int

    def fit(self, table: Table, seed: int) -> PathFit:
        """Resolve names, train with a progress bar where one can be seen."""
        if not isinstance(self.combiner, Combiner) or isinstance(self.combiner, type):
            raise InvalidType(f"combiner={self.combiner!r} was given; Stacked() or Best() is needed.")
        solver = resolve_solver(self.solver)
        workshop = Workshop(resolve_predictor(self.predictor), resolve_optimizer(self.optimizer), seed, self.device)
        console = Console(file=sys.stderr)
        shown = self.verbose > 0 and console.is_terminal
        with Progress(console=console, transient=True, disable=not shown) as bar:
            task = bar.add_task("training candidates", total=1.0)
            return fit_path(table, solver, self.combiner, workshop, lambda share: bar.update(task, completed=share))
