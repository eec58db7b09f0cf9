"""``fairlevel relevel``: make a model that exists level, without training it again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairlevel.cli.checks import refuse_existing, require_columns
from fairlevel.cli.model_files import FORMATS, read_model_file, refuse_unusable, require_model_file
from fairlevel.cli.options import read_names, read_sensitive
from fairlevel.cli.own_process import go_on_in_own_process, limited
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.data.whole_files import whole_folder
from fairlevel.estimators.budget import Budget
from fairlevel.exceptions import BudgetOutOfReach, InvalidInput, InvalidType, NoTreesToChange
from fairlevel.fronts.point_names import point_name, point_row
from fairlevel.progress import stage

if TYPE_CHECKING:
    import pandas as pd

    from fairlevel.estimators.relevelled_front import RelevelledFront
    from fairlevel.report.provenance import Provenance

WITHIN = "within-budget"
EXAMPLE = "fairlevel relevel model.txt new.csv --sensitive age --target price"


def relevel(
    model: Annotated[Path, typer.Argument(help=f"File of a model, ending in {', '.join(FORMATS)}.")],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with rows that the model has not seen.")],
    sensitive: Annotated[str, typer.Option(help="Sensitive columns, comma-separated.")],
    given: Annotated[
        str, typer.Option(help="Legitimate factors, comma-separated: only rows that share them are compared.")
    ] = "",
    weight: Annotated[str, typer.Option(help="Column that says how many rows each row counts for.")] = "",
    target: Annotated[str, typer.Option(help="Column that the model predicts, to measure its error.")] = "",
    drop: Annotated[str, typer.Option(help="Columns that the model does not read, comma-separated.")] = "",
    sensitive_inputs: Annotated[
        bool, typer.Option("--sensitive-inputs", help="The model reads the sensitive columns, too.")
    ] = False,
    max_share: Annotated[
        float | None, typer.Option(help="Also save the model whose share of variance is within this budget.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="What changes: auto; averages (leaves, by the disparity of their rows), trees (one weight per tree), "
            "leaves (the best value of each), or correction (on top of the model, ONNX only)."
        ),
    ] = "auto",
    seen: Annotated[bool, typer.Option("--seen", help="Say that the model was trained on these rows.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")] = Path("relevelled"),
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if it exists.")] = False,
    most_rows: Annotated[int, typer.Option(help="Use at most this many rows, sampled at random.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits.")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Make a model that exists level, without training it again; write models in its own format and a report. The exit
    code is 1 where no model is within --max-share.
    """
    talk, names = Talk(quiet, as_json), read_sensitive(sensitive)
    Budget.read("auto", None, max_share)
    refuse_existing(out, force)
    factors, other = read_names(given), tuple(name for name in (target, weight) if name)
    kind = require_model_file(model)
    require_columns(file, (*names, *factors, *other, *read_names(drop)))
    go_on_in_own_process(model, file, kind.library)

    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import read_numbers, read_sample
        from fairlevel.cli.front_table import front_table
        from fairlevel.data.learning_table import Gaps, LearningTable
        from fairlevel.estimators.relevel import relevel as relevel_model

        changes = kind.method(method)
        stage("reading the files")
        with limited():
            fitted = read_model_file(model)
        raw, rows_in_file = read_sample(file, most_rows, seed)
        _refuse_hidden_inputs(fitted, () if sensitive_inputs else names)
        unused = {target, weight, *read_names(drop)} | (set() if sensitive_inputs else set(names))
        gaps = Gaps.of(raw, other, (*names, *factors))
        for sentence in gaps.sentences():
            talk.say(sentence)
        complete = raw.loc[gaps.complete]
        rows = complete.reset_index(drop=True)
        inputs = complete[[column for column in rows.columns if column not in unused]]
        features = _with_numbers(fitted, inputs).reset_index(drop=True)
        y = None if not target else LearningTable.of(rows, target, names, read_names(drop), sensitive_inputs).target
        try:
            with limited():
                refuse_unusable(model, fitted, features, changes, seed)
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
        except NoTreesToChange as error:
            raise kind.without_trees(error) from None
        provenance = replace(
            front.provenance(),
            file=file.name,
            rows_in_file=rows_in_file,
            rows_dropped=gaps.rows_left_out,
            why_dropped="a value is missing",
            seed=seed,
        )
        saved = _write(front, model, out, max_share, force, provenance)
        figures = {label: _figures(front, name, max_share) for label, name in saved.items()}
        met = None if max_share is None else WITHIN in saved.values()
    for note in front.notes():
        talk.say(note)
    talk.say("trade-offs, measured on rows that did not fit the correction", style="bold")
    talk.say(front_table(figures))
    files = {label: out / "models" / f"{name}{model.suffix.lower()}" for label, name in saved.items()}
    for label, path in files.items():
        talk.say(f"{label}: {shown_path(path)}")
    talk.say(f"report: {shown_path(out / 'report.html')}")
    talk.result(
        rows=len(rows),
        rows_left_out=gaps.rows_left_out,
        report=out / "report.html",
        models={label: {"file": files[label], **row} for label, row in figures.items()},
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
    numbers = [name for place, name in enumerate(names) if place not in words and name in inputs]
    kinds = {name: inputs[name].dtype for name in numbers}
    text = [name for name, kind in kinds.items() if kind.kind == "O" and kind.name != "category"]
    try:
        return inputs.assign(**{name: read_numbers(inputs, name) for name in text})
    except InvalidType as error:
        raise InvalidType(
            f"{error} If the model was trained on categories, pass a Parquet file in which they have that type, such "
            "as by pandas.read_csv(...).astype({'town': 'category'}).to_parquet('rows.parquet')."
        ) from None


def _figures(front: RelevelledFront, name: str, max_share: float | None) -> pd.Series:
    """The figures of a written model."""
    if name == WITHIN:
        return front.figures(max_share=max_share)
    return front.to_frame().iloc[point_row(name)]


def _within(front: RelevelledFront, max_share: float) -> Any | None:
    """The model within a budget; a warning where it is out of reach: the front is kept."""
    try:
        return front.best(max_share=max_share)
    except InvalidInput as error:
        warnings.warn(BudgetOutOfReach(str(error)), stacklevel=2)
        return None


def _write(
    front: RelevelledFront, given: Path, out: Path, max_share: float | None, force: bool, provenance: Provenance
) -> dict[str, str]:
    """Write the whole folder, or nothing; returns the names of the models by what they are."""
    from fairlevel.cli.files import write_table
    from fairlevel.cli.front_table import KNEE, MOST_LEVEL
    from fairlevel.estimators.front_page import front_page
    from fairlevel.estimators.relevelled_front import GIVEN
    from fairlevel.report.render import write_page

    ending = given.suffix.lower()
    files = {point_name(row): front.model(row) for row in range(len(front.front_))}
    labels = {MOST_LEVEL: 0, KNEE: front.knee_index_, "as it was": len(front.front_) - 1}
    saved = {label: point_name(row) for label, row in labels.items()}
    notes = front.notes()
    if max_share is not None:
        within = _within(front, max_share)
        if within is None:
            notes = (*notes, f"No model was found whose share of variance is at most {max_share:g}.")
        else:
            files[WITHIN], saved[f"share within {max_share:g}"] = within, WITHIN
    with whole_folder(out, lambda present: refuse_existing(present, force)) as partial:
        stage("writing the models")
        (partial / "models").mkdir()
        write_table(front.to_frame(), partial / "front.csv")
        for name, each in files.items():
            FORMATS[ending].write(each, partial / "models" / f"{name}{ending}")
        stage("writing the report")
        page = front_page(front, given.name, notes=notes, provenance=provenance, before=GIVEN)
        write_page(page, partial / "report.html")
    return saved
