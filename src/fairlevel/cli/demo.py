"""``fairlevel demo``: train the fronts of two tables that need no download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fairlevel.cli.checks import refuse_existing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Example:
    """A table to show: features, target and sensitive attributes."""

    title: str
    x: pd.DataFrame
    y: pd.Series
    sensitive: pd.DataFrame
    predictor: str = "mlp"


def demo(out: Annotated[Path, typer.Option(help="Folder for reports and models.")] = Path("demo")) -> None:
    """Train the fronts of two embedded tables, print the trade-offs, and save a report and the models of each. The
    results of an earlier demo are replaced.
    """
    console, makers = Console(markup=False), {"diabetes": _diabetes, "synthetic": _synthetic}
    for name in makers:
        refuse_existing(out / name, force=True)

    from fairlevel.cli.front_folder import front_table, write_front
    from fairlevel.estimators.fairness_path import FairnessPath

    examples = {name: make() for name, make in makers.items()}
    for name, example in examples.items():
        path = FairnessPath(predictor=example.predictor, random_state=0, verbose=1)
        path.fit(example.x, example.y, sensitive_features=example.sensitive)
        chosen = write_front(path, str(example.y.name), out / name, {"target": str(example.y.name)}, force=True)
        console.print(front_table(path, chosen, example.title))
        console.print(f"report: {out / name / 'report.html'}\n", highlight=False, soft_wrap=True)
    console.print("Open a report in a browser and choose a model. For a table of your own:")
    console.print("fairlevel front FILE.csv --target COLUMN --sensitive COLUMN,COLUMN", highlight=False, soft_wrap=True)


def _diabetes() -> Example:
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    names = ["age", "bmi"]
    title = "diabetes progression, level across age and body mass"
    y = y.rename("progression")
    return Example(title, x.drop(columns=names), y, x[names], predictor="linear")  # few rows (442), so a simple model


def _synthetic() -> Example:
    from fairlevel.data.synthetic import SyntheticDesign

    rows = SyntheticDesign(beta_int=1.0).sample(3000, seed=0).to_frame()
    sensitive = rows.filter(regex="^a")
    return Example("the paper's synthetic design", rows.filter(regex="^x"), rows["y"], sensitive)
