"""``fairlevel front``: train the trade-off on a table of one's own."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import matplotlib

matplotlib.use("Agg")

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from fairlevel.cli.files import read_columns, write_table
from fairlevel.cli.options import read_names
from fairlevel.data.learning_table import LearningTable, encoded
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.estimators.front_page import front_page
from fairlevel.exceptions import InvalidInput
from fairlevel.report.render import write_page


def front(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive columns, comma-separated.")],
    drop: Annotated[str, typer.Option(help="Columns to leave out, such as ids, comma-separated.")] = "",
    method: Annotated[str, typer.Option(help="auto, spectral or the name of a penalty.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")] = Path("front"),
    max_share: Annotated[float | None, typer.Option(help="Also pick the model within this share.")] = None,
    sensitive_inputs: Annotated[bool, typer.Option(help="Predict from the sensitive columns too.")] = False,
    force: Annotated[bool, typer.Option(help="Replace the folder if it exists.")] = False,
    seed: Annotated[int, typer.Option(help="Of splits and networks.")] = 0,
) -> None:
    """Train every trade-off between accuracy and level predictions, and write models, a table and a page."""
    console = Console()
    names = read_names(sensitive)
    if not names:
        raise InvalidInput("--sensitive names no column; pass at least one, such as --sensitive age,income.")
    if out.exists() and not force:
        raise InvalidInput(f"{str(out)!r} exists; choose another --out, or pass --force to replace it.")
    table = LearningTable.of(read_columns(file), target, names, read_names(drop), sensitive_inputs)
    encoder = table.encoder()
    x = encoded(encoder, table.features)
    console.print(
        f"{len(x)} rows, {table.features.shape[1]} columns as {x.shape[1]} numbers"
        + (f"; {table.dropped} rows without target or sensitive values left out" if table.dropped else ""),
        highlight=False,
    )
    path = FairnessPath(solver=method, random_state=seed, verbose=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path.fit(x, table.target, sensitive_features=table.sensitive)
    for warning in caught:
        console.print(f"! {warning.message}", style="yellow", markup=False, highlight=False)
    models = path.models()
    chosen = _chosen(path, models, max_share)
    notes: dict[str, object] = {
        "encoder": encoder.to_dict(),
        "target": target,
        "sensitive": list(names),
        "file": file.name,
    }
    _write(path, models, chosen, table, x.to_numpy(), notes, out)
    console.print(_shown(path, chosen, target))
    console.print(f"report: {out / 'report.html'}; models: {out / 'models'}/", highlight=False, soft_wrap=True)
    best = out / "models" / chosen["knee"].folder
    console.print(f"next: fairlevel predict {best} NEW.csv --out predictions.csv", highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Choice:
    """A model worth a name: its folder, itself, and its row in the front where it has one."""

    folder: str
    model: FairRegressor
    row: int | None = None


def _chosen(path: FairnessPath, models: list[FairRegressor], max_share: float | None) -> dict[str, Choice]:
    """The models that are named, by what they are called."""
    rows = {"most accurate": len(models) - 1, "knee": path.knee_index_, "tightest": 0}
    chosen = {label: Choice(label.replace(" ", "-"), models[row], row) for label, row in rows.items()}
    if max_share is not None:
        chosen[f"share within {max_share:g}"] = Choice("within-budget", path.best(max_share=max_share))
    return chosen


def _write(
    path: FairnessPath,
    models: list[FairRegressor],
    chosen: dict[str, Choice],
    table: LearningTable,
    x: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    notes: dict[str, object],
    out: Path,
) -> None:
    """Everything, or nothing: the folder appears when it is complete."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        write_table(path.to_frame(), partial / "front.csv")
        for number, model in enumerate(models, start=1):
            model.save(partial / "models" / f"point-{number:02d}", notes=notes)
        for choice in chosen.values():
            choice.model.save(partial / "models" / choice.folder, notes=notes)
        named = {label: choice.model for label, choice in chosen.items()}
        write_page(front_page(path, named, table, x, "models/knee"), partial / "report.html")
        partial.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        partial.replace(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _shown(path: FairnessPath, chosen: dict[str, Choice], target: str) -> Table:
    told = "judged fold by fold" if path.cross_fitted_ else "judged on rows of their own"
    shown = Table(title=f"trade-offs for {target} ({told})", title_justify="left")
    for heading in ("model", "MSE", "DPVar", "95 % interval", "±", "share"):
        shown.add_column(heading, justify="left" if heading == "model" else "right")
    for label, choice in chosen.items():
        if choice.row is None:
            shown.add_row(label, *["kept on unseen rows", "", "", "", ""])
            continue
        row = path.front_.iloc[choice.row]
        shown.add_row(
            label,
            f"{row['mse']:.4g}",
            f"{row['dpvar']:.4g}",
            f"{row['dpvar_low']:.4g} to {row['dpvar_high']:.4g}",
            f"{max(row['dpvar'], 0.0) ** 0.5:.3g}",
            f"{row['share']:.1%}",
        )
    return shown
