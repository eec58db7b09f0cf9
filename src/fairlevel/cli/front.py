"""``fairlevel front``: train models along the trade-off on a user's table."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairlevel.candidates import SOURCES
from fairlevel.cli.files import read_sample
from fairlevel.cli.front_folder import front_table, refuse_existing, write_front
from fairlevel.cli.options import read_names
from fairlevel.data.learning_table import LearningTable, encoded
from fairlevel.estimators.fairness_path import FairnessPath
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties import PENALTIES
from fairlevel.predictors import PREDICTORS, resolve_predictor


def front(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive columns, comma-separated.")],
    given: Annotated[
        str, typer.Option(help="Legitimate factors, comma-separated: only rows that share them are compared.")
    ] = "",
    weight: Annotated[str | None, typer.Option(help="Column that says how many rows each row counts for.")] = None,
    drop: Annotated[str, typer.Option(help="Columns to leave out, such as ids, comma-separated.")] = "",
    method: Annotated[str, typer.Option(help=f"One of: {', '.join((*SOURCES, *PENALTIES))}.")] = "auto",
    predictor: Annotated[
        str | None, typer.Option(help=f"One of: {', '.join(PREDICTORS)}; without it, what the method uses by itself.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")] = Path("front"),
    max_share: Annotated[
        float | None, typer.Option(help="Also save the best model whose share of variance is within this budget.")
    ] = None,
    sensitive_inputs: Annotated[bool, typer.Option(help="Use the sensitive columns as inputs, too.")] = False,
    force: Annotated[bool, typer.Option(help="Replace the folder if it exists.")] = False,
    most_rows: Annotated[int, typer.Option(help="Use at most this many rows, sampled at random.")] = 50_000,
    seed: Annotated[int, typer.Option(help="Seed of splits and networks.")] = 0,
) -> None:
    """Train models along the trade-off between accuracy and level predictions; write models, a table and a report."""
    console = Console()
    names = read_names(sensitive)
    if not names:
        raise InvalidInput("--sensitive names no column; pass at least one, such as --sensitive age,income.")
    refuse_existing(out, force)
    if predictor is not None:
        resolve_predictor(predictor)  # an unknown name is refused before any work
    if most_rows < 100:
        raise InvalidInput(f"--most-rows {most_rows} was given; at least 100 are needed.")
    raw, rows = read_sample(file, most_rows, seed)
    if rows > len(raw):
        console.print(f"{rows:,} rows in the file, {len(raw):,} sampled (--most-rows)", highlight=False)
    table = LearningTable.of(raw, target, names, read_names(drop), sensitive_inputs, weight, read_names(given))
    encoder = table.encoder()
    x = encoded(encoder, table.features)
    console.print(
        f"{len(x)} rows, {table.features.shape[1]} columns encoded as {x.shape[1]} numbers"
        + (
            f"; {table.dropped} rows left out, without target, sensitive value, factor or weight"
            if table.dropped
            else ""
        ),
        highlight=False,
    )
    path = FairnessPath(solver=method, predictor=predictor, random_state=seed, verbose=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path.fit(x, table.target, sensitive_features=table.sensitive, sample_weight=table.weight, given=table.given)
    for warning in caught:
        console.print(f"! {warning.message}", style="yellow", markup=False, highlight=False)
    notes: dict[str, object] = {
        "encoder": encoder.to_dict(),
        "target": target,
        "sensitive": list(names),
        "given": list(read_names(given)),
        "file": file.name,
    }
    known = path.provenance()
    provenance = replace(
        known,
        file=file.name,
        rows_in_file=rows,
        rows_dropped=table.dropped,
        why_dropped="without target, sensitive value, factor or weight",
        columns={"target": (target,), **known.columns, "feature": tuple(map(str, table.features.columns))}
        | ({} if weight is None else {"weight": (weight,)}),
    )
    chosen = write_front(path, target, out, notes, max_share, provenance)
    within = f" within {', '.join(read_names(given))}" if read_names(given) else ""
    console.print(front_table(path, chosen, f"trade-offs for {target}{within}"))
    console.print(f"report: {out / 'report.html'}; models: {out / 'models'}/", highlight=False, soft_wrap=True)
    best = out / "models" / chosen["knee"].folder
    console.print(f"next: fairlevel predict {best} NEW.csv --out predictions.csv", highlight=False, soft_wrap=True)
