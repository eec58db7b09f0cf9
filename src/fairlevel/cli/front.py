"""``fairlevel front``: train models along the trade-off on a user's table."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli import options
from fairlevel.cli.checks import column_names, refuse_existing, require_columns
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.exceptions import InvalidInput, UnknownAttributes
from fairlevel.progress import stage

EXAMPLE = "fairlevel front rows.csv --target price --sensitive age,income"


def front(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file: one row per case, one column per value.")],
    target: Annotated[str, options.column_option("Column to predict: numbers, or two classes.")],
    sensitive: options.Sensitive,
    given: options.Given = "",
    weight: options.Weight = None,
    drop: options.Drop = "",
    method: Annotated[
        str,
        typer.Option(
            help="What makes models level: auto tries several; or boosting, relevel, spectral, or one penalty, such as "
            "fbo_closed.",
            autocompletion=options.one_of((*options.SOURCES, *options.PENALTIES)),
        ),
    ] = "auto",
    predictor: Annotated[
        str | None,
        typer.Option(
            help="What predicts: boosting (trees), mlp (a network), linear or random_features; by default, what the "
            "method uses.",
            autocompletion=options.one_of(options.PREDICTORS),
        ),
    ] = None,
    out: options.FrontFolder = Path("front"),
    max_share: options.MaxShare = None,
    categories: options.Categories = "",
    lenient: options.Lenient = False,
    threshold: Annotated[
        float,
        typer.Option(help="Of two classes: the second one is decided for where its probability is at least this."),
    ] = 0.5,
    sensitive_inputs: options.SensitiveInputs = False,
    force: options.Force = False,
    most_rows: options.MostRows = 50_000,
    seed: options.Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train models along the trade-off between accuracy and level predictions; write models, a table and a report. The
    exit code is 1 where no model is within --max-share.
    """
    talk = Talk(quiet, as_json)
    names, factors = options.read_sensitive(sensitive), options.read_names(given)
    dropped, words = options.read_names(drop), options.read_names(categories)
    refuse_existing(out, force)
    if most_rows < 100:
        raise InvalidInput(f"--most-rows {most_rows} was given; at least 100 are needed.")
    require_columns(file, (target, *names, *factors, weight, *dropped, *words))

    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import read_numbers, read_rows
        from fairlevel.cli.front_folder import WITHIN_BUDGET, how_measured, show_front, write_trained
        from fairlevel.cli.overlooked import in_words
        from fairlevel.data.encoder import TableEncoder
        from fairlevel.data.learning_table import LearningTable, with_unreadable_as_missing
        from fairlevel.estimators.fairness_path import FairnessPath
        from fairlevel.predictors import resolve_predictor

        if predictor is not None:
            resolve_predictor(predictor)  # an unknown name is refused before any work
        stage("reading the file")
        sample = read_rows(file, words=words, most=most_rows, seed=seed)
        table = sample.table.astype(dict.fromkeys(words, "category"))
        if sample.in_file > len(table):
            talk.say(f"{sample.in_file:,} rows in the file, {len(table):,} sampled (--most-rows)")
        used = table.drop(columns=list(dropped))
        if lenient:
            used, counts = with_unreadable_as_missing(used)
            for name, count in counts.items():
                talk.say(f"{count} cells of {name} cannot be read and count as missing (--lenient)")
            table = table.assign(**used[[*counts]])
        if weight is not None:
            table[weight] = read_numbers(table, weight)
        rows = LearningTable.of(table, target, names, dropped, sensitive_inputs, weight, factors)
        if rows.target.nunique() == 1:
            raise InvalidInput(
                f"The target {target!r} holds a single value, {rows.target.iloc[0]}; there is nothing to predict: "
                "choose another --target."
            )
        for sentence in in_words(file, used, rows):
            talk.say(sentence)
        path = FairnessPath(
            solver=method,
            predictor=predictor,
            threshold=threshold,
            random_state=seed,
            encoder=TableEncoder(),
            max_share=max_share,
        )
        warnings.simplefilter("ignore", UnknownAttributes)  # said by column already
        path.fit(
            rows.features, rows.target, sensitive_features=rows.sensitive, sample_weight=rows.weight, given=rows.given
        )
        known = path.provenance()
        provenance = replace(
            known,
            file=file.name,
            rows_in_file=sample.in_file,
            rows_dropped=rows.gaps.rows_left_out,
            why_dropped="without target, factor or weight",
            columns={"target": (target,), **known.columns} | ({} if weight is None else {"weight": (weight,)}),
        )
        notes = {"target": target, "sensitive": list(names), "given": list(factors), "file": file.name}
        models = write_trained(path, target, out, notes, force, provenance)
    within = f" within {', '.join(factors)}" if factors else ""
    show_front(talk, f"trade-offs for {target}{within}, {how_measured(path)}", models, out)
    best = next(model for model in reversed(models) if model.file in (WITHIN_BUDGET, "knee"))
    taken = ("--column", "new_prediction") if "prediction" in column_names(file) else ()
    talk.next("fairlevel", "predict", out / "models" / best.file, file, "--out", "predictions.csv", *taken)
    talk.result(
        rows=len(rows.target),
        rows_left_out=rows.gaps.rows_left_out,
        rows_for_accuracy_only=rows.gaps.rows_for_accuracy_only,
        measured="cross-validation" if path.cross_fitted_ else "held-out rows",
        report=out / "report.html",
        models={model.label: {"folder": out / "models" / model.file, **model.figures} for model in models},
        front=path.to_frame(),
        budget_met=None if max_share is None else path.budget_index_ is not None,
        warnings=warned,
    )
    if max_share is not None and path.budget_index_ is None:
        raise typer.Exit(1)
