"""``fairlevel relevel``: make a model that exists level, without training it again."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from fairlevel.cli.checks import refuse_existing, require_columns
from fairlevel.cli.model_files import FORMATS, read_model_file, require_model_file
from fairlevel.cli.options import read_names
from fairlevel.data.whole_files import whole_folder
from fairlevel.exceptions import InvalidInput

if TYPE_CHECKING:
    from fairlevel.estimators.relevelled_front import RelevelledFront
    from fairlevel.report.provenance import Provenance


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
    sensitive_inputs: Annotated[bool, typer.Option(help="The model reads the sensitive columns, too.")] = False,
    max_share: Annotated[
        float | None, typer.Option(help="Also save the model whose share of variance is within this budget.")
    ] = None,
    method: Annotated[str, typer.Option(help="auto, trees, leaves or correction.")] = "auto",
    seen: Annotated[bool, typer.Option(help="Say that the model was trained on these rows.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")] = Path("relevelled"),
    force: Annotated[bool, typer.Option(help="Replace the folder if it exists.")] = False,
    most_rows: Annotated[int, typer.Option(help="Use at most this many rows, sampled at random.")] = 50_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits.")] = 0,
) -> None:
    """Make a model that exists level, without training it again; write models in its own format and a report."""
    console, names = Console(markup=False), read_names(sensitive)
    if not names:
        raise InvalidInput("--sensitive names no column; pass at least one, such as --sensitive age,income.")
    refuse_existing(out, force)
    factors, other = read_names(given), tuple(name for name in (target, weight) if name)
    require_model_file(model)
    require_columns(file, (*names, *factors, *other, *read_names(drop)))

    from fairlevel.cli.files import read_sample
    from fairlevel.data.learning_table import Gaps, LearningTable
    from fairlevel.estimators.relevel import relevel as relevel_model

    fitted = read_model_file(model)
    raw, _ = read_sample(file, most_rows, seed)
    unused = {target, weight, *read_names(drop)} | (set() if sensitive_inputs else set(names))
    gaps = Gaps.of(raw, other, (*names, *factors))
    for sentence in gaps.sentences():
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    rows = raw.loc[gaps.complete].reset_index(drop=True)
    features = rows[[column for column in rows.columns if column not in unused]]
    y = None if not target else LearningTable.of(rows, target, names, read_names(drop), sensitive_inputs).target
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        front = relevel_model(
            fitted,
            features,
            sensitive_features=rows[list(names)],
            y=y,
            sample_weight=rows[weight] if weight else None,
            given=rows[list(factors)] if factors else None,
            seen=seen,
            method=method,
            random_state=seed,
        )
    for warning in caught:
        console.print(f"! {warning.message}", style="yellow", markup=False, highlight=False)
    for note in front.notes():
        console.print(note, highlight=False)
    provenance = replace(
        front.provenance(),
        file=file.name,
        rows_dropped=gaps.rows_left_out,
        why_dropped="a value is missing",
        seed=seed,
    )
    saved = _write(front, model, out, max_share, force, provenance)
    console.print(_table(front, saved, bool(target), max_share))
    console.print(f"report: {out / 'report.html'}; models: {out / 'models'}/", highlight=False, soft_wrap=True)


def _write(
    front: RelevelledFront, given: Path, out: Path, max_share: float | None, force: bool, provenance: Provenance
) -> dict[str, str]:
    """Write the whole folder, or nothing; returns the names of the models by what they are."""
    from fairlevel.cli.files import write_table
    from fairlevel.estimators.front_page import front_page
    from fairlevel.estimators.relevelled_front import GIVEN
    from fairlevel.report.render import write_page

    ending = given.suffix.lower()
    files = {f"point-{number + 1:02d}": front.model(number) for number in range(len(front.front_))}
    labels = {"tightest": 0, "knee": front.knee_index_, "as it was": len(front.front_) - 1}
    saved = {label: f"point-{row + 1:02d}" for label, row in labels.items()}
    if max_share is not None:
        files["within-budget"] = front.best(max_share=max_share)
        saved[f"share within {max_share:g}"] = "within-budget"
    with whole_folder(out, lambda present: refuse_existing(present, force)) as partial:
        (partial / "models").mkdir()
        write_table(front.to_frame(), partial / "front.csv")
        for name, each in files.items():
            FORMATS[ending].write(each, partial / "models" / f"{name}{ending}")
        page = front_page(front, given.name, notes=front.notes(), provenance=provenance, before=GIVEN)
        write_page(page, partial / "report.html")
    return saved


def _table(front: RelevelledFront, saved: dict[str, str], has_target: bool, max_share: float | None) -> Table:
    table = Table(title="on rows that did not fit the correction", title_justify="left")
    shown = front.to_frame()
    errors = {"mse": "MSE"} if has_target else {"distance": "mean squared change"}
    if "auc" in shown:
        errors = {"log_loss": "log-loss", "auc": "AUC"}
    for heading in ("model", "file", *errors.values(), "DPVar", "95 % interval", "share"):
        table.add_column(heading, justify="left" if heading in ("model", "file") else "right")
    for label, name in saved.items():
        if name == "within-budget":
            row = front.figures(max_share=max_share)
        else:
            row = shown.iloc[int(name.removeprefix("point-")) - 1]
        interval = f"{row['dpvar_low']:.4g} to {row['dpvar_high']:.4g}"
        figures = [f"{row[error]:.4g}" for error in errors]
        table.add_row(label, name, *figures, f"{max(row['dpvar'], 0.0):.4g}", interval, f"{row['share']:.1%}")
    return table
