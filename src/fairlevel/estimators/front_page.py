"""A fitted path as a page: the front, the models that were picked, and what each does along the attributes."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd

from fairlevel.data.learning_table import LearningTable
from fairlevel.data.scaling import Array
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.plots.front import FrontDisplay
from fairlevel.plots.mean_profile import MeanProfileDisplay
from fairlevel.report.page import Page, Picture, Section, TableBlock

MOST_PROFILES = 8


def front_page(
    path: FairnessPath, models: Mapping[str, FairRegressor], table: LearningTable, x: Array, folder: str | None = None
) -> Page:
    """Figures of the front come from rows that set nothing; profiles show the picked models on the rows of
    ``table``. ``folder`` is where the knee was saved, if it was.
    """
    front = path.to_frame()
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    FrontDisplay.from_frame(front, ax=axis)
    first, last = front.iloc[0], front.iloc[-1]
    alt = (
        f"Front of {len(front)} models, from MSE {first['mse']:.3g} at DPVar {first['dpvar']:.3g} "
        f"to MSE {last['mse']:.3g} at DPVar {last['dpvar']:.3g}"
    )
    picture = Picture.vector(figure, "Accuracy against disparity; bars are 95 % intervals of DPVar", alt)
    plt.close(figure)
    told = "fold by fold, since rows are few" if path.cross_fitted_ else "on rows kept apart for it"
    meaning = (
        f"Every point is a model; its figures were told {told}. DPVar is the variance of the average prediction across "
        "sensitive profiles, in squared units of the target; it says nothing about spread or tails."
    )
    numbers = TableBlock.of(_numbered(front), "Models", "±: √DPVar, in units of the target", digits=4)
    sections = [
        Section("The front", (meaning,), (picture, numbers)),
        Section("Before and after", ("The average prediction along each attribute.",), _profiles(models, table, x)),
    ]
    if folder is not None:
        sections.append(Section("Use a model", ("from fairlevel import load", f"model = load({folder!r})")))
    attributes = ", ".join(map(str, table.sensitive.columns))
    summary = f"{len(table.target)} rows, {x.shape[1]} inputs, level across {attributes}."
    return Page(f"Trade-offs for {table.target.name}", summary, tuple(sections))


def _numbered(front: pd.DataFrame) -> pd.DataFrame:
    names = {"mse": "MSE", "dpvar": "DPVar", "dpvar_low": "95 % from", "dpvar_high": "to"}
    shown = front.drop(columns="level").rename(columns=names)
    shown.insert(0, "model", [f"point-{number + 1:02d}" for number in range(len(front))])
    shown.insert(3, "±", front["dpvar"].clip(lower=0) ** 0.5)
    return shown


def _profiles(models: Mapping[str, FairRegressor], table: LearningTable, x: Array) -> tuple[Picture, ...]:
    frame = pd.DataFrame(x, columns=list(next(iter(models.values())).feature_names_in_))
    predictions = {label: model.predict(frame) for label, model in models.items()}
    pictures = []
    numeric = table.sensitive.select_dtypes("number").columns[:MOST_PROFILES]
    for name in numeric:
        figure, axis = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
        MeanProfileDisplay.from_predictions(
            predictions, attribute=table.sensitive[name].to_numpy(), attribute_name=str(name), ax=axis
        )
        alt = f"Average prediction of {', '.join(models)} along {name}"
        pictures.append(Picture.vector(figure, f"Average prediction along {name}, with 95 % bands", alt))
        plt.close(figure)
    return tuple(pictures)
