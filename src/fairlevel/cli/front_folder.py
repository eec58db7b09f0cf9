"""The folder of a trained front: front.csv, report.html and the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairlevel.cli.checks import refuse_existing
from fairlevel.cli.files import write_table
from fairlevel.cli.front_table import KNEE, MOST_LEVEL, error_of
from fairlevel.data.whole_files import whole_folder
from fairlevel.estimators.fair_classifier import FairClassifier
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.estimators.front_page import front_page
from fairlevel.fronts.point_names import point_name
from fairlevel.progress import stage
from fairlevel.report.numbers import number, percent
from fairlevel.report.provenance import Provenance
from fairlevel.report.render import write_page

WITHIN = "within budget"
FOLDERS = {"most accurate": "most-accurate", KNEE: "knee", MOST_LEVEL: "tightest", WITHIN: "within-budget"}
"""Names of folders, which scripts rely on, by what people call the models."""


@dataclass(frozen=True)
class NamedModel:
    """A model with a name of its own, its folder, and its row in the front."""

    folder: str
    model: FairRegressor | FairClassifier
    row: int


def write_front(
    path: FairnessPath,
    target: str,
    out: Path,
    notes: Mapping[str, object],
    force: bool = False,
    provenance: Provenance | None = None,
) -> dict[str, NamedModel]:
    """Write the whole folder, or nothing if something fails or a folder that may not be replaced has appeared; returns
    the models with a name of their own.
    """
    models = path.models_
    rows = {"most accurate": len(models) - 1, KNEE: path.knee_index_, MOST_LEVEL: 0}
    if path.budget_index_ is not None:
        rows[WITHIN] = path.budget_index_
    chosen = {label: NamedModel(FOLDERS[label], models[row], row) for label, row in rows.items()}
    named = [f"models/{point_name(row)}" for row in range(len(models))]
    with whole_folder(out, lambda present: refuse_existing(present, force)) as partial:
        write_table(path.to_frame(), partial / "front.csv")
        stage("writing the models")
        for name, model in zip(named, models, strict=True):
            model.save(partial / name, notes=dict(notes))
        for choice in chosen.values():
            choice.model.save(partial / "models" / choice.folder, notes=dict(notes))
        stage("writing the report")
        within = None if path.budget_index_ is None else (f"share within {path.max_share:g}", path.budget_index_)
        page = front_page(path, target, named, _budget_in_words(path), provenance, within=within)
        write_page(page, partial / "report.html")
    return chosen


def named_rows(path: FairnessPath, chosen: Mapping[str, NamedModel]) -> dict[str, pd.Series]:
    """The figures of the models with a name of their own, by what people call them."""
    budget = f"share within {path.max_share:g}" if path.max_share is not None else ""
    return {budget if label == WITHIN else label: path.front_.iloc[each.row] for label, each in chosen.items()}


def how_measured(path: FairnessPath) -> str:
    """For the title of a table."""
    return "measured by cross-validation" if path.cross_fitted_ else "measured on held-out rows"


def _budget_in_words(path: FairnessPath) -> tuple[str, ...]:
    """For the report: which model is within the budget that was asked for."""
    if path.max_share is None:
        return ()
    if path.budget_index_ is None:
        return (f"No model was found whose share of variance is at most {path.max_share:g}.",)
    row = path.front_.iloc[path.budget_index_]
    name, error = error_of(row)
    return (
        f"The most accurate model whose share of variance is at most {path.max_share:g} is "
        f"{point_name(path.budget_index_)}: {name} {number(error)}, share {percent(row['share'])}.",
    )
