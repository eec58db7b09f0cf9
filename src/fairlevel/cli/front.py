"""``fairlevel front``: train models along the trade-off on a user's table."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.checks import column_names, refuse_existing, require_columns
from fairlevel.cli.options import read_names, read_sensitive
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.estimators.budget import Budget
from fairlevel.exceptions import InvalidInput, UnknownAttributes
from fairlevel.progress import stage

EXAMPLE = "fairlevel front rows.csv --target price --sensitive age,income"


def front(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file: one row per case, one column per value.")],
    target: Annotated[str, typer.Option(help="Column to predict: numbers, or two classes.")],
    sensitive: Annotated[
        str, typer.Option(help="Sensitive columns, comma-separated: predictions shall be level across them.")
    ],
    given: Annotated[
        str, typer.Option(help="Legitimate factors, comma-separated: only rows that share them are compared.")
    ] = "",
    weight: Annotated[str | None, typer.Option(help="Column that says how many rows each row counts for.")] = None,
    drop: Annotated[str, typer.Option(help="Columns to leave out, such as ids, comma-separated.")] = "",
    method: Annotated[
        str,
        typer.Option(
            help="What makes models level: auto tries several; or boosting, relevel, spectral, or one penalty, such as "
            "fbo_closed."
        ),
    ] = "auto",
    predictor: Annotated[
        str | None,
        typer.Option(
            help="What predicts: boosting (trees), mlp (a network), linear or random_features; by default, what the "
            "method uses."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")] = Path("front"),
    max_share: Annotated[
        float | None,
        typer.Option(
            help="Budget: also save the best model of which at most this share of the variance depends on the "
            "sensitive columns, such as 0.05."
        ),
    ] = None,
    categories: Annotated[
        str, typer.Option(help="Columns that hold categories although they look like numbers, comma-separated.")
    ] = "",
    lenient: Annotated[
        bool,
        typer.Option("--lenient", help="In columns of numbers or dates, count cells that cannot be read as missing."),
    ] = False,
    threshold: Annotated[
        float,
        typer.Option(help="Of two classes: the second one is decided for where its probability is at least this."),
    ] = 0.5,
    sensitive_inputs: Annotated[
        bool, typer.Option("--sensitive-inputs", help="Let models read the sensitive columns, too.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if it exists.")] = False,
    most_rows: Annotated[int, typer.Option(help="Use at most this many rows, sampled at random.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits and networks.")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train models along the trade-off between accuracy and level predictions; write models, a table and a report. The
    exit code is 1 where no model is within --max-share.
    """
    talk, names = Talk(quiet, as_json), read_sensitive(sensitive)
    Budget.read("auto", None, max_share)
    refuse_existing(out, force)
    if most_rows < 100:
        raise InvalidInput(f"--most-rows {most_rows} was given; at least 100 are needed.")
    factors = read_names(given)
    require_columns(file, (target, *names, *factors, weight, *read_names(drop), *read_names(categories)))

    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import read_numbers, read_sample
        from fairlevel.cli.front_folder import WITHIN, columns_in_words, how_measured, named_rows, write_front
        from fairlevel.cli.front_table import KNEE, front_table
        from fairlevel.data.encoder import TableEncoder
        from fairlevel.data.learning_table import LearningTable, with_unreadable_as_missing
        from fairlevel.estimators.fairness_path import FairnessPath
        from fairlevel.predictors import resolve_predictor

        if predictor is not None:
            resolve_predictor(predictor)  # an unknown name is refused before any work
        stage("reading the file")
        raw, rows = read_sample(file, most_rows, seed, read_names(categories))
        raw = raw.astype(dict.fromkeys(read_names(categories), "category"))
        if rows > len(raw):
            talk.say(f"{rows:,} rows in the file, {len(raw):,} sampled (--most-rows)")
        if lenient:
            used = [name for name in raw.columns if name not in read_names(drop)]
            readable, counts = with_unreadable_as_missing(raw[used])
            raw = raw.assign(**{name: readable[name] for name in counts})
            for name, count in counts.items():
                talk.say(f"{count} cells of {name} cannot be read and count as missing (--lenient)")
        if weight is not None:
            raw[weight] = read_numbers(raw, weight)
        table = LearningTable.of(raw, target, names, read_names(drop), sensitive_inputs, weight, factors)
        encoder = TableEncoder().fit(table.features)
        columns = table.features.shape[1]
        talk.say(f"{len(table.target):,} rows, {columns} columns encoded as {len(encoder.outputs)} numbers")
        for sentence in (*table.gaps.sentences(), *columns_in_words(encoder, len(table.target))):
            talk.say(sentence)
        path = FairnessPath(
            solver=method,
            predictor=predictor,
            threshold=threshold,
            random_state=seed,
            encoder=TableEncoder(),
            max_share=max_share,
        )
        warnings.simplefilter("ignore", UnknownAttributes)  # said above, by column
        path.fit(
            table.features,
            table.target,
            sensitive_features=table.sensitive,
            sample_weight=table.weight,
            given=table.given,
        )
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
            why_dropped="without target, factor or weight",
            columns={"target": (target,), **known.columns, "feature": tuple(map(str, table.features.columns))}
            | ({} if weight is None else {"weight": (weight,)}),
        )
        chosen = write_front(path, target, out, notes, force, provenance)
    within = f" within {', '.join(factors)}" if factors else ""
    figures = named_rows(path, chosen)
    talk.say(f"trade-offs for {target}{within}, {how_measured(path)}", style="bold")
    talk.say(front_table(figures if len(path.front_) > 1 else {"only model": path.front_.iloc[0]}))
    for label, choice in zip(figures, chosen.values(), strict=True):
        talk.say(f"{label}: {shown_path(out / 'models' / choice.folder)}")
    talk.say(f"report: {shown_path(out / 'report.html')}")
    best = out / "models" / chosen[WITHIN if WITHIN in chosen else KNEE].folder
    taken = ("--column", "new_prediction") if "prediction" in column_names(file) else ()
    talk.next("fairlevel", "predict", best, file, "--out", "predictions.csv", *taken)
    talk.result(
        rows=len(table.target),
        rows_left_out=table.gaps.rows_left_out,
        rows_for_accuracy_only=table.gaps.rows_for_accuracy_only,
        measured="cross-validation" if path.cross_fitted_ else "held-out rows",
        report=out / "report.html",
        models={
            label: {"folder": out / "models" / choice.folder, **row}
            for (label, row), choice in zip(figures.items(), chosen.values(), strict=True)
        },
        front=path.to_frame(),
        budget_met=None if max_share is None else path.budget_index_ is not None,
        warnings=warned,
    )
    if max_share is not None and path.budget_index_ is None:
        raise typer.Exit(1)
