"""``fairlevel predict``: apply a saved model to new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairlevel.cli.files import read_columns, write_table
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.learning_table import encoded
from fairlevel.estimators.fair_classifier import FairClassifier
from fairlevel.estimators.loading import load
from fairlevel.exceptions import InvalidInput


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns that the model was trained on.")],
    out: Annotated[Path, typer.Option(help="CSV or Parquet file to write: the rows and their predictions.")],
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "prediction",
) -> None:
    """Predict for every row of a file; the sensitive columns are not needed. A classifier also writes the probability
    of each class.
    """
    fitted = load(model)
    table = read_columns(file, fewest=1)
    if column in table:
        raise InvalidInput(f"{file.name!r} already has a column {column!r}; pass --column NAME.")
    rules = fitted.notes_.get("encoder")
    features = table if rules is None else encoded(TableEncoder.from_dict(rules), table)
    found = {column: fitted.predict(features)}
    if isinstance(fitted, FairClassifier):
        names = [f"{column}_{name}" for name in fitted.classes_]
        taken = [name for name in names if name in table]
        if taken:
            raise InvalidInput(f"{file.name!r} already has a column {taken[0]!r}; pass --column NAME.")
        found |= dict(zip(names, fitted.predict_proba(features).T, strict=True))
    write_table(table.assign(**found), out)
    Console(markup=False).print(f"{len(table)} predictions: {out}", highlight=False, soft_wrap=True)
