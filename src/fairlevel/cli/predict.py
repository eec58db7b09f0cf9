"""``fairlevel predict``: apply a saved model to new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli import options
from fairlevel.cli.checks import column_names, is_parquet, refuse_doubles, require_readable, require_writer
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.data.whole_files import require_writable
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

EXAMPLE = "fairlevel predict front/models/knee new.csv --out predictions.csv"


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns that the model was trained on.")],
    out: Annotated[Path, typer.Option(help="CSV or Parquet file to write: the rows and their predictions.")],
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "prediction",
    lenient: options.Lenient = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict for every row of a file; the sensitive columns are not needed. A classifier also writes the probability
    of each class. Columns are read as in training, whatever they look like in this file.
    """
    require_readable(file)
    require_writer(out)
    require_writable(out)
    if out.exists() and out.samefile(file):
        raise InvalidInput(f"--out {str(out)!r} is the file with the rows, and would replace it; choose another name.")
    if not (model / "model.json").is_file():
        raise InvalidInput(f"{str(model)!r} holds no model{_models_inside(model)}.")
    if not column.strip():
        raise InvalidInput(f"--column {column!r} is no name; pass one, such as --column prediction.")
    if column in column_names(file):
        raise InvalidInput(f"{file.name!r} already has a column {column!r}; pass --column NAME.")

    talk = Talk(quiet, as_json)
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import as_written, read_numbers, read_rows, write_table
        from fairlevel.data.columns import Unreadable
        from fairlevel.models.saved import read_saved

        stage("reading the model")
        saved = read_saved(model)
        refuse_doubles(file, saved.needed)
        stage("reading the file")
        table = read_rows(file, text=saved.as_text, words=saved.words, fewest=1).table
        stage("predicting")
        numbers = {name: read_numbers(table, name) for name in saved.plain_numbers if name in table}
        try:
            predictions = (saved.lenient() if lenient else saved).predict(table.assign(**numbers))
        except Unreadable as error:
            raise Unreadable(f"{error} With --lenient such cells count as missing.") from None
        named = {f"{column}{ending}": values for ending, values in predictions.items()}
        for name in named:
            if name in table:
                raise InvalidInput(f"{file.name!r} already has a column {name!r}; pass --column NAME.")
        stage("writing the file")
        copied = table if is_parquet(out) or is_parquet(file) else as_written(file)
        write_table(copied.assign(**named), out)
    talk.say(f"{len(table):,} predictions: {shown_path(out)}")
    audited = list(named)[-1]  # of a classifier, the probability of the last class
    sensitive = saved.notes.get("sensitive", ())
    if sensitive and all(name in table for name in sensitive):
        talk.next("fairlevel", "audit", out, "--prediction", audited, "--sensitive", options.as_option(sensitive))
    talk.result(rows=len(table), out=out, columns=list(named), warnings=warned)


def _models_inside(folder: Path) -> str:
    """Where models are in the folder of a front, as the end of a sentence."""
    inside = sorted(file.parent for within in ("*", "models/*") for file in folder.glob(f"{within}/model.json"))
    named = [folder for folder in inside if folder.name == "knee"] or inside
    return f"; pass one of its {len(inside)} models, such as {shown_path(named[0])}" if named else ""
