"""``fairlevel demo``: the front of two tables that need no download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from fairlevel.data.learning_table import LearningTable
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.estimators.front_page import front_page
from fairlevel.exceptions import InvalidInput
from fairlevel.plots.front import FrontDisplay
from fairlevel.plots.mean_profile import MeanProfileDisplay
from fairlevel.report.render import write_page


@dataclass(frozen=True)
class Example:
    """A table with a story: features, target, sensitive attributes."""

    title: str
    unit: str
    x: pd.DataFrame
    y: pd.Series
    sensitive: pd.DataFrame
    predictor: str = "mlp"


def demo(out: Annotated[Path, typer.Option(help="Folder for reports and pictures.")] = Path("demo")) -> None:
    """Train a front on two embedded tables, print what each trade-off costs and gains, and save a report and two
    pictures a table.
    """
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    for name, example in {"synthetic": _synthetic(), "diabetes": _diabetes()}.items():
        parts = train_test_split(example.x, example.y, example.sensitive, test_size=0.25, random_state=0)
        x, x_test, y, y_test, sensitive, sensitive_test = parts
        path = FairnessPath(predictor=example.predictor, random_state=0, verbose=1)
        path.fit(x, y, sensitive_features=sensitive)
        console.print(_table(path, example))
        models = _models(path)
        _draw(path, models, x_test, sensitive_test, example, out / name)
        fresh = LearningTable(x_test, y_test, sensitive_test, dropped=0)
        write_page(front_page(path, models, fresh, x_test.to_numpy()), out / f"{name}.html")
        pictures = f"{out / name}-front.png, {out / name}-profile.png"
        console.print(f"report: {out / name}.html; pictures: {pictures}\n", highlight=False, soft_wrap=True)


def _synthetic() -> Example:
    rows = SyntheticDesign(beta_int=1.0).sample(4000, seed=0).to_frame()
    sensitive = rows.filter(regex="^a")
    return Example("the paper's synthetic design", "y²", rows.filter(regex="^x"), rows["y"], sensitive)


def _diabetes() -> Example:
    x, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    names = ["age", "bmi"]
    title = "diabetes progression, level across age and body mass"
    return Example(title, "score²", x.drop(columns=names), y, x[names], predictor="linear")  # 442 rows: keep it simple


def _table(path: FairnessPath, example: Example) -> Table:
    told = "rows judged fold by fold" if path.cross_fitted_ else "rows of their own"
    table = Table(
        title=f"{example.title} ({told})",
        caption=f"MSE and DPVar in {example.unit}; ± is √DPVar, in units of y; * is the knee",
    )
    for column in ("", "MSE", "DPVar", "95 % interval", "±", "share", "networks"):
        table.add_column(column, justify="right")
    knee = path.best_estimator_.max_dpvar
    for _, row in path.front_.iterrows():
        table.add_row(
            "*" if row["dpvar"] == knee else "",
            _short(row["mse"]),
            _short(row["dpvar"]),
            f"{_short(row['dpvar_low'])} – {_short(row['dpvar_high'])}",
            f"{np.sqrt(max(row['dpvar'], 0)):.2g}",
            f"{row['share']:.1%}",
            f"{row['networks']:.0f}",
        )
    return table


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _models(path: FairnessPath) -> dict[str, FairRegressor]:
    """Three models worth comparing."""
    plain = path.front_["dpvar"].iloc[-1]
    return {
        "most accurate": path.model(-1),
        "knee": path.best_estimator_,
        "a tenth of the DPVar": _tightest(path, 0.1 * plain),
    }


def _draw(
    path: FairnessPath,
    models: dict[str, FairRegressor],
    x: pd.DataFrame,
    sensitive: pd.DataFrame,
    example: Example,
    stem: Path,
) -> None:
    front = FrontDisplay.from_frame(path.front_, unit=example.unit)
    front.ax_.set_title(f"{example.title}\nbars are 95 % intervals of DPVar", fontsize=10)
    plt.savefig(f"{stem}-front.png", dpi=150)
    shown = {name: model.predict(x) for name, model in models.items()}
    attribute = sensitive.columns[0]
    profile = MeanProfileDisplay.from_predictions(shown, attribute=sensitive[attribute], attribute_name=attribute)
    profile.ax_.set_title(
        f"{example.title}\naverage prediction along one attribute, fresh rows; bands are 95 %", fontsize=10
    )
    plt.savefig(f"{stem}-profile.png", dpi=150)
    plt.close("all")


def _tightest(path: FairnessPath, budget: float) -> FairRegressor:
    """The model within a budget, or within the smallest that the rows can vouch for."""
    for factor in (1, 2, 4, 8):
        try:
            return path.best(max_dpvar=factor * budget)
        except InvalidInput:
            continue
    return path.best_estimator_
