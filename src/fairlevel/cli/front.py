"""``fairlevel front``: train models along the trade-off on a user's table."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairlevel.cli.checks import refuse_existing, require_columns
from fairlevel.cli.options import read_names
from fairlevel.estimators.budget import Budget
from fairlevel.exceptions import InvalidInput


def front(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive columns, comma-separated.")],
    given: Annotated[
        str, typer.Option(help="Legitimate factors, comma-separated: only rows that share them are compared.")
    ] = "",
    weight: Annotated[str | None, typer.Option(help="Column that says how many rows each row counts for.")] = None,
    drop: Annotated[str, typer.Option(help="Columns to leave out, such as ids, comma-separated.")] = "",
    method: Annotated[
        str, typer.Option(help="auto, boosting, relevel, spectral, or a penalty, such as fbo_closed.")
    ] = "auto",
    predictor: Annotated[
        str | None,
        typer.Option(help="boosting, mlp, linear or random_features; without it, what the method uses by itself."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")] = Path("front"),
    max_share: Annotated[
        float | None,
        typer.Option(help="Also train the best model whose share of variance is within this budget, such as 0.05."),
    ] = None,
    categories: Annotated[
        str, typer.Option(help="Columns that hold categories although they look like numbers, comma-separated.")
    ] = "",
    lenient: Annotated[
        bool, typer.Option(help="In columns of numbers or dates, count cells that cannot be read as missing.")
    ] = False,
    threshold: Annotated[
        float, typer.Option(help="Of two classes: the probability from which on the second one is decided for.")
    ] = 0.5,
    sensitive_inputs: Annotated[bool, typer.Option(help="Use the sensitive columns as inputs, too.")] = False,
    force: Annotated[bool, typer.Option(help="Replace the folder if it exists.")] = False,
    most_rows: Annotated[int, typer.Option(help="Use at most this many rows, sampled at random.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits and networks.")] = 0,
) -> None:
    """Train models along the trade-off between accuracy and level predictions; write models, a table and a report. The
    exit code is 1 where no model is within --max-share.
    """
    console = Console(markup=False)
    names = read_names(sensitive)
    if not names:
        raise InvalidInput("--sensitive names no column; pass at least one, such as --sensitive age,income.")
    Budget.read("auto", None, max_share)
    refuse_existing(out, force)
    if most_rows < 100:
        raise InvalidInput(f"--most-rows {most_rows} was given; at least 100 are needed.")
    factors = read_names(given)
    require_columns(file, (target, *names, *factors, weight, *read_names(drop), *read_names(categories)))

    from fairlevel.cli.files import read_sample
    from fairlevel.cli.front_folder import WITHIN, columns_in_words, front_table, write_front
    from fairlevel.data.encoder import TableEncoder
    from fairlevel.data.learning_table import LearningTable, with_unreadable_as_missing
    from fairlevel.estimators.fairness_path import FairnessPath
    from fairlevel.predictors import resolve_predictor

    if predictor is not None:
        resolve_predictor(predictor)  # an unknown name is refused before any work
    raw, rows = read_sample(file, most_rows, seed, read_names(categories))
    raw = raw.astype(dict.fromkeys(read_names(categories), "category"))
    if rows > len(raw):
        console.print(f"{rows:,} rows in the file, {len(raw):,} sampled (--most-rows)", highlight=False)
    if lenient:
        used = [name for name in raw.columns if name not in read_names(drop)]
        readable, counts = with_unreadable_as_missing(raw[used])
        raw = raw.assign(**{name: readable[name] for name in counts})
        for name, count in counts.items():
            _say(console, f"{count} cells of {name} cannot be read and count as missing (--lenient)")
    table = LearningTable.of(raw, target, names, read_names(drop), sensitive_inputs, weight, factors)
    encoder = TableEncoder().fit(table.features)
    columns = table.features.shape[1]
    _say(console, f"{len(table.target)} rows, {columns} columns encoded as {len(encoder.outputs)} numbers")
    for sentence in (*table.gaps.sentences(), *columns_in_words(encoder)):
        _say(console, sentence)
    path = FairnessPath(
        solver=method,
        predictor=predictor,
        threshold=threshold,
        random_state=seed,
        verbose=1,
        encoder=TableEncoder(),
        max_share=max_share,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path.fit(
            table.features,
            table.target,
            sensitive_features=table.sensitive,
            sample_weight=table.weight,
            given=table.given,
        )
    for warning in caught:
        console.print(f"! {warning.message}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    notes: dict[str, object] = {
        "target": target,
        "sensitive": list(names),
        "given": list(factors),
        "file": file.name,
    }
    known = path.provenance()
    provenance = replace(
        known,
        file=file.name,
        rows_in_file=rows,
        rows_dropped=table.gaps.rows_left_out,
        why_dropped="without target, sensitive value, factor or weight",
        columns={"target": (target,), **known.columns, "feature": tuple(map(str, table.features.columns))}
        | ({} if weight is None else {"weight": (weight,)}),
    )
    chosen = write_front(path, target, out, notes, force, provenance)
    within = f" within {', '.join(factors)}" if factors else ""
    console.print(front_table(path, chosen, f"trade-offs for {target}{within}"))
    console.print(f"report: {out / 'report.html'}; models: {out / 'models'}/", highlight=False, soft_wrap=True)
    best = out / "models" / chosen[WITHIN if WITHIN in chosen else "knee"].folder
    console.print(f"next: fairlevel predict {best} NEW.csv --out predictions.csv", highlight=False, soft_wrap=True)
    if max_share is not None and path.budget_index_ is None:
        raise typer.Exit(1)


def _say(console: Console, sentence: str) -> None:
    console.print(sentence, markup=False, highlight=False, soft_wrap=True)
