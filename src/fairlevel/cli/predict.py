"""``fairlevel predict``: apply a saved model to new rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairlevel.cli import options
from fairlevel.cli.checks import column_names, is_parquet, refuse_doubles, require_readable, require_writer
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.data.whole_files import require_writable
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import stage

if TYPE_CHECKING:
    import pandas as pd

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
        from fairlevel.estimators.loading import load

        stage("reading the model")
        estimator = load(model)
        rules = estimator.encoder_
        names = tuple(getattr(estimator, "feature_names_in_", ()))
        refuse_doubles(file, names)
        stage("reading the file")
        as_text, words = ((), ()) if rules is None else (rules.as_text, rules.words)
        table = read_rows(file, text=as_text, words=words, fewest=1).table
        stage("predicting")
        plain = names if rules is None and estimator.native_columns_ is None else ()
        numbers = {name: read_numbers(table, name) for name in plain if name in table}
        if lenient and estimator.encoder_ is not None:
            estimator.encoder_.set_params(unreadable="impute")
        try:
            predictions = _predictions(estimator, table.assign(**numbers), names)
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
    sensitive = estimator.notes_.get("sensitive", ())
    if sensitive and all(name in table for name in sensitive):
        talk.next("fairlevel", "audit", out, "--prediction", audited, "--sensitive", options.as_option(sensitive))
    talk.result(rows=len(table), out=out, columns=list(named), warnings=warned)


def _predictions(estimator: Any, table: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """For each row the prediction, under the name "", or the class, and under "_NAME" the probability of class NAME.
    Columns that the model does not read are ignored.
    """
    if not names and table.shape[1] != estimator.n_features_in_:
        count = estimator.n_features_in_
        raise InvalidInput(f"The table has {table.shape[1]} columns; the model reads {count} numbers.")
    rows: Any = table[[name for name in names if name in table]] if names else table.to_numpy()
    if not hasattr(estimator, "classes_"):
        return {"": estimator.predict(rows)}
    probability = estimator.predict_proba(rows)
    named = {f"_{name}": column for name, column in zip(estimator.classes_, probability.T, strict=True)}
    return {"": estimator.classes_[probability.argmax(axis=1)], **named}


def _models_inside(folder: Path) -> str:
    """Where models are in the folder of a front, as the end of a sentence."""
    inside = sorted(file.parent for within in ("*", "models/*") for file in folder.glob(f"{within}/model.json"))
    named = [folder for folder in inside if folder.name == "knee"] or inside
    return f"; pass one of its {len(inside)} models, such as {shown_path(named[0])}" if named else ""
