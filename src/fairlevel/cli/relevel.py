"""``fairlevel relevel``: make a model that exists level, without training it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairlevel.cli import options
from fairlevel.cli.checks import refuse_existing, require_columns
from fairlevel.cli.model_files import FORMATS, require_model_file
from fairlevel.cli.own_process import go_on_in_own_process, limited
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.progress import stage

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = "fairlevel relevel model.txt new.csv --sensitive age --target price"


def relevel(
    model: Annotated[Path, typer.Argument(help=f"File of a model, ending in {', '.join(FORMATS)}.")],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with rows that the model has not seen.")],
    sensitive: options.Sensitive,
    given: options.Given = "",
    weight: options.Weight = None,
    target: Annotated[
        str | None, options.column_option("Column that the model predicts, to measure its error.")
    ] = None,
    drop: options.Drop = "",
    sensitive_inputs: options.SensitiveInputs = False,
    max_share: options.MaxShare = None,
    method: Annotated[
        str,
        typer.Option(
            help="What changes: auto; averages (leaves, by the disparity of their rows), trees (one weight per tree), "
            "leaves (the best value of each), or correction (on top of the model, ONNX only).",
            autocompletion=options.one_of(options.WAYS_OF_RELEVEL),
        ),
    ] = "auto",
    seen: Annotated[bool, typer.Option("--seen", help="Say that the model was trained on these rows.")] = False,
    out: options.FrontFolder = Path("relevelled"),
    force: options.Force = False,
    most_rows: options.MostRows = 50_000,
    seed: options.Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Make a model that exists level, without training it again; write models in its own format and a report. The exit
    code is 1 where no model is within --max-share.
    """
    talk, file_format = Talk(quiet, as_json), require_model_file(model)
    names, factors = options.read_sensitive(sensitive), options.read_names(given)
    dropped, others = options.read_names(drop), tuple(name for name in (target, weight) if name)
    refuse_existing(out, force)
    require_columns(file, (*names, *factors, *others, *dropped))
    go_on_in_own_process(model, file, file_format.library)

    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import read_numbers, read_rows
        from fairlevel.cli.front_folder import WITHIN_BUDGET, show_front, write_relevelled
        from fairlevel.data.learning_table import Gaps, LearningTable
        from fairlevel.estimators.relevel import relevel as relevel_model

        changes = file_format.method(method)
        stage("reading the files")
        with limited():
            fitted = file_format.read(model)
        sample = read_rows(file, most=most_rows, seed=seed)
        _refuse_hidden_inputs(fitted, () if sensitive_inputs else names)
        gaps = Gaps.of(sample.table, others, (*names, *factors))
        for sentence in gaps.sentences():
            talk.say(sentence)
        rows = sample.table.loc[gaps.complete]
        features = _with_numbers(fitted, rows.drop(columns=[*others, *dropped, *(() if sensitive_inputs else names)]))
        features, rows = features.reset_index(drop=True), rows.reset_index(drop=True)
        y = None if not target else LearningTable.of(rows, target, names, dropped, sensitive_inputs).target
        with limited():
            file_format.refuse_unusable(model, fitted, features, changes, seed)
        front = relevel_model(
            fitted,
            features,
            sensitive_features=rows[list(names)],
            y=y,
            sample_weight=read_numbers(rows, weight) if weight else None,
            given=rows[list(factors)] if factors else None,
            seen=seen,
            method=changes,
            random_state=seed,
        )
        provenance = replace(
            front.provenance(),
            file=file.name,
            rows_in_file=sample.in_file,
            rows_dropped=gaps.rows_left_out,
            why_dropped="a value is missing",
            seed=seed,
        )
        models = write_relevelled(front, model, file_format.write, out, force, max_share, provenance)
    for note in front.notes():
        talk.say(note)
    show_front(talk, "trade-offs, measured on rows that did not fit the correction", models, out)
    met = None if max_share is None else any(WITHIN_BUDGET in model.file for model in models)
    talk.result(
        rows=len(rows),
        rows_left_out=gaps.rows_left_out,
        report=out / "report.html",
        models={model.label: {"file": out / "models" / model.file, **model.figures} for model in models},
        front=front.to_frame(),
        notes=front.notes(),
        budget_met=met,
        warnings=warned,
    )
    if met is False:
        raise typer.Exit(1)


def _refuse_hidden_inputs(model: Any, sensitive: Sequence[str]) -> None:
    """A model that reads sensitive columns needs them."""
    from fairlevel.releveling.reading import columns_read

    read = [name for name in sensitive if name in (columns_read(model, sensitive) or ())]
    if read:
        columns = f"column{'s' if len(read) > 1 else ''} {', '.join(map(repr, read))}"
        raise InvalidInput(f"The model reads the sensitive {columns}; pass --sensitive-inputs to let it.")


def _with_numbers(model: Any, inputs: pd.DataFrame) -> pd.DataFrame:
    """Text in columns that the model reads as numbers, such as 1,5, as numbers."""
    from fairlevel.cli.files import read_numbers
    from fairlevel.releveling.reading import columns_read, text_inputs

    names, words = columns_read(model, inputs.columns) or list(inputs.columns), text_inputs(model)
    numbers = [name for index, name in enumerate(names) if index not in words and name in inputs]
    text = [name for name in numbers if inputs[name].dtype.kind == "O" and inputs[name].dtype != "category"]
    try:
        return inputs.assign(**{name: read_numbers(inputs, name) for name in text})
    except InvalidType as error:
        raise InvalidType(
            f"{error} If the model was trained on categories, pass a Parquet file in which they have that type, such "
            "as by pandas.read_csv(...).astype({'town': 'category'}).to_parquet('rows.parquet')."
        ) from None
