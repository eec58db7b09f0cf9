"""``fairlevel demo``: train the fronts of two tables that need no download."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlevel.cli.checks import refuse_existing
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.progress import stage

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = "fairlevel demo --out demo"
SYNTHETIC_ROWS = 3000


@dataclass(frozen=True)
class Example:
    """A table to show: features, target and sensitive attributes."""

    title: str
    x: pd.DataFrame
    y: pd.Series
    sensitive: pd.DataFrame
    predictor: str | None = None


def demo(
    out: Annotated[Path, typer.Option(help="Folder for reports and models.")] = Path("demo"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train the fronts of two embedded tables, print the trade-offs, and save a report and the models of each. The
    results of an earlier demo are replaced.
    """
    talk, fronts = Talk(quiet, as_json), {}
    makers = {out / "diabetes": _diabetes, out / "synthetic": _synthetic}
    for folder in makers:
        refuse_existing(folder, force=True)
    for folder, make in makers.items():
        with talk.working():
            stage("loading libraries")
            from fairlevel.cli.front_folder import front_table, how_measured, write_trained
            from fairlevel.estimators.fairness_path import FairnessPath

            example = make()
            path = FairnessPath(predictor=example.predictor, random_state=0)
            path.fit(example.x, example.y, sensitive_features=example.sensitive)
            target = str(example.y.name)
            models = write_trained(path, target, folder, {"target": target}, force=True)
        talk.say(f"{example.title}, {how_measured(path)}", style="bold")
        talk.show(front_table({model.label: model.figures for model in models}))
        talk.say(f"report: {shown_path(folder / 'report.html')}\n")
        fronts[folder.name] = {"report": folder / "report.html", "models": folder / "models", "front": path.to_frame()}
    talk.say("Open a report in a browser and choose a model. For a table of your own:")
    talk.say("fairlevel front FILE.csv --target COLUMN --sensitive COLUMN,COLUMN")
    talk.result(fronts=fronts)


def _diabetes() -> Example:
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    names, title = ["age", "bmi"], "diabetes progression, level across age and body mass"
    y = y.rename("progression")
    return Example(title, x.drop(columns=names), y, x[names], predictor="linear")  # few rows (442), so a simple model


def _synthetic() -> Example:
    from fairlevel.data.synthetic import SyntheticDesign

    rows = SyntheticDesign(beta_int=1.0).sample(SYNTHETIC_ROWS, seed=0).to_frame()
    title = "the paper's synthetic design"
    return Example(title, rows.filter(regex="^x"), rows["y"], rows.filter(regex="^a"))
