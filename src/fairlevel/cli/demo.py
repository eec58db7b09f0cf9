"""``fairlevel demo``: six trade-offs on two tables that need no download."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.estimators.fair_regressor import FairRegressor, fit_weights
from fairlevel.metrics.interval import dpvar_interval
from fairlevel.plots.front import FrontDisplay
from fairlevel.plots.mean_profile import MeanProfileDisplay

WEIGHTS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True)
class Example:
    """A table with a story: features, target, sensitive attributes."""

    title: str
    unit: str
    x: pd.DataFrame
    y: pd.Series
    sensitive: pd.DataFrame
    predictor: str = "mlp"


def demo(out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("demo")) -> None:
    """Train at six weights on two embedded tables, print what each costs and gains, and save two pictures a table."""
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    for name, example in {"synthetic": _synthetic(), "diabetes": _diabetes()}.items():
        parts = train_test_split(example.x, example.y, example.sensitive, test_size=0.4, random_state=0)
        x, x_test, y, y_test, sensitive, sensitive_test = parts
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(f"training on {example.title}")
            estimator = FairRegressor(predictor=example.predictor, validation_fraction=0.25, random_state=0)
            models = fit_weights(
                estimator,
                WEIGHTS,
                x,
                y,
                sensitive_features=sensitive,
                progress=partial(_advance, bar, task),
            )
        points = measure(models, x_test, y_test, sensitive_test)
        console.print(_table(points, example))
        _draw(points, models, x_test, sensitive_test, example, out / name)
        console.print(f"pictures: {out / name}-front.png, {out / name}-profile.png\n", highlight=False)


def _advance(bar: Progress, task: TaskID, done: int, total: int) -> None:
    bar.update(task, completed=done, total=total)


def measure(models: Sequence[FairRegressor], x: pd.DataFrame, y: pd.Series, sensitive: pd.DataFrame) -> pd.DataFrame:
    """One row a model on rows it has not seen."""
    rows = []
    for model in models:
        prediction = model.predict(x)
        found = dpvar_interval(prediction, sensitive_features=sensitive)
        rows.append(
            {
                "weight": model.weight,
                "label": f"{model.weight:g}",
                "mse": float(np.mean((prediction - y) ** 2)),
                "dpvar": found.estimate,
                "dpvar_low": found.low,
                "dpvar_high": found.high,
                "share": found.share,
            }
        )
    return pd.DataFrame(rows)


def _synthetic() -> Example:
    rows = SyntheticDesign(beta_int=1.0).sample(4000, seed=0).to_frame()
    sensitive = rows.filter(regex="^a")
    return Example("the paper's synthetic design", "y²", rows.filter(regex="^x"), rows["y"], sensitive)


def _diabetes() -> Example:
    x, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    names = ["age", "bmi"]
    title = "diabetes progression, level across age and body mass"
    return Example(title, "score²", x.drop(columns=names), y, x[names], predictor="linear")  # 442 rows: keep it simple


def _table(points: pd.DataFrame, example: Example) -> Table:
    table = Table(
        title=f"{example.title} (held-out rows)", caption=f"MSE and DPVar in {example.unit}; ± is √DPVar, in units of y"
    )
    for column in ("weight", "MSE", "DPVar", "95 % interval", "±", "share"):
        table.add_column(column, justify="right")
    for _, row in points.iterrows():
        table.add_row(
            f"{row['weight']:g}",
            _short(row["mse"]),
            _short(row["dpvar"]),
            f"{_short(row['dpvar_low'])} – {_short(row['dpvar_high'])}",
            f"{np.sqrt(max(row['dpvar'], 0)):.2g}",
            f"{row['share']:.1%}",
        )
    return table


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _draw(
    points: pd.DataFrame,
    models: Sequence[FairRegressor],
    x: pd.DataFrame,
    sensitive: pd.DataFrame,
    example: Example,
    stem: Path,
) -> None:
    front = FrontDisplay.from_frame(points, unit=example.unit)
    front.ax_.set_title(f"{example.title}\nnumbers are penalty weights, bars 95 % intervals of DPVar", fontsize=10)
    plt.savefig(f"{stem}-front.png", dpi=150)
    shown = {f"weight {models[k].weight:g}": models[k].predict(x) for k in (0, 3, 5)}
    attribute = sensitive.columns[0]
    profile = MeanProfileDisplay.from_predictions(shown, attribute=sensitive[attribute], attribute_name=attribute)
    profile.ax_.set_title(
        f"{example.title}\nthe average prediction along one of the attributes; bands are 95 %", fontsize=10
    )
    plt.savefig(f"{stem}-profile.png", dpi=150)
    plt.close("all")
