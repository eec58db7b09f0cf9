"""The folder of a trained front: front.csv, report.html and the models."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from rich.table import Table

from fairlevel.cli.files import write_table
from fairlevel.estimators.fair_classifier import FairClassifier
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.estimators.front_page import front_page
from fairlevel.exceptions import InvalidInput
from fairlevel.report.numbers import number
from fairlevel.report.provenance import Provenance
from fairlevel.report.render import write_page


@dataclass(frozen=True)
class Choice:
    """A model with a name of its own, its folder, and its row in the front (None if it is not on the front)."""

    folder: str
    model: FairRegressor | FairClassifier
    row: int | None = None


def refuse_existing(out: Path, force: bool) -> None:
    """Raise an error if a folder exists, unless it holds a front and may be replaced."""
    if out.exists() and not force:
        raise InvalidInput(f"{str(out)!r} exists; choose another --out, or pass --force to replace it.")
    if out.exists() and not (out / "front.csv").is_file():
        raise InvalidInput(f"{str(out)!r} exists and holds no front, so it is not replaced; choose another --out.")


def write_front(
    path: FairnessPath,
    target: str,
    out: Path,
    notes: Mapping[str, object],
    max_share: float | None = None,
    provenance: Provenance | None = None,
) -> dict[str, Choice]:
    """Write the whole folder, or nothing if something fails; returns the models with a name of their own."""
    models = path.models_
    rows = {"most accurate": len(models) - 1, "knee": path.knee_index_, "tightest": 0}
    chosen = {label: Choice(label.replace(" ", "-"), models[row], row) for label, row in rows.items()}
    if max_share is not None:
        chosen[f"share within {max_share:g}"] = Choice("within-budget", path.best(max_share=max_share))
    named = [f"models/point-{place:02d}" for place in range(1, len(models) + 1)]
    with complete_or_absent(out) as partial:
        write_table(path.to_frame(), partial / "front.csv")
        for name, model in zip(named, models, strict=True):
            model.save(partial / name, notes=dict(notes))
        for choice in chosen.values():
            choice.model.save(partial / "models" / choice.folder, notes=dict(notes))
        write_page(front_page(path, target, named, provenance=provenance), partial / "report.html")
    return chosen


def front_table(path: FairnessPath, chosen: Mapping[str, Choice], title: str) -> Table:
    """The named models as a table for the terminal."""
    rows = "measured by cross-validation" if path.cross_fitted_ else "measured on held-out rows"
    table = Table(title=f"{title} ({rows})", title_justify="left")
    second = "R²" if path.classes_ is None else "AUC"
    error = "RMSE" if path.classes_ is None else "Brier score"
    for heading in ("model", error, second, "±", "95 % interval", "share", "DPVar"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for label, choice in chosen.items():
        if choice.row is None:
            figures = choice.model.figures()
            table.add_row(
                f"{label}, saved as {choice.folder} *",
                number(figures["mse"] ** (0.5 if path.classes_ is None else 1)),
                "–",
                number(max(figures["dpvar"], 0.0) ** 0.5, 3),
                "–",
                "–",
                number(figures["dpvar"]),
            )
            table.caption = "* on the rows that set its shares, which its candidates did not train on"
            continue
        row = path.front_.iloc[choice.row]
        table.add_row(
            label,
            number(row["mse"] ** (0.5 if path.classes_ is None else 1)),
            number(row["r2" if path.classes_ is None else "auc"], 3),
            number(max(row["dpvar"], 0.0) ** 0.5, 3),
            f"{number(row['dpvar_low'] ** 0.5, 3)} to {number(row['dpvar_high'] ** 0.5, 3)}",
            f"{row['share']:.1%}",
            number(row["dpvar"]),
        )
    return table


@contextmanager
def complete_or_absent(out: Path) -> Iterator[Path]:
    """A temporary folder to fill; it becomes ``out`` if the block succeeds and is deleted otherwise."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        yield partial
        partial.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        partial.replace(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
