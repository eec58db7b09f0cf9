"""``fairlevel predict``: apply a saved model to new rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairlevel.cli.checks import column_names, require_readable
from fairlevel.exceptions import InvalidInput


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns that the model was trained on.")],
    out: Annotated[Path, typer.Option(help="CSV or Parquet file to write: the rows and their predictions.")],
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "prediction",
    lenient: Annotated[
        bool, typer.Option(help="Count cells that cannot be read as missing, instead of stopping at them.")
    ] = False,
) -> None:
    """Predict for every row of a file; the sensitive columns are not needed. A classifier also writes the probability
    of each class. Columns are read as in training, whatever they look like in this file.
    """
    require_readable(file)
    if not (model / "model.json").is_file():
        raise InvalidInput(f"{str(model)!r} holds no model.")
    if column in column_names(file):
        raise InvalidInput(f"{file.name!r} already has a column {column!r}; pass --column NAME.")

    from fairlevel.cli.files import read_columns, write_table
    from fairlevel.data.columns import Unreadable
    from fairlevel.estimators.fair_classifier import FairClassifier
    from fairlevel.estimators.loading import load

    fitted = load(model)
    encoder = fitted.encoder_
    table = read_columns(file, text=() if encoder is None else encoder.as_text, fewest=1)
    names = getattr(fitted, "feature_names_in_", table.columns)
    features = table[[name for name in names if name in table]]  # what is missing, the model itself says
    if encoder is not None:
        encoder.unreadable = "impute" if lenient else "error"
    found, console = {}, Console(markup=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found[column] = fitted.predict(features)
        except Unreadable as error:
            raise Unreadable(f"{error} With --lenient such cells count as missing.") from None
    for warning in caught:
        console.print(f"! {warning.message}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if isinstance(fitted, FairClassifier):
        names = [f"{column}_{name}" for name in fitted.classes_]
        taken = [name for name in names if name in table]
        if taken:
            raise InvalidInput(f"{file.name!r} already has a column {taken[0]!r}; pass --column NAME.")
        with warnings.catch_warnings(action="ignore"):  # said above
            found |= dict(zip(names, fitted.predict_proba(features).T, strict=True))
    write_table(table.assign(**found), out)
    console.print(f"{len(table)} predictions: {out}", highlight=False, soft_wrap=True)
