"""A front in the terminal and on disk, the same for trained and for re-levelled models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairlevel.cli.checks import refuse_existing
from fairlevel.cli.files import write_table
from fairlevel.cli.talk import Talk, shown_path
from fairlevel.data.whole_files import whole_folder
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.estimators.front_page import front_page
from fairlevel.estimators.relevelled_front import GIVEN, RelevelledFront
from fairlevel.exceptions import BudgetOutOfReach, InvalidInput
from fairlevel.fronts.points import point_name
from fairlevel.progress import stage
from fairlevel.report.numbers import number, percent
from fairlevel.report.page import Page, TableBlock
from fairlevel.report.provenance import Provenance
from fairlevel.report.render import write_page

MOST_LEVEL, KNEE = "most level", "knee"
"""What models are called, in the terminal and on the page."""

WITHIN_BUDGET = "within-budget"
NONE_WITHIN = "No model was found whose share of variance is at most {:g}."


@dataclass(frozen=True)
class NamedModel:
    """A model that people call by a name, its file or folder within ``models``, and its figures."""

    label: str
    file: str
    figures: pd.Series


def write_trained(
    path: FairnessPath,
    target: str,
    out: Path,
    notes: Mapping[str, object],
    force: bool = False,
    provenance: Provenance | None = None,
) -> list[NamedModel]:
    """Write the folder of a trained front; returns the models with a name of their own."""
    named = {"most accurate": ("most-accurate", len(path.front_) - 1), KNEE: ("knee", path.knee_index_)}
    named[MOST_LEVEL] = ("tightest", 0)  # scripts rely on these names of folders
    best, within, sentences = path.budget_index_, None, []
    if path.max_share is not None and best is None:
        sentences.append(NONE_WITHIN.format(path.max_share))
    elif best is not None:
        within = (f"share within {path.max_share:g}", best)
        named[within[0]] = (WITHIN_BUDGET, best)
        figures = path.front_.iloc[best]
        name, error = error_of(figures)
        sentences.append(
            f"The most accurate model whose share of variance is at most {path.max_share:g} is {point_name(best)}: "
            f"{name} {number(error)}, share {percent(figures['share'])}."
        )
    rows = {point_name(row): row for row in range(len(path.front_))}
    page = front_page(path, target, [f"models/{name}" for name in rows], sentences, provenance, within=within)
    models = {file: path.model(row) for file, row in (*rows.items(), *named.values())}
    write_front(out, force, path.to_frame(), models, lambda model, to: model.save(to, notes=dict(notes)), page)
    return [NamedModel(label, file, path.front_.iloc[row]) for label, (file, row) in named.items()]


def write_relevelled(
    front: RelevelledFront,
    given: Path,
    write: Callable[[Any, Path], None],
    out: Path,
    force: bool,
    max_share: float | None,
    provenance: Provenance,
) -> list[NamedModel]:
    """Write the folder of a model that was given; ``write`` writes models in its format. A budget that is out of reach
    is a warning: the front is kept.
    """
    notes, ending, last = front.notes(), given.suffix.lower(), len(front) - 1
    changed = {f"{point_name(row)}{ending}": front.model(row) for row in range(len(front))}
    rows = {MOST_LEVEL: 0, KNEE: front.knee_index_, "as it was": last}
    models = [NamedModel(label, list(changed)[row], front.front_.iloc[row]) for label, row in rows.items()]
    if max_share is not None:
        try:
            changed[f"{WITHIN_BUDGET}{ending}"] = front.best(max_share=max_share)
        except InvalidInput as error:
            warnings.warn(BudgetOutOfReach(str(error)), stacklevel=2)
            notes = (*notes, NONE_WITHIN.format(max_share))
        else:
            figures = front.figures(max_share=max_share)
            models.append(NamedModel(f"share within {max_share:g}", f"{WITHIN_BUDGET}{ending}", figures))
    page = front_page(front, given.name, notes=notes, provenance=provenance, before=GIVEN)
    write_front(out, force, front.to_frame(), changed, write, page)
    return models


def write_front(
    out: Path,
    force: bool,
    front: pd.DataFrame,
    models: Mapping[str, Any],
    save: Callable[[Any, Path], None],
    page: Page,
) -> None:
    """Write the whole folder with models by the name of their file, or nothing if something fails or a folder that may
    not be replaced has appeared.
    """
    with whole_folder(out, lambda present: refuse_existing(present, force)) as partial_folder:
        stage("writing the models")
        (partial_folder / "models").mkdir()
        write_table(front, partial_folder / "front.csv")
        for name, model in models.items():
            save(model, partial_folder / "models" / name)
        stage("writing the report")
        write_page(page, partial_folder / "report.html")


def show_front(talk: Talk, title: str, models: Sequence[NamedModel], out: Path) -> None:
    """The trade-offs, and where the models and the report are."""
    talk.say(title, style="bold")
    same = all(model.figures.equals(models[0].figures) for model in models)
    talk.show(front_table({"only model": models[0].figures} if same else {m.label: m.figures for m in models}))
    for model in models:
        talk.say(f"{model.label}: {shown_path(out / 'models' / model.file)}")
    talk.say(f"report: {shown_path(out / 'report.html')}")


def how_measured(path: FairnessPath) -> str:
    """For the title of a table."""
    return "measured by cross-validation" if path.cross_fitted_ else "measured on held-out rows"


def front_table(rows: Mapping[str, pd.Series]) -> TableBlock:
    """One row per model: its error, how far its average prediction moves (±, the root of DPVar), and DPVar."""
    first = next(iter(rows.values()))
    fits = {name: heading for name, heading in {"r2": "R²", "auc": "AUC"}.items() if name in first}
    cells = tuple(
        (
            label,
            number(error_of(row)[1]),
            *("–" if pd.isna(row[name]) else f"{row[name]:.3f}".replace("-", "−") for name in fits),
            number(max(row["dpvar"], 0.0) ** 0.5, 3),
            f"{number(row['dpvar_low'] ** 0.5, 3)} to {number(row['dpvar_high'] ** 0.5, 3)}",
            f"{row['share']:.1%}",
            number(max(row["dpvar"], 0.0)),
        )
        for label, row in rows.items()
    )
    return TableBlock("", ("model", error_of(first)[0], *fits.values(), "±", "95 % interval", "share", "DPVar"), cells)


def error_of(row: pd.Series) -> tuple[str, float]:
    """What the error of a row of a front is called, and its value in units of the target."""
    if "auc" in row:
        return "Brier score", row["mse"]
    return ("RMSE", row["mse"] ** 0.5) if pd.notna(row["mse"]) else ("RMS change", row["distance"] ** 0.5)
